//! The unique keys that `#[task(unique)]` and `#[task(unique_by = …)]` derive from parameters.
//!
//! A key is derived from canonical JSON (the names of objects in order), so it is the same in every process whatever
//! the order of a map. The store enforces it: see `docs/guides/unique-tasks.md`.

use std::time::Duration;

use jobbers_common::{
    lifecycle::Status,
    payload::Payload,
    task::unique::{OnDuplicate, UniqueKey},
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Derives a unique key from parameters, or explains why it can't.
pub type KeyOf<P> = fn(&P) -> Result<String, String>;

/// The uniqueness constraint that a task's author declares.
#[derive(Debug)]
pub struct Uniqueness<P> {
    /// Derives the key from the parameters; `None` uses all of them.
    pub by: Option<KeyOf<P>>,
    /// The longest time that the key is held.
    pub span: Option<Duration>,
    /// The statuses in which the key is held, if not the default ones.
    pub statuses: Option<&'static [Status]>,
    /// The action when another task holds the key.
    pub on_duplicate: OnDuplicate,
}

/// A field's value as JSON text.
///
/// # Errors
/// A sentence if it can't be written as JSON.
pub fn value_of<T: Serialize + ?Sized>(field: &T) -> Result<String, String> {
    serde_json::to_value(field).map(in_one_way).map_err(|error| error.to_string())
}

/// `customer=42,region="eu"`; a digest of the values replaces them where the key would be invalid.
///
/// # Errors
/// A sentence if a value can't be written as JSON.
pub fn key_of_fields<const N: usize>(fields: [(&str, Result<String, String>); N]) -> Result<String, String> {
    let names = fields.each_ref().map(|(name, _)| *name);
    let mut said = Vec::with_capacity(N);
    for (name, value) in fields {
        let value = value.map_err(|error| format!("{name} makes no unique key: {error}"))?;
        said.push(format!("{name}={value}"));
    }
    let said = said.join(",");
    Ok(match UniqueKey::new(&said) {
        Ok(_) => said,
        // `#` replaces the `=` of a readable key, so that the two are never equal.
        Err(_) => format!("{}#{}", digest_if_long(&names.join(",")), digest(said.as_bytes())),
    })
}

/// A key from all parameters: a digest of their JSON, or of the bytes if they are not JSON.
pub(crate) fn key_of_parameters(parameters: &Payload) -> String {
    match parameters.decode::<Value>() {
        Ok(value) if parameters.is_json() => format!("parameters:{}", digest(in_one_way(value).as_bytes())),
        _ => format!("parameters:{}", digest(&parameters.bytes)),
    }
}

fn in_one_way(mut value: Value) -> String {
    // Objects are in order already, unless another crate of the program makes serde_json keep the insertion order.
    value.sort_all_objects();
    value.to_string()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn digest_if_long(names: &str) -> String {
    if names.len() <= 200 { names.to_owned() } else { digest(names.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn key<T: Serialize>(value: &T) -> String {
        key_of_fields([("a", value_of(value)), ("b.c", value_of(&1))]).unwrap()
    }

    #[test]
    fn a_key_of_fields_can_be_read() {
        assert_eq!(key(&"eu"), r#"a="eu",b.c=1"#);
        assert_eq!(key(&None::<u8>), "a=null,b.c=1");
        assert_eq!(key(&"Zürich\n"), r#"a="Zürich\n",b.c=1"#);
        assert_ne!(key(&"1"), key(&1));
        assert_ne!(key(&r#"x",b.c=1"#), key(&"x"), "no value can pass for another and a field");
    }

    #[test]
    fn what_is_no_legal_key_is_known_by_its_digest() {
        for odd in ["x".repeat(300), "\u{7f}".to_owned(), "\u{85}".to_owned()] {
            let key = key(&odd);
            assert!(UniqueKey::new(&key).is_ok() && key.starts_with("a,b.c#"), "{key}");
        }
        assert_ne!(key(&"x".repeat(300)), key(&"x".repeat(301)));
        let name = "n".repeat(300);
        assert!(UniqueKey::new(key_of_fields([(&*name, value_of(&1))]).unwrap()).is_ok());
    }

    #[test]
    fn a_map_makes_one_key_in_whatever_order_it_is_written() {
        let map = |seed: u32| (0..20).map(|n| ((n * 7 + seed) % 20, n)).collect::<Vec<_>>();
        let maps =
            (0..20).map(|seed| map(seed).into_iter().map(|(k, _)| (k.to_string(), k)).collect::<HashMap<_, _>>());
        let keys: std::collections::HashSet<String> = maps.map(|map| key(&map)).collect();
        assert_eq!(keys.len(), 1);
        let of = |json: &'static str| key_of_parameters(&Payload::json(json));
        assert_eq!(of(r#"{"a":1,"b":{"c":2,"d":3}}"#), of(r#"{ "b": {"d":3, "c":2}, "a":1 }"#));
        assert_ne!(of(r#"{"a":1}"#), of(r#"{"a":"1"}"#));
        assert_ne!(of("[1,2]"), of("[2,1]"));
    }

    #[test]
    fn a_value_that_is_no_json_says_so() {
        let bad = HashMap::from([((1, 2), 3)]);
        let error = key_of_fields([("pairs", value_of(&bad))]).unwrap_err();
        assert!(error.starts_with("pairs makes no unique key"), "{error}");
    }
}
