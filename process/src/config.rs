//! Defaults < file < environment < flags.

use std::path::{Path, PathBuf};

use figment::{
    Figment, Metadata, Profile, Provider,
    providers::{Format, Serialized, Toml},
    value::{Dict, Map},
};
use serde::{Serialize, de::DeserializeOwned};

/// Why the configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The requested file can't be read.
    #[error("configuration file {path}: {source}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The configuration has problems: one line each, with the key and its source.
    #[error("configuration: {0}")]
    Invalid(String),
}

/// Merges the layers: `defaults` is the commented TOML shipped with the program, `file` the user's, and `args` the
/// values that `clap` found in flags and environment (`None` fields must be skipped when serialized).
///
/// # Errors
/// [`ConfigError`] for a file that can't be read, an unknown key, or a value of the wrong kind.
pub fn layered<T: DeserializeOwned>(
    defaults: &str,
    file: Option<&Path>,
    args: &impl Serialize,
) -> Result<T, ConfigError> {
    let mut figment = Figment::from(Named { layer: Toml::string(defaults), name: "the defaults".to_owned() });
    if let Some(path) = file {
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::File { path: path.to_owned(), source })?;
        figment = figment.merge(Named { layer: Toml::string(&text), name: path.display().to_string() });
    }
    let said = Named { layer: Serialized::defaults(args), name: "a flag or an environment variable".to_owned() };
    figment.merge(said).extract().map_err(|errors| {
        let lines: Vec<String> = errors.into_iter().map(|error| told(&error)).collect();
        ConfigError::Invalid(lines.join("; "))
    })
}

/// A layer with the name that users know.
struct Named<L> {
    layer: L,
    name: String,
}

impl<L: Provider> Provider for Named<L> {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        self.layer.data()
    }
}

/// Describes a problem: the key, what is wrong, and the layer that set it, as far as known.
fn told(error: &figment::Error) -> String {
    let key = if error.path.is_empty() { String::new() } else { format!("{}: ", error.path.join(".")) };
    let place = error.metadata.as_ref().map(|layer| format!(" (said by {})", layer.name));
    format!("{key}{}{}", error.kind, place.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        listen: String,
        slots: u32,
    }

    #[derive(Serialize)]
    struct Args {
        #[serde(skip_serializing_if = "Option::is_none")]
        slots: Option<u32>,
    }

    const DEFAULTS: &str = "listen = \"127.0.0.1:8000\"\nslots = 64\n";

    fn file(text: &str) -> (PathBuf, impl Drop) {
        struct Remove(PathBuf);
        impl Drop for Remove {
            fn drop(&mut self) {
                std::fs::remove_file(&self.0).ok();
            }
        }
        let unique = format!("jobbers-config-{}-{}.toml", std::process::id(), text.len());
        let path = std::env::temp_dir().join(unique);
        std::fs::write(&path, text).unwrap();
        (path.clone(), Remove(path))
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_defaults() {
        let (path, _remove) = file("slots = 7\nlisten = \"127.0.0.1:9\"\n");
        let config: Config = layered(DEFAULTS, Some(&path), &Args { slots: Some(3) }).unwrap();
        assert_eq!(config, Config { listen: "127.0.0.1:9".to_owned(), slots: 3 });
        let config: Config = layered(DEFAULTS, None, &Args { slots: None }).unwrap();
        assert_eq!(config.slots, 64);
    }

    #[test]
    fn an_unknown_key_and_a_wrong_kind_are_named() {
        let (path, _remove) = file("slot = 7\n");
        let error = layered::<Config>(DEFAULTS, Some(&path), &Args { slots: None }).unwrap_err().to_string();
        assert!(error.contains("slot"), "{error}");
        let (path, _remove) = file("slots = \"many\"\n");
        let error = layered::<Config>(DEFAULTS, Some(&path), &Args { slots: None }).unwrap_err().to_string();
        assert!(error.contains("slots: ") && error.ends_with(&format!("(said by {})", path.display())), "{error}");
    }

    #[test]
    fn what_a_flag_says_wrong_is_told_without_our_source() {
        #[derive(Serialize)]
        struct Wrong {
            listen: u8,
        }
        let error = layered::<Config>(DEFAULTS, None, &Wrong { listen: 7 }).unwrap_err().to_string();
        assert!(
            error.contains("listen: ") && error.ends_with("(said by a flag or an environment variable)"),
            "{error}"
        );
        assert!(!error.contains(".rs") && !error.contains("Wrong"), "{error}");
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = layered::<Config>(DEFAULTS, Some(Path::new("/no/such.toml")), &Args { slots: None }).unwrap_err();
        assert!(matches!(error, ConfigError::File { .. }));
    }
}
