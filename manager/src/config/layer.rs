//! Every setting of the file by a variable and by a flag too: `MANAGER_<KEY>` and `--set KEY=VALUE`.
//!
//! The keys are those of the shipped file, so a new setting has both from the start. A flag or variable of a setting's own
//! wins over the variable that this module makes of its key.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The commented file shipped to users is the layer everything starts from.
pub(super) const DEFAULTS: &str = include_str!("../../manager.default.toml");
/// What a setting's variable begins with.
const PREFIX: &str = "MANAGER_";

/// Settings by their keys.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SetArgs {
    /// A setting of the manager's configuration file, such as body_timeout=1m; each is also a variable, such as
    /// MANAGER_BODY_TIMEOUT
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse)]
    pub set: Vec<(String, Value)>,
}

/// Reads `KEY=VALUE`.
fn parse(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    let key = key.trim();
    if !keys().any(|known| known == key) {
        return Err(format!("{key:?} is no setting; `manager --print-config` shows them"));
    }
    Ok((key.to_owned(), value_of(value)))
}

/// The settings that the user gave: by variables, by the flags `own` of single settings, and by `--set`.
pub(super) fn given(own: &impl Serialize, set: &SetArgs) -> BTreeMap<String, Value> {
    given_with(own, set, |name| std::env::var(name).ok())
}

fn given_with(
    own: &impl Serialize,
    set: &SetArgs,
    variable: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, Value> {
    let said = |key: &String| variable(&format!("{PREFIX}{}", key.to_uppercase())).filter(|value| !value.is_empty());
    let mut given: BTreeMap<String, Value> =
        keys().filter_map(|key| said(&key).map(|value| (key, value_of(&value)))).collect();
    if let Ok(Value::Object(own)) = serde_json::to_value(own) {
        given.extend(own);
    }
    given.extend(set.set.iter().cloned());
    given
}

/// The keys of the shipped file; `bridges` are tables, which only a file holds.
fn keys() -> impl Iterator<Item = String> {
    let defaults: toml::Table = DEFAULTS.parse().unwrap_or_default();
    let optional = ["taskstore_listen", "masstasker_listen"].map(str::to_owned);
    defaults.into_iter().map(|(key, _)| key).chain(optional)
}

/// A value as a file would hold it: a number, a truth value or a list if it is written as one, else a text.
fn value_of(text: &str) -> Value {
    let text = text.trim();
    let read = text.starts_with(['[', '"']) || text == "true" || text == "false" || text.parse::<i64>().is_ok();
    let table = read.then(|| format!("value = {text}").parse::<toml::Table>().ok()).flatten();
    let value = table.and_then(|table| serde_json::to_value(table.get("value")?).ok());
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use jobbers_process::config::layered;

    use super::{super::Args, *};
    use crate::Config;

    fn args(line: &[&str]) -> Args {
        Args::try_parse_from(["manager"].iter().chain(line)).unwrap()
    }

    fn config(line: &[&str], variables: &[(String, String)]) -> Config {
        let of = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let args = args(line);
        layered(DEFAULTS, None, &given_with(&args, &args.settings, of)).unwrap()
    }

    #[test]
    fn every_setting_has_a_variable_and_can_be_set_by_its_key() {
        let defaults: toml::Table = DEFAULTS.parse().unwrap();
        for (key, value) in &defaults {
            let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let variable = (format!("MANAGER_{}", key.to_uppercase()), written.clone());
            assert_eq!(config(&[], &[variable]), Config::default(), "{key}={written}");
            assert_eq!(config(&["--set", &format!("{key}={written}")], &[]), Config::default(), "{key}={written}");
        }
        let variable = |key: &str, value: &str| (format!("MANAGER_{key}"), value.to_owned());
        let given = config(&["--set", "tick=200ms"], &[variable("MAX_CONNECTIONS", "7"), variable("TICK", "300ms")]);
        assert_eq!((given.max_connections, given.tick.as_millis()), (7, 200), "a flag wins over a variable");
        let named = config(&["--listen", "127.0.0.1:7"], &[variable("LISTEN", "127.0.0.1:8")]);
        assert_eq!(named.listen.port(), 7);
    }

    #[test]
    fn a_setting_that_does_not_exist_is_refused() {
        for wrong in ["--set=tik=1s", "--set=tick", "--set=bridges={}"] {
            assert!(Args::try_parse_from(["manager", wrong]).is_err(), "{wrong}");
        }
    }
}
