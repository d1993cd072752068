//! One settlement on its way to the store.

use std::sync::Arc;

use jobbers_common::{
    engine::{LostTask, Outcome, Settlement},
    lifecycle::Status,
    name::TaskId,
    task::{ClaimedTask, Fence},
};

use crate::attempts::attempt::Attempt;

/// The end of an attempt, or a task that is given back without one.
#[derive(Debug)]
pub(super) struct Settling {
    pub(super) id: TaskId,
    /// A task that was not started, as it is counted.
    pub(super) unstarted: Option<LostTask>,
    pub(super) fence: Fence,
    pub(super) outcome: Outcome,
    /// `None` for a task that was given back without having been started.
    pub(super) attempt: Option<Arc<Attempt>>,
}

impl Settling {
    /// The end of an attempt.
    pub(super) fn ended(attempt: Arc<Attempt>, outcome: Outcome) -> Self {
        let (id, fence) = (attempt.task.id.clone(), attempt.task.fence);
        Self { id, unstarted: None, fence, outcome, attempt: Some(attempt) }
    }

    /// A task that was claimed and never started.
    pub(super) fn unstarted(task: ClaimedTask, outcome: Outcome) -> Self {
        let ClaimedTask { id, fence, queue, name, version, .. } = task;
        let unstarted = Some(LostTask { queue, name, version, status: Status::Started, dead_letter: false });
        Self { id, unstarted, fence, outcome, attempt: None }
    }

    /// As the store takes it.
    pub(super) fn settlement(&self) -> Settlement {
        let completes = matches!(self.outcome, Outcome::Completed { .. });
        // The span that the task's next attempt links to; a completed task has none.
        let span = self.attempt.as_ref().filter(|_| !completes).and_then(|attempt| attempt.span()).map(Box::from);
        let heartbeat = self.attempt.as_ref().and_then(|attempt| attempt.last_heartbeat(&self.outcome));
        Settlement { span, heartbeat, ..Settlement::new(self.id.clone(), self.fence, self.outcome.clone()) }
    }

    /// About how many bytes its payloads have.
    pub(super) fn bytes(&self) -> usize {
        let last = self.attempt.as_ref().and_then(|attempt| attempt.last_heartbeat(&self.outcome)?.checkpoint);
        self.outcome.bytes() + last.map_or(0, |checkpoint| checkpoint.len())
    }
}
