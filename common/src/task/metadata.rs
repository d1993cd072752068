//! What a submission says about its task for people and programs, and no engine looks into.

use std::ops::Not;

use jobbers_terms::task::label::Labels;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The metadata of a task. An engine stores it in one piece, so a further field needs no change of an engine or a store.
///
/// Stored as JSON or MessagePack with the names of its fields: a field is only ever added, with a default that is not
/// written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Its labels.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Whether its submission calls it sensitive.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub sensitive: bool,
    /// Whether its author calls all tasks of its name sensitive, as far as the submitting program or a live worker knew.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub sensitive_in_code: bool,
}

impl Metadata {
    /// Whether readers see that there are parameters, a result and errors, and not what they hold.
    #[must_use]
    pub const fn is_sensitive(&self) -> bool {
        self.sensitive || self.sensitive_in_code
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The fields that the submission gave, by their names. Not what its author says in code: a worker that registers
    /// meanwhile makes no other submission.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(Self { sensitive_in_code: false, ..self.clone() }) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}

impl From<Labels> for Metadata {
    fn from(labels: Labels) -> Self {
        Self { labels, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::submission::template::TaskTemplate;

    #[test]
    fn a_template_has_its_labels_beside_its_other_fields() {
        let labels = r#""labels":{"team":"core"},"overrides":{}"#;
        let text = format!(r#"{{"name":"echo","version":1,"priority":5,"parameters":{{"n": 1.0}},{labels}}}"#);
        let template: TaskTemplate = serde_json::from_str(&text).unwrap();
        assert_eq!(template.metadata, serde_json::from_str(r#"{"labels": {"team": "core"}}"#).unwrap());
        assert_eq!(serde_json::to_string(&template).unwrap(), text);
    }
}
