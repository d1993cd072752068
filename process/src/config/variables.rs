//! Configuration of a program without flags and files: its defaults, the address file of a running system, variables.

use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::error::ConfigError;
use crate::site::{self, Site};

/// Merges `defaults`, the address file of the `jobbers up` that runs in `folder`, and `variables`: pairs of a key and its
/// text. Whole numbers are numbers; anything else is text, as in a file. If no variable sets `engine_url`, the store is
/// that of the running system. Then also returns the path of its address file.
///
/// # Errors
/// [`ConfigError::Invalid`] for a value of the wrong kind; [`ConfigError::Unshared`] for a system whose tasks are in
/// memory.
pub fn of_variables<T: Serialize + DeserializeOwned>(
    folder: &Path,
    defaults: &T,
    variables: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<(T, Option<PathBuf>), ConfigError> {
    let mut keys = match serde_json::to_value(defaults) {
        Ok(Value::Object(keys)) => keys,
        _ => Map::new(),
    };
    let mut is_named = false;
    for (key, text) in variables {
        is_named |= key == "engine_url";
        let number = text.trim().parse::<u64>().map(Value::from);
        let text_in_text = keys.get(key).is_none_or(Value::is_string);
        keys.insert(key.to_owned(), number.ok().filter(|_| !text_in_text).unwrap_or(Value::String(text)));
    }
    let found = Site::find(folder).filter(|_| !is_named);
    let path = found.as_ref().map(|_| site::file_in(folder));
    if let (Some(site), Some(path)) = (found, &path) {
        if !site.is_shared() {
            return Err(ConfigError::Unshared { path: path.clone() });
        }
        keys.insert("engine_url".to_owned(), site.store.into());
    }
    let config = serde_path_to_error::deserialize(Value::Object(keys));
    config.map(|config| (config, path)).map_err(|error| ConfigError::Invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Config {
        engine_url: String,
        slots: u32,
    }

    fn read(folder: &Path, variables: &[(&'static str, &str)]) -> Result<(String, u32, bool), String> {
        let defaults = Config { engine_url: "sqlite://./jobbers.db".to_owned(), slots: 64 };
        let variables = variables.iter().map(|(key, text)| (*key, (*text).to_owned()));
        let (config, path) = of_variables(folder, &defaults, variables).map_err(|error| error.to_string())?;
        Ok((config.engine_url, config.slots, path.is_some()))
    }

    #[test]
    fn variables_win_over_a_running_system_and_that_over_defaults() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path(), &[]), Ok(("sqlite://./jobbers.db".to_owned(), 64, false)));
        assert_eq!(read(folder.path(), &[("slots", " 7 "), ("engine_url", "5")]), Ok(("5".to_owned(), 7, false)));
        let site = Site::new("http://127.0.0.1:8600", "redis://h/1");
        let _marker = site.mark(folder.path()).unwrap().unwrap();
        assert_eq!(read(folder.path(), &[]), Ok(("redis://h/1".to_owned(), 64, true)));
        assert_eq!(read(folder.path(), &[("engine_url", "x")]), Ok(("x".to_owned(), 64, false)));
    }

    #[test]
    fn a_value_of_the_wrong_kind_and_a_system_in_memory_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path(), &[("slots", "many")]).unwrap_err().starts_with("configuration: slots: "));
        let site = Site::new("http://127.0.0.1:8600", "sqlite::memory:");
        let _marker = site.mark(folder.path()).unwrap().unwrap();
        assert!(read(folder.path(), &[]).unwrap_err().contains("in memory"));
    }
}
