//! Which names a restricted key reaches.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::name::QueueName;

/// A name, or the beginning of names with `*` after it: `mail`, `team-a.*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a pattern: write a name such as mail, or the beginning of names and a star, such as team-a.*")]
pub struct PatternError(String);

impl Pattern {
    /// Whether it matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.0.strip_suffix('*').map_or(self.0 == name, |beginning| name.starts_with(beginning))
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        // The names of queues and of tasks have the same characters.
        let beginning = text.strip_suffix('*').unwrap_or(text);
        let is_legal = text == "*" || QueueName::new(beginning).is_ok();
        is_legal.then(|| Self(text.to_owned())).ok_or_else(|| PatternError(text.chars().take(160).collect()))
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_the_end_of_a_name() {
        let matches = |pattern: &str, name: &str| pattern.parse::<Pattern>().unwrap().matches(name);
        for (pattern, name) in [("mail", "mail"), ("team-a.*", "team-a.mail"), ("team-a.*", "team-a."), ("*", "x")] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("mail", "mail2"), ("mail", "mai"), ("team-a.*", "team-b.x"), ("team-a.*", "team-a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        for wrong in ["", "a*b", "**", "a b", "*a"] {
            wrong.parse::<Pattern>().unwrap_err();
        }
    }
}
