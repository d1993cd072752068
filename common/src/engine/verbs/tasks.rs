//! The tasks of a store: accepted, looked at, cancelled, sent again, deleted.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    dependency::signal::Signalled,
    engine::{
        Cancelled, ListRequest, Page, Parents, ParentsRequest, QueuePlace, Rescheduled, Resubmit, Resubmitted, Result,
        Submit, Submitted, TaskDeletion, TaskTimes, dependencies::NewDependency,
    },
    lifecycle::Status,
    name::{SignalName, TaskId},
    task::{Start, Task, tombstone::Tombstone},
};

/// The tasks of a store.
#[async_trait]
pub trait Tasks: Send + Sync {
    /// Accepts tasks: all of them or, on any error, none. Returns results in the order given.
    ///
    /// A task with a known id and the same [`crate::task::NewTask::fingerprint`] is answered with the stored task
    /// ([`SubmittedHow::Existing`](crate::engine::SubmittedHow::Existing)), so sending a batch twice is safe. For a submission that chose its id, a pruned
    /// task that is remembered ([`Self::tombstone`]) is answered the same way. For another fingerprint,
    /// [`OnConflict`](crate::engine::OnConflict) decides; then, for a unique key that another task holds ([`crate::task::unique`]), its
    /// [`crate::task::unique::OnDuplicate`]. The tasks of a batch are judged as if each came alone, in their order, so one
    /// may find its key held by another. Wakes workers that wait for these queues.
    ///
    /// A task with dependencies ([`crate::dependency`]) is `waiting` until all of them are signalled. It may name tasks
    /// of the same batch, in any order, stored ones, and pruned ones that are remembered. Predecessors that are over
    /// signal once the whole batch is stored.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue) for the first task whose queue does not exist, before any [`Error::Conflict`](crate::engine::Error::Conflict) and
    /// [`Error::Duplicate`](crate::engine::Error::Duplicate) for the first refused task; then [`Error::UnknownPredecessor`](crate::engine::Error::UnknownPredecessor); and these before
    /// [`Error::QueueFull`](crate::engine::Error::QueueFull) for the first task that exceeds its queue's `max_length`, [`Error::QueueBytesFull`](crate::engine::Error::QueueBytesFull) for its
    /// `max_bytes`, and [`Error::RateLimited`](crate::engine::Error::RateLimited). [`Error::Invalid`](crate::engine::Error::Invalid) for a batch over 1,000, an empty one, one that names
    /// an id twice, or an invalid unique key.
    async fn submit(&self, batch: Submit) -> Result<Vec<Submitted>>;

    /// Adds dependencies between stored tasks ([`crate::engine::dependencies`]): all of them or, on any error, none. Returns
    /// for each whether it is new, in the order given.
    ///
    /// A task that is scheduled or submitted becomes `waiting` again. It keeps its due time, and joins the end of its
    /// queue when it is released. Dependencies that it did not wait for any more do not come back.
    ///
    /// # Errors
    /// [`Error::DependencyRefused`](crate::engine::Error::DependencyRefused) for the first edge, in the order given, that can't be added; then for a task with too
    /// many; then for a circle, or if it takes too long to rule one out. [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to
    /// repeat: an edge that exists stays as it is. If a task has started or ended meanwhile, the repeated call is
    /// refused.
    async fn add_dependencies(&self, edges: &[NewDependency]) -> Result<Vec<bool>>;

    /// The whole task.
    ///
    /// # Errors
    /// Only those of the store.
    async fn get(&self, id: &TaskId) -> Result<Option<Task>>;

    /// The tombstone of a task that was pruned, if its client chose its id ([`crate::task::tombstone`]). `None` while the
    /// task is stored, and after the tombstone has expired.
    ///
    /// # Errors
    /// Only those of the store.
    async fn tombstone(&self, id: &TaskId) -> Result<Option<Tombstone>>;

    /// The status of each of some tasks, in the order given; also of tasks that were pruned and are remembered. `None` for a
    /// task that is neither stored nor remembered.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) past a bound.
    async fn statuses(&self, ids: &[TaskId]) -> Result<Vec<Option<Status>>>;

    /// When each of some tasks last started and when it was over, in the order given. Of a task that was pruned and is
    /// remembered only the end is known; of one that is neither stored nor remembered, nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) past a bound.
    async fn times(&self, ids: &[TaskId]) -> Result<Vec<TaskTimes>>;

    /// Predecessors of a task, and their results ([`parents`](crate::engine::parents)). A task holds the results of its predecessors from its
    /// submission until it is over.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn parents(&self, request: ParentsRequest) -> Result<Parents>;

    /// Tasks that match a filter, in pages, without parameters, results and errors.
    ///
    /// In sections: `started` (oldest claim first), `submitted` (in the order of claiming), `scheduled` (next due
    /// first), `waiting`, each of these queue by queue in the order of names; then finished tasks, the latest first
    /// over all queues. A task that matches and stays in its section during the whole walk is listed exactly once. A
    /// page may hold fewer than `limit` tasks, even none, and still have a next page.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000, or a cursor that this store did not issue.
    async fn list(&self, request: ListRequest) -> Result<Page>;

    /// The place of a `submitted` task in its queue; `None` for any other.
    ///
    /// # Errors
    /// Only those of the store.
    async fn place(&self, id: &TaskId) -> Result<Option<QueuePlace>>;

    /// Cancels tasks. A waiting, scheduled or submitted one is `cancelled` at once. A running one is marked, durably,
    /// and its worker woken: any settlement afterwards, and even the end of its lease, makes it `cancelled`. The mark
    /// itself is no change: the task's revision and fence stay. Returns results in the order given. Safe to repeat.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound.
    async fn cancel(&self, ids: &[TaskId]) -> Result<Vec<Cancelled>>;

    /// Makes tasks that are `failed`, `dropped`, `stalled`, `aborted` or `cancelled` `submitted` again, under the same
    /// id: at the end of their priority, due now, with their checkpoint; their list of errors continues. Each is
    /// answered independently, in the order given. Wakes workers.
    ///
    /// A task that moves to another queue is counted there as accepted, and as removed where it was. A task that is
    /// created again from its copy is counted as accepted. A task with a unique key takes it again, for its whole span,
    /// unless another task holds it ([`Resubmitted::Held`]). A task of a workflow's run makes the run due
    /// ([`Workflows::due_workflows`](crate::engine::Workflows::due_workflows)).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat: a task that was sent again is then [`Resubmitted::Already`]
    /// or [`Resubmitted::Live`].
    async fn resubmit(&self, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>>;

    /// Gives scheduled tasks another time from which they may start, whether they wait for their first attempt or for the next
    /// one. Those whose time has come by then are `submitted` at once, at the end of their priority, and workers are woken.
    /// Returns results in the order given; a task that is named twice is moved twice.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat: a task that was submitted is then
    /// [`Rescheduled::NotScheduled`].
    async fn reschedule(&self, ids: &[TaskId], start: Start) -> Result<Vec<Rescheduled>>;

    /// Sends a signal from outside to a task ([`crate::dependency::signal`]). If that was the last that the task waited for, it is
    /// released, and workers are woken. If the task does not exist and was not pruned, the signal is kept for it, for `keep`
    /// at most, which is up to a day; without `keep` it is not.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a `keep` out of bounds. Safe to repeat: a signal that came is then [`Signalled::Already`].
    async fn signal(&self, id: &TaskId, name: &SignalName, keep: Option<Duration>) -> Result<Signalled>;

    /// Deletes tasks by their ids, unless they run. The ids are free again. An edge from a task that is deleted before its
    /// end is removed and does not count any more. With `cascade` a task whose last open edge is removed so is deleted too,
    /// and so on; else it is released. What the end of a finished task has done stays. Returns results in the order given; a
    /// task that went with an earlier one is unknown. Many tasks are deleted in pieces, each whole; past a bounded number of
    /// edges, the claims and ticks that follow remove the rest.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat: what was deleted is then unknown.
    async fn delete_tasks(&self, ids: &[TaskId], cascade: bool) -> Result<Vec<TaskDeletion>>;
}
