//! The layers, merged; each problem with the layer that it comes from.

use std::path::{Path, PathBuf};

use figment::{
    Figment, Metadata, Profile, Provider,
    providers::{Format, Serialized},
    value::{Dict, Map},
};
use serde::{Serialize, de::DeserializeOwned};

use super::error::ConfigError;
use crate::site::{self, Site};

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
    merged(of_defaults(defaults), read(file)?.as_ref(), args).extract().map_err(invalid)
}

/// Whether a value that `clap` found is a flag's, and not only in the environment. A flag may contradict another flag, and then
/// the command line is refused; a variable is set for other commands too.
#[must_use]
pub fn is_flag(value: Option<&str>, variable: &str) -> bool {
    value.is_some() && value != std::env::var(variable).ok().as_deref()
}

/// The settings that name a running system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteKeys {
    /// `engine_url`.
    Store,
    /// `engine_url` and `manager`.
    StoreAndManager,
}

/// Like [`layered`], for a program that opens a store. If no layer above the defaults sets `engine_url`, the store is that
/// of the `jobbers up` that runs in the working directory. Then also returns the path of its address file.
///
/// # Errors
/// Like [`layered`]; also if that system keeps its tasks in memory, where no other process can open them.
pub fn layered_on_site<T: DeserializeOwned>(
    defaults: &str,
    keys: SiteKeys,
    file: Option<&Path>,
    args: &impl Serialize,
) -> Result<(T, Option<PathBuf>), ConfigError> {
    layered_in(Path::new("."), defaults, keys, file, args)
}

fn layered_in<T: DeserializeOwned>(
    folder: &Path,
    defaults: &str,
    keys: SiteKeys,
    file: Option<&Path>,
    args: &impl Serialize,
) -> Result<(T, Option<PathBuf>), ConfigError> {
    let file = read(file)?;
    let is_named = merged(Figment::new(), file.as_ref(), args).contains("engine_url");
    let Some(site) = Site::find(folder).filter(|_| !is_named) else {
        let config = merged(of_defaults(defaults), file.as_ref(), args).extract().map_err(invalid)?;
        return Ok((config, None));
    };
    let path = site::file_in(folder);
    if !site.is_shared() {
        return Err(ConfigError::Unshared { path });
    }
    let found =
        NamedLayer { layer: Serialized::defaults(SiteLayer::new(&site, keys)), name: path.display().to_string() };
    let config = merged(of_defaults(defaults).merge(found), file.as_ref(), args).extract().map_err(invalid)?;
    Ok((config, Some(path)))
}

/// The settings of a running system as a layer.
#[derive(Debug, Serialize)]
struct SiteLayer<'a> {
    engine_url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    manager: Option<&'a str>,
}

impl<'a> SiteLayer<'a> {
    fn new(site: &'a Site, keys: SiteKeys) -> Self {
        let manager = (keys == SiteKeys::StoreAndManager).then_some(&*site.manager);
        Self { engine_url: &site.store, manager }
    }
}

fn of_defaults(defaults: &str) -> Figment {
    Figment::from(NamedLayer { layer: Toml::string(defaults), name: "the defaults".to_owned() })
}

/// A configuration file: its path and its text.
fn read(file: Option<&Path>) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let Some(path) = file else { return Ok(None) };
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.to_owned(), text))),
        Err(source) => Err(ConfigError::File { path: path.to_owned(), source }),
    }
}

/// Merges the layers of the user over `base`.
fn merged(base: Figment, file: Option<&(PathBuf, String)>, args: &impl Serialize) -> Figment {
    let base = match file {
        Some((path, text)) => base.merge(NamedLayer { layer: Toml::string(text), name: path.display().to_string() }),
        None => base,
    };
    base.merge(NamedLayer { layer: Serialized::defaults(args), name: "a flag or an environment variable".to_owned() })
}

fn invalid(errors: figment::Error) -> ConfigError {
    let lines: Vec<String> = errors.into_iter().map(|error| described(&error)).collect();
    ConfigError::Invalid(lines.join("; "))
}

/// TOML, read by the `toml` crate that the rest of the programs use; figment's own feature brings an older one.
struct Toml;

impl Format for Toml {
    type Error = toml::de::Error;

    const NAME: &'static str = "TOML";

    fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, toml::de::Error> {
        toml::from_str(text)
    }
}

/// A layer with the name that users know.
struct NamedLayer<L> {
    layer: L,
    name: String,
}

impl<L: Provider> Provider for NamedLayer<L> {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.name.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        self.layer.data()
    }
}

/// Describes a problem: the key, what is wrong, and the layer that set it, as far as known.
fn described(error: &figment::Error) -> String {
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

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Service {
        engine_url: String,
        manager: Option<String>,
    }

    #[derive(Serialize)]
    struct ServiceArgs {
        #[serde(skip_serializing_if = "Option::is_none")]
        engine_url: Option<&'static str>,
    }

    const SERVICE_DEFAULTS: &str = "engine_url = \"sqlite://./jobbers.db\"\n";

    fn service(
        folder: &Path,
        keys: SiteKeys,
        file: Option<&Path>,
        engine_url: Option<&'static str>,
    ) -> (String, Option<String>, bool) {
        let args = ServiceArgs { engine_url };
        let (config, path) = layered_in::<Service>(folder, SERVICE_DEFAULTS, keys, file, &args).unwrap();
        (config.engine_url, config.manager, path.is_some())
    }

    #[test]
    fn a_store_that_no_layer_names_is_that_of_the_system_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let config_file = folder.path().join("service.toml");
        std::fs::write(&config_file, "engine_url = \"sqlite://of-the-file.db\"\n").unwrap();
        let url = |file: Option<&Path>, flag| service(folder.path(), SiteKeys::StoreAndManager, file, flag);
        assert_eq!(url(None, None), ("sqlite://./jobbers.db".to_owned(), None, false));

        let marker = Site::new("http://127.0.0.1:8600", "redis://h/1").mark(folder.path()).unwrap().unwrap();
        let manager = Some("http://127.0.0.1:8600".to_owned());
        assert_eq!(url(None, None), ("redis://h/1".to_owned(), manager, true));
        let (store, manager, _) = service(folder.path(), SiteKeys::Store, None, None);
        assert_eq!((store, manager), ("redis://h/1".to_owned(), None));
        assert_eq!(url(None, Some("redis://flag")), ("redis://flag".to_owned(), None, false));
        assert_eq!(url(Some(&config_file), None), ("sqlite://of-the-file.db".to_owned(), None, false));

        drop(marker);
        assert_eq!(url(None, None).0, "sqlite://./jobbers.db");
    }

    #[test]
    fn a_system_that_keeps_its_tasks_in_memory_is_not_joined() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::new("http://127.0.0.1:8600", "sqlite::memory:");
        let _marker = site.mark(folder.path()).unwrap().unwrap();
        let load = |engine_url| {
            let args = ServiceArgs { engine_url };
            layered_in::<Service>(folder.path(), SERVICE_DEFAULTS, SiteKeys::Store, None, &args)
        };
        let error = load(None).unwrap_err().to_string();
        assert!(error.contains("in memory") && error.contains("--engine-url"), "{error}");
        assert!(load(Some("sqlite://x.db")).is_ok());
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = layered::<Config>(DEFAULTS, Some(Path::new("/no/such.toml")), &Args { slots: None }).unwrap_err();
        assert!(matches!(error, ConfigError::File { .. }));
    }
}
