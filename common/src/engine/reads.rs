//! What can be asked of a store.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    engine::Engine,
    error::Result,
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId, TaskName, WorkerId},
    queue::gate::{MAX_HOLDERS_NAMED, ShutGate},
    task::{AttemptError, Task, label::Labels, suspicion::Suspicion, tombstone::TombstoneHealth},
    time::Timestamp,
};

pub use super::limit::validate_limit;

/// Which tasks; what is empty or `None` does not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFilter {
    /// With one of these statuses.
    pub statuses: Vec<Status>,
    /// In this queue.
    pub queue: Option<QueueName>,
    /// Of this name.
    pub name: Option<TaskName>,
    /// Of this version.
    pub version: Option<u32>,
    /// Of this version or a later one.
    pub version_from: Option<u32>,
    /// Of this version or an earlier one.
    pub version_to: Option<u32>,
    /// With these labels, and perhaps others.
    pub labels: Labels,
    /// Run, now or last, by this worker.
    pub worker: Option<WorkerId>,
    /// Submitted at or after this.
    pub submitted_after: Option<Timestamp>,
    /// Submitted before this.
    pub submitted_before: Option<Timestamp>,
    /// Finished at or after this.
    pub finished_after: Option<Timestamp>,
    /// Finished before this.
    pub finished_before: Option<Timestamp>,
    /// Whose latest error contains this text; `A` to `Z` match in upper or lower case.
    pub error: Option<String>,
}

impl TaskFilter {
    /// Whether tasks at `status` can match.
    #[must_use]
    pub fn wants(&self, status: Status) -> bool {
        let is_finish_bounded = self.finished_after.is_some() || self.finished_before.is_some();
        (self.statuses.is_empty() || self.statuses.contains(&status)) && (status.is_finished() || !is_finish_bounded)
    }

    /// Whether a task matches, given with its errors.
    #[must_use]
    pub fn matches(&self, task: &Task) -> bool {
        self.matches_except_error(task) && self.matches_error(task, task.errors.last())
    }

    /// Whether a task matches, if its latest error does. The task may be given without its errors.
    #[must_use]
    pub fn matches_except_error(&self, task: &Task) -> bool {
        self.wants(task.status)
            && self.queue.as_ref().is_none_or(|queue| *queue == task.queue)
            && self.name.as_ref().is_none_or(|name| *name == task.name)
            && self.version.is_none_or(|version| version == task.version)
            && self.version_from.is_none_or(|from| task.version >= from)
            && self.version_to.is_none_or(|to| task.version <= to)
            && self.labels.iter().all(|(name, value)| task.metadata.labels.get(name) == Some(value))
            && self.worker.as_ref().is_none_or(|worker| Some(worker) == task.worker.as_ref())
            && self.submitted_after.is_none_or(|from| task.submitted_at >= from)
            && self.submitted_before.is_none_or(|until| task.submitted_at < until)
            && self.finished_after.is_none_or(|from| task.completed_at.is_some_and(|at| at >= from))
            && self.finished_before.is_none_or(|until| task.completed_at.is_some_and(|at| at < until))
    }

    /// Whether the latest error of a task matches. Of a sensitive task, the words of its function never match: a reader who
    /// may not see them must not find them by guessing.
    #[must_use]
    pub fn matches_error(&self, task: &Task, latest: Option<&AttemptError>) -> bool {
        let Some(text) = &self.error else { return true };
        latest.is_some_and(|latest| {
            let is_hidden = task.metadata.is_sensitive() && latest.kind.has_message_of_task();
            let message = if is_hidden { "" } else { latest.message.as_str() };
            message.to_ascii_lowercase().contains(&text.to_ascii_lowercase())
        })
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRequest {
    /// Which tasks.
    pub filter: TaskFilter,
    /// At most this many, 1 to 1,000.
    pub limit: usize,
    /// Where the page before ended; `None` for the first.
    pub cursor: Option<String>,
}

impl ListRequest {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`](super::Error::Invalid).
    pub fn validate(&self) -> Result<()> {
        validate_limit(self.limit)
    }
}

/// The answer to a [`ListRequest`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The tasks, without parameters, result and errors.
    pub tasks: Vec<Task>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

/// When a task last started, and when it was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskTimes {
    /// When its latest attempt was claimed.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
}

/// The place of a ready task in its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePlace {
    /// How many tasks of its queue are claimed before it.
    pub ahead: u64,
    /// How long until the rate of its queue lets a task start; `None` when it does now.
    pub rate_wait: Option<Duration>,
    /// The gates that hold it back: its key's, its name's. These let those behind it pass.
    pub held_back: Vec<ShutGate>,
    /// Of a suspect: the suspects of its queue that are on probation, the first to end it first; at most ten. A worker that
    /// holds as many of them as it may starts no other.
    pub probations: Vec<Probation>,
}

/// A suspect that runs, and until when it holds others back ([`crate::task::suspicion`]).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probation {
    /// When it ends, unless the task ends before.
    pub until: Timestamp,
    /// The task.
    pub id: TaskId,
}

impl Probation {
    /// The probations of running suspects, given with how suspect they are and their starts, that a [`QueuePlace`] names.
    #[must_use]
    pub fn named(running: impl IntoIterator<Item = (TaskId, Suspicion, Timestamp)>, now: Timestamp) -> Vec<Self> {
        let of = |(id, suspicion, started_at): (TaskId, Suspicion, Timestamp)| Self {
            until: started_at.after(suspicion.probation()),
            id,
        };
        let mut probations: Vec<Self> = running.into_iter().map(of).filter(|it| it.until > now).collect();
        probations.sort();
        probations.truncate(MAX_HOLDERS_NAMED);
        probations
    }
}

/// A queue in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueStats {
    /// The queue.
    pub queue: QueueName,
    /// Tasks per status; a status without tasks is absent.
    pub tasks: BTreeMap<Status, u64>,
    /// Suspects among the `submitted` tasks: each was lost with its worker twice or more in a row.
    pub suspects: u64,
    /// When the task that has been `submitted` (ready) longest became so.
    pub oldest_ready_at: Option<Timestamp>,
    /// Tasks ever taken in, a replaced one each time.
    pub accepted: u64,
    /// Tasks deleted since: pruned, purged and replaced. `accepted` = `removed` + the sum of `tasks`, always.
    pub removed: u64,
    /// Bytes of the parameters of the tasks that wait, as counted for its `max_bytes`; `None` without one.
    pub waiting_bytes: Option<u64>,
}

/// A page of the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueListRequest {
    /// Those whose names come after this; `None` for the first page.
    pub after: Option<QueueName>,
    /// At most this many, 1 to 1,000.
    pub limit: usize,
}

/// The answer to a [`QueueListRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueuePage {
    /// The queues, in the order of their names.
    pub queues: Vec<QueueStats>,
    /// After which name the next page begins; `None` at the end.
    pub next: Option<QueueName>,
}

/// The counts of the first queues by name, at most `most`, read page by page.
///
/// # Errors
/// Those of the store.
pub async fn first_queues(engine: &dyn Engine, most: usize) -> Result<Vec<QueueStats>> {
    let (mut queues, mut after) = (Vec::new(), None);
    while queues.len() < most {
        let limit = (most - queues.len()).min(MAX_BATCH);
        let page = engine.list_queues(QueueListRequest { after, limit }).await?;
        queues.extend(page.queues);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(queues)
}

/// What is wrong with a store, for an alert; a warning of [`Health`] says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Some of it can't be read.
    Damaged,
    /// It takes no tasks in.
    Full,
    /// It lacks commits that were acknowledged.
    CommitsMissing,
    /// It does not keep the durability that its address promises.
    DurabilityUnmet,
}

impl Trouble {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Damaged, Self::Full, Self::CommitsMissing, Self::DurabilityUnmet];

    /// Its name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Full => "full",
            Self::CommitsMissing => "commits_missing",
            Self::DurabilityUnmet => "durability_unmet",
        }
    }
}

/// What the store is and what it promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// `sqlite` or `redis`.
    pub engine: &'static str,
    /// The store's absolute address, without a password.
    pub store: String,
    /// What carries it, e.g. `SQLite 3.50.4` or `Valkey 9.1.2 in a Cluster, which moves a slot in one step`.
    pub server: String,
    /// What survives what, in a few words, e.g. `synchronous=FULL`.
    pub durability: String,
    /// Things an operator should mend, e.g. persistence that is off.
    pub warnings: Vec<String>,
    /// Those of them for which an alert fires.
    pub troubles: Vec<Trouble>,
    /// The store's present.
    pub now: Timestamp,
    /// Copies on the outbox: dead letters that no archive has written down yet.
    pub outbox: u64,
    /// Ids of pruned tasks that are still remembered.
    pub tombstones: TombstoneHealth,
}
