//! The tasks that live workers can run, as JSON.

use jobbers_common::{
    name::{QueueName, RoleName, TaskName},
    policy::DeadLetter,
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    task::view::PolicyView,
    value::{AnyJsonDoc, NameDoc},
};

/// A version of a task that live workers can run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = RegisteredTask)]
pub struct RegisteredTaskView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Its author's description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The JSON Schema of its parameters, if it has one. Submissions that do not fit are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub parameters: Option<serde_json::Value>,
    /// What of that schema is not checked, and why: a look-around in a pattern, a reference to another document, a mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// How often its workers may vanish before it is failed, where that is not 3. Submissions that do not say otherwise
    /// carry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_crashes: Option<u32>,
    /// Whether it is kept when it fails for good, if its author set it; carried alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub dead_letter: Option<DeadLetter>,
    /// Present and true if its author calls it sensitive: what its tasks hold is hidden. Submissions carry it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensitive: bool,
    /// What its author set of its policy, where that is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyView>,
    /// How many live workers can run it.
    pub workers: u32,
    /// The queues from which these claim, draining ones left aside.
    #[schema(value_type = Vec<NameDoc>)]
    pub queues: Vec<QueueName>,
    /// The roles of these workers.
    #[schema(value_type = Vec<NameDoc>)]
    pub roles: Vec<RoleName>,
}

/// Everything live workers can run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = RegisteredTasks)]
pub struct RegistryView {
    /// In the order of names and versions.
    pub tasks: Vec<RegisteredTaskView>,
}
