//! Unique keys: allow at most one task per key.
//!
//! A key belongs to a task's name, whatever version and queue: routing may send two submissions to two queues, and they
//! are still the same work. A task that takes a key holds it from its submission on, while it has one of
//! [`Unique::statuses`] and until [`Unique::span`] is over. [`OnDuplicate`] decides about a submission whose key is
//! held. The holder is determined when a submission comes, from the holder's record: nothing has to be released, and
//! nothing can leak.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    lifecycle::Status,
    limits::{MAX_DELAY, MAX_UNIQUE_KEY_BYTES},
    values::duration,
};

/// A unique key, such as `customer:42`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniqueKey(Arc<str>);

/// Why a text is not a unique key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a unique key is 1 to 256 bytes of text without control characters, not {0:?}")]
pub struct UniqueKeyError(String);

impl UniqueKey {
    /// Checks a text and takes it as a key.
    ///
    /// # Errors
    /// [`UniqueKeyError`] unless it is 1 to 256 bytes without control characters.
    pub fn new(text: impl AsRef<str>) -> Result<Self, UniqueKeyError> {
        let text = text.as_ref();
        if text.is_empty() || text.len() > MAX_UNIQUE_KEY_BYTES || text.chars().any(char::is_control) {
            return Err(UniqueKeyError(text.chars().take(160).collect()));
        }
        Ok(Self(text.into()))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UniqueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for UniqueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for UniqueKey {
    type Err = UniqueKeyError;

    fn from_str(text: &str) -> Result<Self, UniqueKeyError> {
        Self::new(text)
    }
}

impl Serialize for UniqueKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for UniqueKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

/// The action for a submission whose unique key another task holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDuplicate {
    /// It is refused, and its whole batch with it.
    #[default]
    Reject,
    /// The holder is returned, and stays as it is.
    Return,
    /// The holder is cancelled, and the submission replaces it; refused if the holder runs.
    Replace,
    /// A holder that has not started, or waits for its retry, becomes the submission, at the end of its queue and with
    /// a clean state: it keeps only its id, when it was submitted, and until when it holds the key. A repetition of the
    /// latest such submission is answered with the holder's present state. Refused if the holder runs.
    KeepLast,
}

impl OnDuplicate {
    /// Every rule.
    pub const ALL: [Self; 4] = [Self::Reject, Self::Return, Self::Replace, Self::KeepLast];

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Return => "return",
            Self::Replace => "replace",
            Self::KeepLast => "keep_last",
        }
    }

    /// The default statuses in which a task holds its key: until it is over, or for [`OnDuplicate::KeepLast`] until it
    /// starts, because a running task has already read its parameters.
    #[must_use]
    pub const fn usual_statuses(self) -> StatusSet {
        match self {
            Self::KeepLast => StatusSet::UNSTARTED,
            _ => StatusSet::LIVE,
        }
    }
}

/// Some of the statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Status>", into = "Vec<Status>")]
pub struct StatusSet(u16);

impl StatusSet {
    /// Those of a task that is not over.
    pub const LIVE: Self = Self(0b1111);
    /// Those of a task that has not started.
    pub const UNSTARTED: Self = Self(0b0111);

    /// Whether a status is among them.
    #[must_use]
    pub const fn contains(self, status: Status) -> bool {
        self.0 & (1 << status.code()) != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each, in the order of the lifecycle.
    pub fn iter(self) -> impl Iterator<Item = Status> {
        Status::ALL.into_iter().filter(move |status| self.contains(*status))
    }
}

impl FromIterator<Status> for StatusSet {
    fn from_iter<I: IntoIterator<Item = Status>>(statuses: I) -> Self {
        Self(statuses.into_iter().fold(0, |set, status| set | 1 << status.code()))
    }
}

impl From<Vec<Status>> for StatusSet {
    fn from(statuses: Vec<Status>) -> Self {
        statuses.into_iter().collect()
    }
}

impl From<StatusSet> for Vec<Status> {
    fn from(set: StatusSet) -> Self {
        set.iter().collect()
    }
}

/// The uniqueness constraint of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unique {
    /// The key, among tasks of its name.
    pub key: UniqueKey,
    /// The longest time that it holds the key, counted from its submission, or from when it is sent again.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    pub span: Option<Duration>,
    /// The statuses in which it holds the key.
    pub statuses: StatusSet,
    /// The action if another task holds the key.
    pub on_duplicate: OnDuplicate,
}

/// A broken rule of [`Unique`]: the field, and the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct UniqueError {
    /// The field's name on the wire.
    pub field: &'static str,
    /// The rule.
    pub rule: &'static str,
}

impl Unique {
    /// A key that is held until its task is over, and refuses duplicates.
    #[must_use]
    pub const fn new(key: UniqueKey) -> Self {
        Self { key, span: None, statuses: StatusSet::LIVE, on_duplicate: OnDuplicate::Reject }
    }

    /// The same with another rule for duplicates, and the default statuses of that rule.
    #[must_use]
    pub fn on_duplicate(self, rule: OnDuplicate) -> Self {
        Self { on_duplicate: rule, statuses: rule.usual_statuses(), ..self }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// [`UniqueError`] for a span of nothing or over 366 days, and for no status at all.
    pub fn validate(&self) -> Result<(), UniqueError> {
        if self.span.is_some_and(|span| span.as_micros() == 0 || span > MAX_DELAY) {
            return Err(UniqueError { field: "unique_for", rule: "is longer than nothing and at most 366d" });
        }
        if self.statuses.is_empty() {
            return Err(UniqueError { field: "unique_while", rule: "names at least one status" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_text_of_a_bounded_length() {
        for good in ["customer:42", "Zürich, ☂", &"x".repeat(256)] {
            assert_eq!(UniqueKey::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "a\nb", "\0", &"x".repeat(257)] {
            assert!(UniqueKey::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_usual_statuses_are_those_of_the_lifecycle() {
        let live: StatusSet = Status::ALL.into_iter().filter(|status| !status.is_finished()).collect();
        let unstarted = live.iter().filter(|status| *status != Status::Started).collect();
        assert_eq!((StatusSet::LIVE, StatusSet::UNSTARTED), (live, unstarted));
    }

    #[test]
    fn what_is_stored_reads_back() {
        let span = Some(Duration::from_micros(1_500));
        let unique = Unique { span, ..Unique::new(UniqueKey::new("k").unwrap()).on_duplicate(OnDuplicate::KeepLast) };
        let text = serde_json::to_string(&unique).unwrap();
        let expected =
            r#"{"key":"k","span":"1500us","statuses":["waiting","scheduled","submitted"],"on_duplicate":"keep_last"}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Unique>(&text).unwrap(), unique);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let unique = Unique::new(UniqueKey::new("k").unwrap());
        assert_eq!(unique.validate(), Ok(()));
        for span in [Duration::ZERO, Duration::from_nanos(1), MAX_DELAY + Duration::from_secs(1)] {
            let error = Unique { span: Some(span), ..unique.clone() }.validate().unwrap_err();
            assert_eq!(error.field, "unique_for");
        }
        let none = Unique { statuses: StatusSet::from(Vec::new()), ..unique };
        assert_eq!(none.validate().unwrap_err().field, "unique_while");
    }
}
