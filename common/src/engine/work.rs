//! The worker's side: claim, settle, extend, cancel.

use std::{collections::HashSet, time::Duration};

use crate::{
    engine::upkeep::{LostTask, Reclaimed},
    error::{Error, Result},
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_DELAY, MAX_PROGRESS_BYTES, MAX_QUEUES_PER_CLAIM, MAX_REFUSALS_PER_CLAIM},
    name::{QueueName, TaskId, WorkerId},
    payload::Payload,
    task::{AttemptFailure, ClaimedTask, Fence, Progress, trace::is_traceparent},
    worker::task_kind::TaskKind,
};

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// `started -> completed`.
    Completed {
        /// The result of the task function.
        result: Option<Payload>,
    },
    /// `started -> scheduled`, or `submitted` when the delay is zero: then at the end of its priority.
    Retry {
        /// How long until the next attempt.
        delay: Duration,
        /// Why.
        failure: AttemptFailure,
    },
    /// `started -> failed`.
    Failed {
        /// Why.
        failure: AttemptFailure,
        /// Whether the task is to be kept in the dead-letter store.
        dead_letter: bool,
    },
    /// `started -> stalled`: no progress heartbeat for too long while the worker lived.
    Stalled {
        /// Why.
        failure: AttemptFailure,
        /// Whether the task is to be kept in the dead-letter store.
        dead_letter: bool,
    },
    /// `started -> aborted`: the task function gave the work up. Its failure is noted, it is never retried and never a dead
    /// letter, and its successors go by the policies of their dependencies.
    Aborted {
        /// Why.
        failure: AttemptFailure,
    },
    /// The worker does not know the task and gives it back for another that does: like [`Outcome::Released`], as long
    /// as its queue's patience lasts. Then `started -> dropped`, with `failure`. Patience begins with the first
    /// give-back since the task last ran, or was submitted. After its delay the task counts as ready since before the
    /// first give-back, so the time in its queue includes the delays.
    Unknown {
        /// How long no worker may try it again.
        delay: Duration,
        /// How long workers may keep giving it back.
        patience: Duration,
        /// What is noted when it is dropped. Only then it is an attempt.
        failure: AttemptFailure,
        /// Whether the task is then to be kept in the dead-letter store.
        dead_letter: bool,
    },
    /// `started -> cancelled`: the worker acknowledges a cancel, or the task function returned that it is cancelled.
    Cancelled,
    /// The worker gives it back unharmed: the attempt does not count and no error is noted. With a delay of zero
    /// `started -> submitted`, at its old place; else `started -> scheduled`. It counts for a task with `max_tries`, and
    /// ends it at its last try.
    Released {
        /// How long no worker may try it again.
        delay: Duration,
    },
    /// The worker gives it back before the task began: as [`Outcome::Released`], and no try is used up.
    Unstarted {
        /// How long no worker may try it again.
        delay: Duration,
    },
}

impl Outcome {
    /// The size of the result in bytes; other outcomes are short.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Completed { result: Some(result) } => result.len(),
            _ => 0,
        }
    }

    /// Why the attempt failed, if it did. An unknown task's failure is noted only when it is dropped.
    #[must_use]
    pub const fn failure(&self) -> Option<&AttemptFailure> {
        match self {
            Self::Retry { failure, .. }
            | Self::Failed { failure, .. }
            | Self::Stalled { failure, .. }
            | Self::Aborted { failure }
            | Self::Unknown { failure, .. } => Some(failure),
            Self::Completed { .. } | Self::Cancelled | Self::Released { .. } | Self::Unstarted { .. } => None,
        }
    }

    /// Its name in logs.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Retry { .. } => "retry",
            Self::Failed { .. } => "failed",
            Self::Stalled { .. } => "stalled",
            Self::Aborted { .. } => "aborted",
            Self::Unknown { .. } => "unknown",
            Self::Cancelled => "cancelled",
            Self::Released { .. } => "released",
            Self::Unstarted { .. } => "unstarted",
        }
    }
}

/// The end of one attempt, proved by its fence.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// The task.
    pub id: TaskId,
    /// The number its claim came with.
    pub fence: Fence,
    /// How it ended.
    pub outcome: Outcome,
    /// The attempt's span, if it is kept in a trace, as a W3C `traceparent`: noted for the task's next attempt
    /// ([`crate::task::Task::last_span`]), unless this one completes it. `None` leaves what was noted before.
    pub span: Option<Box<str>>,
    /// What the attempt reported last. It is stored before the outcome, in the same step: a task that is over shows its
    /// last progress, and the next attempt finds the last checkpoint. `None` leaves what was said before.
    pub heartbeat: Option<Heartbeat>,
}

impl Settlement {
    /// A settlement whose attempt is not kept in a trace, and has nothing left to report.
    #[must_use]
    pub const fn new(id: TaskId, fence: Fence, outcome: Outcome) -> Self {
        Self { id, fence, outcome, span: None, heartbeat: None }
    }

    /// The span to store with the task.
    #[must_use]
    pub fn span_to_keep(&self) -> Option<&str> {
        self.span.as_deref().filter(|_| !matches!(self.outcome, Outcome::Completed { .. }))
    }
}

/// The result of a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleAnswer {
    /// It was accepted, and this is the task's status now: `cancelled` if a cancel was requested before.
    Accepted(Status),
    /// The lease was lost: expired and reclaimed, or the task is gone, or this lease was settled otherwise before. Nothing
    /// changed.
    LeaseLost,
}

/// How much may be claimed from a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueClaim {
    /// The queue.
    pub queue: QueueName,
    /// At most this many.
    pub limit: usize,
}

/// A kind of task that a claim does not take from a queue: the worker does not know it, and another worker of the queue
/// does ([`crate::worker::task_kind::is_known_elsewhere`]); or it is a blocking one, and the worker has no thread free.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Refusal {
    /// The queue.
    pub queue: QueueName,
    /// The kind.
    pub kind: TaskKind,
}

/// A claim for tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The queues to ask, first to last; at most [`MAX_QUEUES_PER_CLAIM`].
    pub queues: Vec<QueueClaim>,
    /// The kinds that the worker leaves to other workers of these queues; at most 100. Most often none.
    pub refused: Vec<Refusal>,
    /// At most this many in all, 0 to 1,000.
    pub limit: usize,
    /// How long the leases last.
    pub lease: Duration,
}

impl ClaimRequest {
    /// The kinds of tasks that it refuses from a queue.
    pub fn refused_in<'a>(&'a self, queue: &'a QueueName) -> impl Iterator<Item = &'a TaskKind> {
        self.refused.iter().filter(move |refusal| refusal.queue == *queue).map(|refusal| &refusal.kind)
    }
}

/// What [`crate::engine::Claims::cycle`] does in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Cycle {
    /// The caller.
    pub worker: WorkerId,
    /// Finished attempts; at most 1,000.
    pub settlements: Vec<Settlement>,
    /// The claim; `None` claims nothing and registers for nothing.
    pub claim: Option<ClaimRequest>,
}

impl Cycle {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        if self.settlements.len() > MAX_BATCH {
            return Err(Error::Invalid(format!("a cycle settles at most {MAX_BATCH} tasks")));
        }
        if self.settlements.len() > 1 {
            let mut seen = HashSet::with_capacity(self.settlements.len());
            if let Some(twice) = self.settlements.iter().find(|settlement| !seen.insert(&settlement.id)) {
                return Err(Error::Invalid(format!("task {} is settled twice in one cycle", twice.id)));
            }
        }
        for settlement in &self.settlements {
            if let Outcome::Retry { delay, .. }
            | Outcome::Released { delay }
            | Outcome::Unstarted { delay }
            | Outcome::Unknown { delay, .. } = &settlement.outcome
                && *delay > MAX_DELAY
            {
                return Err(Error::Invalid("a delay is at most 366d".to_owned()));
            }
            if settlement.span.as_deref().is_some_and(|span| !is_traceparent(span)) {
                return Err(Error::Invalid(format!("the span of task {} is no W3C traceparent", settlement.id)));
            }
            validate_heartbeat(&settlement.id, settlement.heartbeat.as_ref())?;
        }
        let Some(claim) = &self.claim else { return Ok(()) };
        if claim.limit > MAX_BATCH {
            return Err(Error::Invalid(format!("a claim takes at most {MAX_BATCH} tasks")));
        }
        if claim.queues.len() > MAX_QUEUES_PER_CLAIM {
            return Err(Error::Invalid(format!("a claim names at most {MAX_QUEUES_PER_CLAIM} queues")));
        }
        if claim.refused.len() > MAX_REFUSALS_PER_CLAIM {
            return Err(Error::Invalid(format!("a claim refuses at most {MAX_REFUSALS_PER_CLAIM} kinds of tasks")));
        }
        validate_lease(claim.lease)
    }
}

/// Checks a lease's length.
///
/// # Errors
/// [`Error::Invalid`] unless it is 1 ms to 366 days.
pub fn validate_lease(lease: Duration) -> Result<()> {
    if lease < Duration::from_millis(1) || lease > MAX_DELAY {
        return Err(Error::Invalid("a lease lasts 1ms to 366d".to_owned()));
    }
    Ok(())
}

/// The result of a cycle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CycleReply {
    /// One answer per settlement, in order.
    pub settled: Vec<SettleAnswer>,
    /// The tasks leased to the caller.
    pub claimed: Vec<ClaimedTask>,
    /// Tasks leased to this worker for which a cancel is requested: all of them, each time, until they are settled.
    pub cancel_requested: Vec<TaskId>,
    /// The configuration's version. If it differs from the caller's, read [`crate::engine::Settings::config`]. It grows,
    /// except when a store is restored from a copy.
    pub config_version: u64,
    /// How long until the next scheduled task of the claimed queues is due, or a rate limit lets more of them start, if
    /// that is known and `more` is not set: do not wait longer than this.
    pub next_due: Option<Duration>,
    /// Whether the claimed queues may hold more for this worker at once. Otherwise the claim took all there was, or found
    /// nothing, and the worker is registered as waiting: claim again after [`crate::engine::Waiting::wait`].
    pub more: bool,
    /// What the claim did with expired leases of its queues before it looked for work. A repeated cycle does not report it.
    pub reclaimed: Reclaimed,
    /// The tasks that the claim would have leased, but found expired, and dropped. A repeated cycle does not report them.
    pub expired: Vec<LostTask>,
}

/// News of a task in progress.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heartbeat {
    /// How far it is, within the bounds of [`Progress::new`]; `None` leaves what was said before.
    pub progress: Option<Progress>,
    /// The checkpoint for its next attempt; `None` leaves what was said before.
    pub checkpoint: Option<Payload>,
}

/// The renewal of one lease.
#[derive(Debug, Clone, PartialEq)]
pub struct Extension {
    /// The task.
    pub id: TaskId,
    /// The number its claim came with.
    pub fence: Fence,
    /// A progress heartbeat of the task itself, if it sent one since the last call.
    pub heartbeat: Option<Heartbeat>,
}

/// The result of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtendAnswer {
    /// The lease was extended.
    Extended {
        /// Whether a cancel of the task is requested.
        cancel_requested: bool,
    },
    /// Another worker has the lease, or the task is over. Nothing changed.
    LeaseLost,
}

/// Checks the bounds of an extend call.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_extend(lease: Duration, extensions: &[Extension]) -> Result<()> {
    if extensions.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call extends at most {MAX_BATCH} leases")));
    }
    for Extension { id, heartbeat, .. } in extensions {
        validate_heartbeat(id, heartbeat.as_ref())?;
    }
    validate_lease(lease)
}

fn validate_heartbeat(id: &TaskId, heartbeat: Option<&Heartbeat>) -> Result<()> {
    match heartbeat.and_then(|heartbeat| heartbeat.progress.as_ref()) {
        Some(progress) if !progress.is_within_bounds() => Err(Error::Invalid(format!(
            "progress of task {id}: a fraction is 0 to 1, a message at most {MAX_PROGRESS_BYTES} bytes"
        ))),
        _ => Ok(()),
    }
}

/// The result of a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It did not run and is `cancelled` now.
    Done,
    /// It runs; its worker has been notified.
    Requested,
    /// It was over before.
    AlreadyOver(Status),
    /// The task does not exist.
    Unknown,
}

/// The result of giving a task another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rescheduled {
    /// It may start from then on. Its status now: `submitted` if that time has come, else `scheduled`.
    Done(Status),
    /// It has this status, and not `scheduled`. Nothing changed.
    NotScheduled(Status),
    /// The task does not exist.
    Unknown,
}

/// Checks the bounds of a call that gives tasks another time.
///
/// # Errors
/// [`Error::Invalid`] for more than 1,000 tasks.
pub fn validate_reschedule(ids: &[TaskId]) -> Result<()> {
    if ids.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call reschedules at most {MAX_BATCH} tasks")));
    }
    Ok(())
}
