//! Named managers of a user, each with the file of its key, so that no address and no key is typed twice.
//!
//! The file is `$JOBBERS_PROFILES`, else `profiles.toml` in `$XDG_CONFIG_HOME/jobbers`, else in `~/.config/jobbers`:
//!
//! ```toml
//! [prod]
//! manager = "https://jobs.example.org"
//! key_file = "prod.key"   # beside this file, or an absolute path
//! ```

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::failure::Failure;

/// The variable with the name of the profile that commands use unless they are given another manager.
pub(crate) const PROFILE: &str = "JOBBERS_PROFILE";
/// The variable with the path of the file of profiles.
const PROFILES: &str = "JOBBERS_PROFILES";

/// A manager, and how to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// The manager's address.
    pub(crate) manager: String,
    /// The file with the access key; none where the manager asks for none.
    #[serde(default)]
    pub(crate) key_file: Option<PathBuf>,
}

impl Profile {
    /// The profile of this name.
    ///
    /// # Errors
    /// [`Failure::Usage`] if no profile has this name, and [`Failure::NoInput`] if the file can't be read.
    pub(crate) fn find(name: &str) -> Result<Self, Failure> {
        let path = file(|name| env::var(name).ok()).ok_or_else(|| {
            Failure::Usage(format!("profile {name:?}: {PROFILES} or HOME must say where the profiles are"))
        })?;
        match fs::read_to_string(&path) {
            Ok(text) => Self::of_text(&text, name, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::Usage(format!(
                "profile {name:?}: {} does not exist; write into it [{name}], manager = \"URL\" and key_file = \"FILE\"",
                path.display()
            ))),
            Err(error) => Err(Failure::no_input(&path, &error)),
        }
    }

    fn of_text(text: &str, name: &str, path: &Path) -> Result<Self, Failure> {
        let mut profiles: BTreeMap<String, Self> = toml::from_str(text).map_err(|error| {
            // Without the line itself: it may hold a key.
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Failure::Config(format!("{}, line {line}: {}", path.display(), error.message()))
        })?;
        let Some(mut profile) = profiles.remove(name) else {
            let names: Vec<&str> = profiles.keys().map(String::as_str).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(Failure::Usage(format!("profile {name:?} is not in {}; there are: {names}", path.display())));
        };
        profile.key_file = profile.key_file.map(|file| path.parent().unwrap_or(Path::new(".")).join(file));
        Ok(profile)
    }
}

/// Where the profiles are, by the environment.
fn file(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let given = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = || given("XDG_CONFIG_HOME").or_else(|| given("HOME").map(|home| home.join(".config")));
    given(PROFILES).or_else(|| folder().map(|folder| folder.join("jobbers/profiles.toml")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "[dev]\nmanager = \"http://127.0.0.1:8000\"\n\n[prod]\nmanager = \"https://jobs\"\nkey_file = \"prod.key\"\n";

    fn of(text: &str, name: &str) -> Result<Profile, String> {
        Profile::of_text(text, name, Path::new("/c/profiles.toml")).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_profile_has_an_address_and_a_key_beside_the_file() {
        let prod = of(TEXT, "prod").unwrap();
        assert_eq!((prod.manager.as_str(), prod.key_file), ("https://jobs", Some("/c/prod.key".into())));
        assert_eq!(of(TEXT, "dev").unwrap().key_file, None);
        let absolute = of("[a]\nmanager = \"b\"\nkey_file = \"/etc/a.key\"\n", "a").unwrap();
        assert_eq!(absolute.key_file, Some("/etc/a.key".into()));
    }

    #[test]
    fn what_is_wrong_is_said_without_a_key() {
        assert_eq!(of(TEXT, "test").unwrap_err(), "profile \"test\" is not in /c/profiles.toml; there are: dev, prod");
        assert!(of("", "test").unwrap_err().ends_with("there are: none"));
        for (text, line) in [
            ("[a]\nmanager = \"b\"\nkey = \"jb_secret\"\n", 3),
            ("[a]\nkey_file = \"jb_secret\"\n", 1),
            ("[a]\nmanager = jb_secret\n", 2),
            ("jb_secret", 1),
        ] {
            let said = of(text, "a").unwrap_err();
            assert!(said.starts_with(&format!("/c/profiles.toml, line {line}: ")), "{said}");
            assert!(!said.contains("jb_secret"), "{said}");
        }
    }

    #[test]
    fn the_file_is_where_the_environment_says() {
        let at = |pairs: &[(&str, &str)]| {
            file(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(at(&[("HOME", "/h")]), Some("/h/.config/jobbers/profiles.toml".into()));
        assert_eq!(at(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]), Some("/x/jobbers/profiles.toml".into()));
        assert_eq!(at(&[("HOME", "/h"), (PROFILES, "p.toml")]), Some("p.toml".into()));
        assert_eq!(at(&[("HOME", "")]), None);
    }
}
