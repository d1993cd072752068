//! Limits by key and by task: how many tasks of one customer may run concurrently, how many tasks of one name may start
//! per period.
//!
//! A [`Gate`] is the target of such a limit: within one queue, a key or a task's name. A ready task whose gate is shut
//! waits at its place and blocks no other tasks. The slots of a gate are the leases of its tasks. The engines decide in
//! the claim whether a gate is shut.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    limits::MAX_CONCURRENCY_KEY_BYTES,
    name::{TaskId, TaskName},
    payload::Payload,
    queue::rate::RateLimit,
    values::exact::Exact,
};

/// The concurrency key of a task, such as `customer:42`: a queue may limit how many tasks of one key run, and start.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConcurrencyKey(Arc<str>);

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a concurrency key is 1 to 256 bytes of text without control characters, not {0:?}")]
pub struct ConcurrencyKeyError(String);

fn is_plain(text: &str) -> bool {
    (1..=MAX_CONCURRENCY_KEY_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}

impl ConcurrencyKey {
    /// Checks a text and takes it as a key.
    ///
    /// # Errors
    /// [`ConcurrencyKeyError`] unless it is 1 to 256 bytes without control characters.
    pub fn new(text: impl AsRef<str>) -> Result<Self, ConcurrencyKeyError> {
        let text = text.as_ref();
        if !is_plain(text) {
            return Err(ConcurrencyKeyError(text.chars().take(160).collect()));
        }
        Ok(Self(text.into()))
    }

    /// The key that JSON parameters give by one of their values: a top-level field by its name, any other by a JSON
    /// pointer (RFC 6901, `/order/customer`). A text is its own key; a boolean is written as JSON, a number exactly and in one
    /// form for all spellings of its value. A value that is too long for a key, or has control characters, is replaced by a
    /// digest. `None` if the value does not exist.
    #[must_use]
    pub fn of_parameter(parameters: &Payload, parameter: &str) -> Option<Self> {
        let found = match parameter.strip_prefix('/') {
            Some(pointer) => {
                let names: Vec<String> =
                    pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
                Exact::find(&parameters.bytes, names.iter().map(String::as_str))
            }
            None => Exact::field(&parameters.bytes, parameter),
        };
        let text = match found? {
            Exact::Text(text) => text,
            plain @ (Exact::Number(_) | Exact::Bool(_)) => plain.to_string(),
            _ => return None,
        };
        let digest = || Self(format!("xxh3:{:032x}", xxh3_128(text.as_bytes())).into());
        (!text.is_empty()).then(|| Self::new(&text).unwrap_or_else(|_| digest()))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConcurrencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ConcurrencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for ConcurrencyKey {
    type Err = ConcurrencyKeyError;

    fn from_str(text: &str) -> Result<Self, ConcurrencyKeyError> {
        Self::new(text)
    }
}

impl Serialize for ConcurrencyKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ConcurrencyKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// Checks the parameter from which a queue takes its tasks' keys.
///
/// # Errors
/// The problem, in a sentence.
pub fn validate_key_parameter(parameter: &str) -> Result<(), String> {
    let escapes = parameter.split('~').skip(1);
    let is_pointer = parameter.starts_with('/');
    if !is_plain(parameter) {
        return Err("key_parameter is 1 to 256 bytes of text without control characters".to_owned());
    }
    if is_pointer && !escapes.into_iter().all(|rest| rest.starts_with(['0', '1'])) {
        return Err("key_parameter is not a JSON pointer: ~ is only allowed in ~0 and ~1".to_owned());
    }
    Ok(())
}

/// The limits of a gate. Stored, so fields are only ever added, with a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GateLimits {
    /// How many tasks may run concurrently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// How many may start per period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
}

impl GateLimits {
    /// Whether it limits nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.max_concurrent.is_none() && self.rate_limit.is_none()
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// What is out of them, in a sentence.
    pub fn validate(&self) -> Result<(), String> {
        if self.max_concurrent == Some(0) {
            return Err("max_concurrent must be at least 1; to hold tasks back, pause the queue".to_owned());
        }
        self.rate_limit.iter().try_for_each(RateLimit::validate)
    }
}

/// The target of a limit within its queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// The tasks of one key.
    Key(ConcurrencyKey),
    /// The tasks of one name, of whatever version.
    Task(TaskName),
}

impl Gate {
    /// Its stored form: a letter, `k` or `t`, and the key or the name.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Key(key) => format!("k{key}"),
            Self::Task(name) => format!("t{name}"),
        }
    }

    /// Reads what [`Gate::code`] writes.
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        match code.split_at_checked(1)? {
            ("k", key) => ConcurrencyKey::new(key).ok().map(Self::Key),
            ("t", name) => TaskName::new(name).ok().map(Self::Task),
            _ => None,
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "key {key}"),
            Self::Task(name) => write!(f, "task {name}"),
        }
    }
}

/// A gate that holds a ready task back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutGate {
    /// The gate.
    pub gate: Gate,
    /// How many of its tasks run, if that is limited; else 0.
    pub running: u64,
    /// The first ten of these, by their ids; empty if their number is not the obstacle.
    pub holders: Vec<TaskId>,
    /// How long until its rate lets a task start; `None` if it does now.
    pub rate_wait: Option<std::time::Duration>,
}

/// How many holders of a gate are named.
pub const MAX_HOLDERS_NAMED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(json: &'static str, parameter: &str) -> Option<String> {
        ConcurrencyKey::of_parameter(&Payload::json(json), parameter).map(|key| key.to_string())
    }

    #[test]
    fn a_parameter_gives_the_key() {
        assert_eq!(key(r#"{"customer":"acme"}"#, "customer").as_deref(), Some("acme"));
        assert_eq!(key(r#"{"customer":"\u0061cme"}"#, "customer").as_deref(), Some("acme"));
        assert_eq!(key(r#"{"order":{"customer":42}}"#, "/order/customer").as_deref(), Some("42"));
        assert_eq!(key(r#"{"a/b":true}"#, "/a~1b").as_deref(), Some("true"));
        assert_eq!(key(r#"{"a/b":[7]}"#, "/a~1b/0").as_deref(), Some("7"));
        assert_eq!(key("[7]", "0"), None, "a name is not a place");
        for nothing in
            [r#"{"customer":null}"#, r#"{"customer":{}}"#, r#"{"customer":[]}"#, r#"{"customer":""}"#, "{}", "3", "no"]
        {
            assert_eq!(key(nothing, "customer"), None, "{nothing}");
        }
    }

    #[test]
    fn two_numbers_are_two_keys_and_all_spellings_of_one_are_one() {
        for (json, expected) in [
            (r#"{"id":12345678901234567890123456789}"#, "12345678901234567890123456789"),
            (r#"{"id":12345678901234567890123456780}"#, "12345678901234567890123456780"),
            (r#"{"id":1e400}"#, "1e400"),
            (r#"{"id":1.10}"#, "1.1"),
            (r#"{"id":42.0}"#, "42"),
            (r#"{"id":4.2E1}"#, "42"),
            (r#"{"id":-0.0}"#, "0"),
        ] {
            assert_eq!(key(json, "id").as_deref(), Some(expected), "{json}");
        }
        let long = |last: char| format!(r#"{{"id":1{}{last}}}"#, "0".repeat(300));
        let key_of = |json: String| ConcurrencyKey::of_parameter(&Payload::json(json), "id").unwrap().to_string();
        assert!(key_of(long('1')).starts_with("xxh3:"));
        assert_ne!(key_of(long('1')), key_of(long('2')));
    }

    #[test]
    fn what_is_too_long_for_a_key_is_known_by_its_digest() {
        let of = |text: &str| {
            let json = serde_json::json!({ "customer": text }).to_string();
            ConcurrencyKey::of_parameter(&Payload::json(json), "customer").unwrap()
        };
        let (a, b) = ("a".repeat(257), "b".repeat(257));
        assert_eq!(of(&a), of(&a));
        assert_ne!(of(&a), of(&b));
        assert!(of("a\nb").as_str().starts_with("xxh3:"));
    }

    #[test]
    fn a_key_is_text_of_a_bounded_length() {
        for good in ["customer:42", "Zürich, ☂", &"x".repeat(256)] {
            assert_eq!(ConcurrencyKey::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "a\nb", "\0", &"x".repeat(257)] {
            assert!(ConcurrencyKey::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_place_of_keys_is_a_name_or_a_pointer() {
        for good in ["customer", "/order/customer", "/a~1b/~0", "a~b"] {
            assert_eq!(validate_key_parameter(good), Ok(()), "{good}");
        }
        for bad in ["", "/a~2", "/a~", "a\n"] {
            assert!(validate_key_parameter(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_gate_is_read_as_it_is_written() {
        let gates =
            [Gate::Key(ConcurrencyKey::new("to me: ☂").unwrap()), Gate::Task(TaskName::new("email.send").unwrap())];
        for gate in gates {
            assert_eq!(Gate::parse(&gate.code()), Some(gate));
        }
        for bad in ["", "k", "x", "☂", "t a"] {
            assert_eq!(Gate::parse(bad), None, "{bad}");
        }
    }
}
