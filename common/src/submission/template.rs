//! Templates: tasks that Jobbers submits later, or in pieces, from what a client gave it once.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{
    dependency::signal::AwaitedSignal,
    name::{QueueName, TaskName},
    payload::Payload,
    policy::PolicyOverrides,
    queue::gate::ConcurrencyKey,
    task::{Priority, metadata::Metadata},
};

/// A JSON document, as it was given.
#[derive(Debug, Clone)]
pub struct Document(Box<RawValue>);

impl Document {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl From<Box<RawValue>> for Document {
    fn from(value: Box<RawValue>) -> Self {
        Self(value)
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Document {}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

/// What a schedule or a node of a workflow submits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTemplate {
    /// What to run.
    pub name: TaskName,
    /// Which version of it.
    pub version: u32,
    /// Where it goes; `None` leaves it to the routing rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// Where it goes if these have none for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_queue: Option<QueueName>,
    /// Its rank in the queue.
    #[serde(default)]
    pub priority: Priority,
    /// What it is given.
    pub parameters: Document,
    /// Whose it is, for limits by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Its metadata.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// The signals from outside that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<AwaitedSignal>,
    /// Whether it ends by itself once it waits for nothing.
    #[serde(default, rename = "spontaneous", skip_serializing_if = "std::ops::Not::not")]
    pub is_spontaneous: bool,
    /// What it changes of the task's policy.
    #[serde(default)]
    pub overrides: PolicyOverrides,
}

impl TaskTemplate {
    /// A template with defaults for all but the essentials.
    #[must_use]
    pub fn new(name: TaskName, parameters: Box<RawValue>) -> Self {
        Self {
            name,
            version: 1,
            queue: None,
            default_queue: None,
            priority: Priority::DEFAULT,
            parameters: parameters.into(),
            concurrency_key: None,
            metadata: Metadata::default(),
            signals: Vec::new(),
            is_spontaneous: false,
            overrides: PolicyOverrides::default(),
        }
    }

    /// Its parameters, as bytes.
    #[must_use]
    pub fn payload(&self) -> Payload {
        Payload::json(self.parameters.as_str().as_bytes().to_vec())
    }
}
