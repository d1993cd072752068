//! What workers can run: names, versions, and how parameters have to look.
//!
//! All workers of one build share one catalogue. It is known by its digest, which a worker names in its report, so that
//! reports stay small and a catalogue is read once. A catalogue says nothing about who is alive: the reports do.

use std::{fmt, ops::Not, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    limits::MAX_CATALOGUE_BYTES,
    name::TaskName,
    policy::{CrashPolicy, PolicyOverrides},
};

/// One task a worker can run. Stored, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Its name.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// The JSON Schema of its parameters, if its author derives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// Its author's description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its author's policy for workers that vanish, which submissions carry by default.
    #[serde(default, skip_serializing_if = "CrashPolicy::is_default")]
    pub on_crash: CrashPolicy,
    /// Its author's whole policy, as far as it is not the default: for people. Only workers apply it.
    #[serde(default, skip_serializing_if = "PolicyOverrides::is_empty")]
    pub policy: PolicyOverrides,
    /// Whether its author calls it sensitive: submissions carry that.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub sensitive: bool,
}

/// The tasks of one build of a worker.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Catalogue {
    /// In the order of their names and versions.
    pub tasks: Vec<TaskSpec>,
}

/// The digest of a catalogue: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CatalogueId(u128);

/// A text that is no digest of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the digest of a catalogue: 32 hexadecimal digits")]
pub struct CatalogueIdError(String);

impl Catalogue {
    /// Its text, as it is stored, and the digest of that.
    ///
    /// # Errors
    /// [`Error::Invalid`] over 4 MiB.
    pub fn encode(&self) -> Result<(CatalogueId, String)> {
        let text = serde_json::to_string(self).map_err(|error| Error::Invalid(format!("the catalogue: {error}")))?;
        if text.len() > MAX_CATALOGUE_BYTES {
            let problem = format!("a catalogue of tasks holds at most {MAX_CATALOGUE_BYTES} bytes, not {}", text.len());
            return Err(Error::Invalid(problem));
        }
        Ok((CatalogueId(xxhash_rust::xxh3::xxh3_128(text.as_bytes())), text))
    }
}

impl fmt::Display for CatalogueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for CatalogueId {
    type Err = CatalogueIdError;

    fn from_str(text: &str) -> Result<Self, CatalogueIdError> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = digits.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        value.map(Self).ok_or_else(|| CatalogueIdError(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for CatalogueId {
    type Error = CatalogueIdError;

    fn try_from(text: String) -> Result<Self, CatalogueIdError> {
        text.parse()
    }
}

impl From<CatalogueId> for String {
    fn from(id: CatalogueId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(version: u32) -> TaskSpec {
        let (name, on_crash) = (TaskName::new("echo").unwrap(), CrashPolicy::default());
        let policy = PolicyOverrides::default();
        TaskSpec { name, version, parameters: None, description: String::new(), on_crash, policy, sensitive: false }
    }

    #[test]
    fn equal_catalogues_have_one_digest_and_others_another() {
        let digest = |versions: &[u32]| Catalogue { tasks: versions.iter().copied().map(spec).collect() }.encode();
        assert_eq!(digest(&[1, 2]), digest(&[1, 2]));
        assert_ne!(digest(&[1, 2]).unwrap().0, digest(&[1]).unwrap().0);
        let (id, _) = digest(&[1]).unwrap();
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "+1", &"g".repeat(32), &"1".repeat(33)] {
            assert!(bad.parse::<CatalogueId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_catalogue_has_a_bound() {
        let long = TaskSpec { description: "x".repeat(MAX_CATALOGUE_BYTES), ..spec(1) };
        assert!(matches!(Catalogue { tasks: vec![long] }.encode(), Err(Error::Invalid(_))));
    }
}
