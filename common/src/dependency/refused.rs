//! Edges that can't be added, and the sentences and stable words for the reasons.

use std::fmt;

use super::policy::DependencyPolicy;
use crate::{lifecycle::Status, limits::MAX_DEPENDENCIES, name::TaskId};

/// Tasks of a circle that a message names at most.
const MAX_CIRCLE_SHOWN: usize = 20;

/// Why an edge can't be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddRefusal {
    /// `run` does not exist.
    UnknownRun,
    /// `run` is running or over.
    RunStarted(Status),
    /// `run` has a unique key: a submission with the same key may change it, and would not know its dependencies.
    RunIsUnique,
    /// `after` is neither stored nor remembered.
    UnknownAfter,
    /// `after` is over.
    AfterOver(Status),
    /// The edge exists, with this policy.
    OtherPolicy(DependencyPolicy),
    /// `run` would have too many dependencies.
    TooMany,
    /// These tasks would wait for each other, each for the one before it; the first is the last.
    Circle(Vec<TaskId>),
    /// Too many edges would have to be checked for a circle.
    TooManyToCheck,
}

/// An edge that can't be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDependency {
    /// The task that was to wait.
    pub run: TaskId,
    /// The task that it was to wait for.
    pub after: TaskId,
    /// Why it does not.
    pub why: AddRefusal,
}

impl RefusedDependency {
    /// The reason as a stable word.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.why {
            AddRefusal::UnknownRun => "unknown_task",
            AddRefusal::RunStarted(Status::Started) => "task_started",
            AddRefusal::RunStarted(_) => "task_over",
            AddRefusal::RunIsUnique => "task_has_unique_key",
            AddRefusal::UnknownAfter => "unknown_predecessor",
            AddRefusal::AfterOver(_) => "predecessor_over",
            AddRefusal::OtherPolicy(_) => "dependency_exists",
            AddRefusal::TooMany => "too_many_dependencies",
            AddRefusal::Circle(_) => "circular_dependency",
            AddRefusal::TooManyToCheck => "too_many_to_check",
        }
    }
}

impl fmt::Display for RefusedDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, after, why } = self;
        match why {
            AddRefusal::UnknownRun => write!(f, "task {run} does not exist"),
            AddRefusal::RunStarted(Status::Started) => write!(f, "task {run} is running, so it waits for no task"),
            AddRefusal::RunStarted(status) => write!(f, "task {run} is over ({status}), so it waits for no task"),
            AddRefusal::RunIsUnique => write!(f, "task {run} has a unique key, so it waits for no task"),
            AddRefusal::UnknownAfter => write!(f, "task {run} can't wait for task {after}, which does not exist"),
            AddRefusal::AfterOver(end) => write!(f, "task {run} can't wait for task {after}, which is over ({end})"),
            AddRefusal::OtherPolicy(policy) => {
                write!(f, "task {run} waits for task {after} already, with the policy {}", policy.as_str())
            }
            AddRefusal::TooMany => {
                write!(f, "task {run} would have more than {MAX_DEPENDENCIES} dependencies, which is the most")
            }
            AddRefusal::Circle(tasks) => {
                let shown: Vec<&str> = tasks.iter().take(MAX_CIRCLE_SHOWN).map(TaskId::as_str).collect();
                let more = if tasks.len() > shown.len() { " -> …" } else { "" };
                write!(f, "these tasks would wait for each other: {}{more}", shown.join(" -> "))
            }
            AddRefusal::TooManyToCheck => write!(
                f,
                "whether tasks {run} and {after} would wait for each other takes too many dependencies to check; name \
                 the dependency when the task is submitted"
            ),
        }
    }
}
