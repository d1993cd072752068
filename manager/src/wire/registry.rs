//! What workers can run, as JSON; and the warnings of a submission about it.

use jobbers_common::{
    name::{QueueName, RoleName, TaskName},
    policy::DeadLetter,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::value::{AnyJsonDoc, NameDoc};
use crate::known_tasks::{Known, KnownTask};

/// A version of a task that live workers can run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RegisteredTask)]
pub struct RegisteredTaskView<'a> {
    /// Its name.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Its version.
    version: u32,
    /// Its author's description.
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    /// The JSON Schema of its parameters, if it has one. Submissions that do not fit are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    parameters: Option<&'a serde_json::Value>,
    /// How often its workers may vanish before it is failed, where that is not 3. Submissions that do not say otherwise
    /// carry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_crashes: Option<u32>,
    /// Whether it is kept when it fails for good, if its author set it; carried alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    dead_letter: Option<DeadLetter>,
    /// How many live workers can run it.
    workers: u32,
    /// The queues from which these claim, draining ones left aside.
    #[schema(value_type = Vec<NameDoc>)]
    queues: Vec<&'a QueueName>,
    /// The roles of these workers.
    #[schema(value_type = Vec<NameDoc>)]
    roles: Vec<&'a RoleName>,
}

/// Everything live workers can run.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RegisteredTasks)]
pub struct RegistryView<'a> {
    /// In the order of names and versions.
    tasks: Vec<RegisteredTaskView<'a>>,
}

impl<'a> RegisteredTaskView<'a> {
    fn new(name: &'a TaskName, task: &'a KnownTask) -> Self {
        let spec = task.described.as_ref().map(|described| &described.spec);
        Self {
            name,
            version: task.version,
            description: spec.map_or("", |spec| &spec.description),
            parameters: spec.and_then(|spec| spec.parameters.as_ref()),
            max_crashes: spec.and_then(|spec| spec.on_crash.max_crashes),
            dead_letter: spec.and_then(|spec| spec.on_crash.dead_letter),
            workers: task.workers,
            queues: task.queues.iter().collect(),
            roles: task.roles.iter().collect(),
        }
    }
}

impl<'a> From<&'a Known> for RegistryView<'a> {
    fn from(known: &'a Known) -> Self {
        let versions = known.0.iter().flat_map(|(name, tasks)| tasks.iter().map(move |task| (name, task)));
        Self { tasks: versions.map(|(name, task)| RegisteredTaskView::new(name, task)).collect() }
    }
}

/// Something about a submission that was accepted and may not be what its sender wants.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Warning)]
pub struct WarningView {
    /// `no_worker`: no live worker that claims from its queue can run it.
    pub(crate) code: &'static str,
    /// The problem, in a sentence.
    pub(crate) detail: String,
}
