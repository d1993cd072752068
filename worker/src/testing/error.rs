//! Why a bench could not do what was requested.

use jobbers_common::{
    engine::Error,
    name::{TaskId, TaskName},
};

use crate::tasks::registry::DuplicateTask;

/// More attempts than this in one drain mean that tasks submit each other without end.
pub(super) const MOST_ATTEMPTS: u64 = 100_000;

/// Why a bench could not do what was requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// Two tasks have the same name and version.
    #[error(transparent)]
    DuplicateTask(#[from] DuplicateTask),
    /// The store refused.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A submitted task is not in this program.
    #[error("no task {name}@{version} in this program; one that is unlisted is given to `Builder::task`")]
    NoSuchTask {
        /// Its name.
        name: TaskName,
        /// Its version.
        version: u32,
    },
    /// A task asks for state that the bench was not given.
    #[error("task {task} needs state that this bench does not have: {}; give it to `Builder::state`", types.join(", "))]
    MissingState {
        /// `name@version`.
        task: String,
        /// The paths of the types.
        types: Vec<&'static str>,
    },
    /// A submission does not hold the parameters its task takes.
    #[error("task {id}: {problem}")]
    Parameters {
        /// Its id.
        id: TaskId,
        /// What is wrong.
        problem: String,
    },
    /// A schedule can't be fired here.
    #[error("schedule {schedule}: {problem}")]
    Schedule {
        /// Its name.
        schedule: String,
        /// What is wrong.
        problem: String,
    },
    /// Tasks submit each other without end, or a schedule has too many slots.
    #[error("more than {MOST_ATTEMPTS} attempts, or slots of schedules, in one call")]
    Endless,
}

impl TestError {
    pub(super) fn schedule(name: &impl ToString, problem: &impl ToString) -> Self {
        Self::Schedule { schedule: name.to_string(), problem: problem.to_string() }
    }
}
