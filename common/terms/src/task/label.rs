//! Labels: what a submitter says about a task, to find it by. They change nothing about how it runs.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    limits::{MAX_LABEL_VALUE_BYTES, MAX_LABELS},
    name::LabelName,
};

/// The labels of a task, by name: at most 16, each value at most 256 bytes without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<LabelName, String>")]
pub struct Labels(BTreeMap<LabelName, String>);

/// Why something is not a label, or is one too many.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Its name.
    #[error("{0}")]
    Name(String),
    /// Its value.
    #[error("the value of label {0} is at most {MAX_LABEL_VALUE_BYTES} bytes of text without control characters")]
    Value(LabelName),
    /// There is one of this name.
    #[error("label {0} is given twice")]
    Twice(LabelName),
    /// There are more of them than a task may have.
    #[error("a task has at most {MAX_LABELS} labels, not {0}")]
    TooMany(usize),
    /// It is not `NAME=VALUE`.
    #[error("a label is written NAME=VALUE, not {0:?}")]
    Form(String),
}

impl Labels {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&LabelName, &str)> {
        self.0.iter().map(|(name, value)| (name, value.as_str()))
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, name: &LabelName) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Adds a label.
    ///
    /// # Errors
    /// [`LabelError`] if there is one of this name, or there are too many.
    pub fn add(&mut self, label: Label) -> Result<(), LabelError> {
        if self.0.contains_key(&label.name) {
            return Err(LabelError::Twice(label.name));
        }
        self.0.insert(label.name, label.value);
        check_count(self.0.len())
    }
}

fn check_count(count: usize) -> Result<(), LabelError> {
    if count <= MAX_LABELS { Ok(()) } else { Err(LabelError::TooMany(count)) }
}

impl TryFrom<BTreeMap<LabelName, String>> for Labels {
    type Error = LabelError;

    fn try_from(labels: BTreeMap<LabelName, String>) -> Result<Self, LabelError> {
        check_count(labels.len())?;
        match labels.iter().find(|(_, value)| !is_plain(value)) {
            Some((name, _)) => Err(LabelError::Value(name.clone())),
            None => Ok(Self(labels)),
        }
    }
}

/// One label: text `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    name: LabelName,
    value: String,
}

impl Label {
    /// Checks a name and a value.
    ///
    /// # Errors
    /// [`LabelError`] for either.
    pub fn new(name: &str, value: impl Into<String>) -> Result<Self, LabelError> {
        let name = LabelName::new(name).map_err(|error| LabelError::Name(error.to_string()))?;
        let value = value.into();
        if !is_plain(&value) {
            return Err(LabelError::Value(name));
        }
        Ok(Self { name, value })
    }

    /// Whether it is among a task's labels.
    #[must_use]
    pub fn is_in(&self, labels: &Labels) -> bool {
        labels.get(&self.name) == Some(&*self.value)
    }
}

fn is_plain(value: &str) -> bool {
    value.len() <= MAX_LABEL_VALUE_BYTES && !value.chars().any(char::is_control)
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let (name, value) = text.split_once('=').ok_or_else(|| LabelError::Form(text.chars().take(160).collect()))?;
        Self::new(name, value)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl Serialize for Label {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_name_and_a_value() {
        let label: Label = "team=a=b, c".parse().unwrap();
        assert_eq!((label.name.as_str(), &*label.value), ("team", "a=b, c"));
        assert_eq!(label.to_string(), "team=a=b, c");
        assert_eq!("empty=".parse::<Label>().unwrap().value, "");
        for (text, says) in [("team", "NAME=VALUE"), ("=x", "label name"), ("a b=x", "label name"), ("a=\n", "control")]
        {
            assert!(text.parse::<Label>().unwrap_err().to_string().contains(says), "{text}");
        }
        assert!(Label::new("a", "x".repeat(256)).is_ok());
        assert!(matches!(Label::new("a", "x".repeat(257)), Err(LabelError::Value(_))));
    }

    #[test]
    fn labels_are_bounded_wherever_they_come_from() {
        let mut labels = Labels::default();
        for n in 0..16 {
            labels.add(Label::new(&format!("l{n}"), "x").unwrap()).unwrap();
        }
        assert!(matches!(labels.clone().add("l3=y".parse().unwrap()), Err(LabelError::Twice(_))));
        assert_eq!(labels.clone().add("more=y".parse().unwrap()), Err(LabelError::TooMany(17)));
        let read = |text: &str| serde_json::from_str::<Labels>(text).map_err(|error| error.to_string());
        assert_eq!(read(&serde_json::to_string(&labels).unwrap()), Ok(labels));
        let many: BTreeMap<String, &str> = (0..17).map(|n| (format!("l{n}"), "")).collect();
        assert!(read(&serde_json::to_string(&many).unwrap()).unwrap_err().contains("at most 16 labels"));
        assert!(read(r#"{"a": "\u0000"}"#).unwrap_err().contains("the value of label a"));
        assert!(read(r#"{"": "x"}"#).unwrap_err().contains("label name"));
    }
}
