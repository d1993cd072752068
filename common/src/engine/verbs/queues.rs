//! The queues of a store: their settings, their counts, and whole queues moved or emptied.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    engine::{Deleted, PutMode, QueueListRequest, QueuePage, QueueStats, Result},
    history::{Grain, History},
    name::QueueName,
    queue::{Config, QueueConfig},
};

/// The queues of a store.
#[async_trait]
pub trait Queues: Send + Sync {
    /// Counts of one queue.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue).
    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats>;

    /// The queues and their counts in the order of names, in pages. A queue that exists during the whole walk is listed
    /// exactly once.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage>;

    /// What happened in queues, in the order given: by minute for two hours, or by hour for eight days ([`crate::history`]).
    /// Each move of a task counts in the queue where it happens, in the slot of the store's time, and once. The times
    /// of a batch may all count as that of one of its tasks. A queue that does not exist has no history; a queue that is
    /// deleted loses its own.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound.
    async fn history(&self, queues: &[QueueName], by: Grain) -> Result<History>;

    /// Creates the queues that do not exist, with the default settings: all of them or, on any error, none. Existing
    /// queues and their settings do not change. Queues are not configuration: this raises no version, wakes no worker,
    /// and its cost does not depend on the number of queues.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat.
    async fn create_queues(&self, queues: &[QueueName]) -> Result<()>;

    /// Stores the settings of a queue, and creates the queue if it does not exist. Every change of configuration raises
    /// [`Config::version`] and wakes all workers; storing equal settings changes nothing. A queue without stored
    /// settings has the defaults ([`Config::settings_of`]), with which `mode` compares.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::engine::Error::Exists), [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue) or [`Error::Changed`](crate::engine::Error::Changed) by [`PutMode`]; [`Error::Invalid`](crate::engine::Error::Invalid) by
    /// [`QueueConfig::validate`].
    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>>;

    /// Deletes a queue without live tasks, together with its finished ones: up to 1,000 of these per call. Call again
    /// until the result is [`Deleted::Done`]. With `expected`, each call does so only while the queue has these
    /// settings. Raises [`Config::version`], whether or not settings were stored.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue); then [`Error::Changed`](crate::engine::Error::Changed) if the queue is not as expected; then [`Error::InUse`](crate::engine::Error::InUse) if a
    /// role or a routing rule names it; [`Error::NotEmpty`](crate::engine::Error::NotEmpty).
    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted>;

    /// Deletes up to `limit` tasks of a queue that are waiting, scheduled or submitted; fewer if these have so many dependencies
    /// that one step should not delete them together. Returns how many: 0 once none is left.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue); [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat.
    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64>;

    /// Moves up to `limit` tasks that are waiting, scheduled or submitted to another queue, the next in line first, and
    /// wakes workers. Returns how many. A task keeps everything, including its due time and its place among those of
    /// its priority, as if it had always been in the other queue. It is counted there as accepted, and as removed where
    /// it was; `max_length` and `max_bytes` do not apply.
    ///
    /// # Errors
    /// [`Error::UnknownQueue`](crate::engine::Error::UnknownQueue) for either; [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound, and if both are the same. Safe to repeat.
    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64>;
}
