//! Whole tasks out of one store and into another, for backups and for moving between engines.
//!
//! A task keeps its revision and its position, so a queue keeps its order whatever the order of the restoring, and a dead
//! letter still finds its task. Both engines number with the same clock, so what a store gives out later is greater.
//! Restoring comes in two rounds: [`Backup::restore`] stores tasks, and once all of them are stored, [`Backup::link`]
//! gives those that wait their edges. Both may be repeated from the start at any time.

use std::collections::HashSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    dependency::Dependency,
    engine::{
        boards::{
            Commit, Create,
            task::{BoardTask, When},
        },
        halves,
        workflows::validate_ids,
    },
    error::{Error, Result},
    lifecycle::Status,
    limits::{
        MAX_BATCH, MAX_BATCH_DEPENDENCIES, MAX_DEPENDENCIES, MAX_ERRORS_KEPT, MAX_RESTORED_REVISION, MAX_SIGNALS,
    },
    name::{BoardName, QueueName, TaskId},
    payload::Payload,
    task::{Task, suspicion::Suspicion},
    time::Timestamp,
};

/// A store that gives whole tasks out and takes them in. Both engines are one, under the law of `conformance::backup`.
#[async_trait]
pub trait Backup: Send + Sync + std::fmt::Debug {
    /// Does what earlier steps left of edges: ends are signalled, edges stored, held results let go. Before a whole store is
    /// dumped: what is left is not part of any task, and a store that takes the tasks in could not know of it.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn settle_edges(&self) -> Result<()>;

    /// All that is stored of some tasks, in the order asked; `None` for those that do not exist.
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than [`MAX_BATCH`].
    async fn dump(&self, ids: &[TaskId]) -> Result<Vec<Option<StoredTask>>>;

    /// Stores tasks that another store held, or this one earlier. Each is answered independently, in the order given, and
    /// counts as accepted; limits of its queue do not apply. A task keeps its status, its revision, its place in its queue
    /// and its unique key. One that ran becomes ready again, as [`StoredTask::at_rest`] says. One that waits has no edges
    /// until [`Backup::link`]. Wakes workers.
    ///
    /// # Errors
    /// [`Error::Invalid`] by [`validate_restore`]. Safe to repeat: a task that is stored is [`Restored::Already`].
    async fn restore(&self, tasks: Vec<StoredTask>) -> Result<Vec<Restored>>;

    /// Gives restored tasks that wait the edges they still had. A predecessor that is over signals at once, by its end;
    /// one that is neither stored nor remembered counts as cancelled. Passes over a task that no longer waits, or has edges.
    /// Returns how many tasks it linked.
    ///
    /// # Errors
    /// [`Error::Invalid`] by [`validate_link`]. Safe to repeat.
    async fn link(&self, tasks: Vec<Edges>) -> Result<u64>;

    /// The marks under which commits to a board were applied ([`super::boards::Commit::once`]), in their order.
    ///
    /// # Errors
    /// Only those of the store.
    async fn board_marks(&self, board: &BoardName) -> Result<Vec<String>>;

    /// Stores tasks of a board under the revisions they had, adds its marks, and raises its counter, so that no revision is
    /// given twice. Each task is answered independently, in the order given: one that is stored exactly so is
    /// [`Restored::Already`], and another one under its revision is [`Restored::Conflict`]. Wakes callers that wait for
    /// its groups.
    ///
    /// # Errors
    /// [`Error::Invalid`] by [`BoardPiece::validate`]. Safe to repeat.
    async fn restore_board(&self, piece: BoardPiece) -> Result<Vec<Restored>>;
}

/// All that a store holds of a task. Journals keep it, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTask {
    /// The task, with all the edges that it still waits for.
    pub task: Task,
    /// Its submission's [`crate::task::NewTask::fingerprint`].
    #[serde(with = "halves")]
    pub fingerprint: u128,
    /// Its place among the tasks of its priority; 0 for one that is scheduled or over.
    #[serde(default)]
    pub position: u64,
    /// Whether it was the last to take its unique key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<TakenKey>,
    /// The tasks whose results it holds ([`super::parents`]): none once it is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<TaskId>,
}

/// What a store knows of a unique key, besides the task that took it last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenKey {
    /// Until when that task holds it; `None`: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The latest submission that the task has become, if it has become another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub became: Option<SubmissionRecord>,
}

/// A submission by its id and its fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionRecord {
    /// Its id.
    pub id: TaskId,
    /// Its fingerprint.
    #[serde(with = "halves")]
    pub fingerprint: u128,
}

/// Some tasks of a board, and what is known of it besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardPiece {
    /// Which board. Made on demand.
    pub board: BoardName,
    /// What its counter is at least; 0 where only its tasks raise it.
    pub revision: u64,
    /// Marks of its commits.
    pub marks: Vec<String>,
    /// Tasks under the revisions they had.
    pub tasks: Vec<BoardTask>,
}

impl BoardPiece {
    /// What the board's counter is at least, once this is stored.
    #[must_use]
    pub fn counter(&self) -> u64 {
        self.tasks.iter().map(|task| task.revision).max().unwrap_or(0).max(self.revision)
    }

    /// Checks what every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a revision that no board gives out or that is named twice, more than 1,000 marks, or what a
    /// commit that creates these tasks is refused for.
    pub fn validate(&self) -> Result<()> {
        let mut seen = HashSet::with_capacity(self.tasks.len());
        if self.tasks.iter().any(|task| task.revision == 0 || !seen.insert(task.revision)) {
            return Err(Error::Invalid("each task of a board has a revision of its own, from 1".to_owned()));
        }
        if self.counter() > MAX_RESTORED_REVISION || self.marks.len() > MAX_BATCH || self.tasks.len() > MAX_BATCH {
            let rule =
                format!("a call restores at most {MAX_BATCH} tasks and marks, of revisions that boards give out");
            return Err(Error::Invalid(rule));
        }
        let create = |task: &BoardTask| Create {
            group: task.group.clone(),
            at: When::At(task.at),
            content: task.content.clone(),
        };
        let create = self.tasks.iter().map(create).collect();
        Commit { create, ..Commit::new(self.board.clone(), 0) }.validate()
    }
}

/// The result for a task that was to be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It is stored.
    Done,
    /// It is stored already, or was pruned and is remembered: the same submission, whatever became of it. Nothing changed.
    Already,
    /// Another submission has its id. Nothing changed.
    Conflict,
    /// Another task, this one, holds its unique key. Nothing changed.
    Held(TaskId),
    /// Its queue does not exist. Nothing changed.
    UnknownQueue(QueueName),
}

/// The edges that a task still waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edges {
    /// The task.
    pub id: TaskId,
    /// Its edges: all those that are not signalled.
    pub waits_for: Vec<Dependency>,
}

impl StoredTask {
    /// The task as it is restored. One that ran is ready at its old place, like one whose lease was lost, and is not
    /// blamed for it; if its cancel was requested, it is cancelled as of its start.
    #[must_use]
    pub fn at_rest(mut self) -> Self {
        let task = &mut self.task;
        if task.status == Status::Started {
            task.lease = None;
            if task.cancel_requested {
                task.status = Status::Cancelled;
                task.completed_at = Some(task.started_at.unwrap_or(task.ready_at));
                task.suspicion = Suspicion::NONE;
                self.position = 0;
                self.parents.clear();
            } else {
                task.status = Status::Submitted;
                task.attempt = task.attempt.saturating_sub(1);
                task.crashes += 1;
                (task.heartbeat_at, task.progress) = (None, None);
            }
            task.cancel_requested = false;
        }
        self
    }

    /// Its place among the tasks of its priority, as a store keeps it: for one without a place its revision.
    #[must_use]
    pub const fn place(&self) -> u64 {
        if self.position == 0 { self.task.revision } else { self.position }
    }

    /// Its edges, if it waits for other tasks.
    #[must_use]
    pub fn edges(&self) -> Option<Edges> {
        let dependencies = self.task.dependencies.as_ref().filter(|_| self.task.status == Status::Waiting)?;
        (!dependencies.waits_for.is_empty())
            .then(|| Edges { id: self.task.id.clone(), waits_for: dependencies.waits_for.clone() })
    }

    /// Whether it holds its unique key at a time, if no other task has taken that since.
    #[must_use]
    pub fn holds_key(&self, now: Timestamp) -> bool {
        let is_held_by = |status| self.task.unique.as_ref().is_some_and(|unique| unique.statuses.contains(status));
        let lasts = |key: &TakenKey| key.until.is_none_or(|until| until > now);
        self.key.as_ref().is_some_and(lasts) && is_held_by(self.task.status)
    }

    /// Checks that it can be restored.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn validate(&self) -> Result<(), String> {
        let Task { id, status, parameters, completed_at, errors, dependencies, unique, .. } = &self.task;
        let refuse = |what: &str| Err(format!("task {id} {what}"));
        if self.task.revision == 0 || self.task.revision.max(self.position) > MAX_RESTORED_REVISION {
            return refuse("has a revision or a position that no store gave out");
        }
        if parameters.is_none() && *status != Status::Completed {
            return refuse("has no parameters, and did not complete");
        }
        if *status == Status::Completed && parameters.as_ref().is_some_and(Payload::is_empty) {
            return refuse("completed, and keeps parameters of no bytes");
        }
        if completed_at.is_some() != status.is_finished() {
            return refuse("has a time of its end if and only if it is over");
        }
        if !self.times().all(|at| (0..=LAST_TIME).contains(&at.as_micros())) {
            return refuse("has a time that no store holds");
        }
        if errors.len() > MAX_ERRORS_KEPT {
            return refuse("has more errors than a store keeps");
        }
        if self.key.is_some() && unique.is_none() {
            return refuse("has taken a unique key, and names none");
        }
        let distinct: HashSet<&TaskId> = self.parents.iter().collect();
        if self.parents.len() > MAX_DEPENDENCIES || distinct.len() < self.parents.len() {
            return refuse("has a predecessor twice, or too many");
        }
        if let Some(error) = unique.as_ref().and_then(|unique| unique.validate().err()) {
            return Err(format!("task {id}: {error}"));
        }
        let open = dependencies.as_ref().map_or(0, |it| it.total.saturating_sub(it.signals)) as usize;
        let (edges, external) = (self.edges(), dependencies.as_ref().map_or(0, |it| it.open_signals()));
        let waits = *status == Status::Waiting;
        match &edges {
            None if waits && external == 0 => return refuse("waits for no other task and no signal"),
            edges if waits && edges.as_ref().map_or(0, |it| it.waits_for.len()) + external != open => {
                return refuse("waits for another number of tasks and signals than it counts");
            }
            _ if !waits && external > 0 => return refuse("has a signal to wait for, and does not wait"),
            _ => {}
        }
        let names: HashSet<_> = dependencies.iter().flat_map(|it| &it.external).map(|signal| &signal.name).collect();
        let count = dependencies.as_ref().map_or(0, |it| it.external.len());
        if names.len() < count || count > MAX_SIGNALS {
            return refuse("has more signals than a task can have, or one of them twice");
        }
        edges.map_or(Ok(()), |edges| edges.validate())
    }

    fn times(&self) -> impl Iterator<Item = Timestamp> {
        let Task { submitted_at, ready_at, started_at, heartbeat_at, completed_at, .. } = &self.task;
        [Some(*submitted_at), Some(*ready_at), *started_at, *heartbeat_at, *completed_at].into_iter().flatten()
    }
}

/// The latest time that every store holds exactly, in microseconds: in the year 2255.
const LAST_TIME: i64 = 9_000_000_000_000_000;

impl Edges {
    fn validate(&self) -> Result<(), String> {
        let distinct: HashSet<&TaskId> = self.waits_for.iter().map(|edge| &edge.on).collect();
        if distinct.is_empty() || distinct.len() > MAX_DEPENDENCIES {
            return Err(format!("task {} waits for 1 to {MAX_DEPENDENCIES} tasks", self.id));
        }
        if distinct.len() < self.waits_for.len() || distinct.contains(&self.id) {
            return Err(format!("task {} waits for a task twice, or for itself", self.id));
        }
        Ok(())
    }
}

/// Checks the bounds of a call that reads whole tasks.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_dump(ids: &[TaskId]) -> Result<()> {
    validate_ids(ids)
}

/// Checks what every engine holds to.
///
/// # Errors
/// [`Error::Invalid`] for more than 1,000 tasks, one named twice, or by [`StoredTask::validate`].
pub fn validate_restore(tasks: &[StoredTask]) -> Result<()> {
    if tasks.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call restores at most {MAX_BATCH} tasks")));
    }
    let mut seen = HashSet::with_capacity(tasks.len());
    match tasks.iter().find(|stored| !seen.insert(&stored.task.id)) {
        Some(twice) => Err(Error::Invalid(format!("task {} is restored twice in one call", twice.task.id))),
        None => tasks.iter().try_for_each(|stored| stored.validate().map_err(Error::Invalid)),
    }
}

/// Checks what every engine holds to.
///
/// # Errors
/// [`Error::Invalid`] for more than 1,000 tasks or 5,000 edges, or edges that no task can have.
pub fn validate_link(tasks: &[Edges]) -> Result<()> {
    let edges: usize = tasks.iter().map(|task| task.waits_for.len()).sum();
    if tasks.len() > MAX_BATCH || edges > MAX_BATCH_DEPENDENCIES {
        let rule = format!("a call links at most {MAX_BATCH} tasks by {MAX_BATCH_DEPENDENCIES} edges");
        return Err(Error::Invalid(rule));
    }
    tasks.iter().try_for_each(|task| task.validate().map_err(Error::Invalid))
}
