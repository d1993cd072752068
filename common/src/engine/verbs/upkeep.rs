//! What keeps a store in order: due tasks, expired leases, retention, the check of the store itself.

use async_trait::async_trait;

use crate::engine::{AuditRequest, Audited, Health, PruneRequest, Pruned, Reclaimed, Result};

/// What keeps a store in order.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Moves up to `limit` due scheduled tasks of any queue to their queues, the longest due first, and wakes workers.
    /// Returns how many.
    ///
    /// Times out up to 500 signals from outside that have not come in time ([`crate::dependency::signal`]), the longest due first, and
    /// forgets those that were kept for tasks in vain.
    ///
    /// Continues, by up to 1,000 tasks, counting the bytes of a queue whose `max_bytes` was set while it held tasks;
    /// until that is done, the limit is compared with the bytes counted so far.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat.
    async fn promote_due(&self, limit: usize) -> Result<u64>;

    /// Takes up to `limit` expired leases back, of any queue, and wakes workers. The task keeps its place in the queue
    /// and its attempt number, and its `crashes` grow by one; at `max_crashes` it is failed.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) past a bound. Safe to repeat.
    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed>;

    /// Deletes finished tasks, a bounded number per call; call again with [`Pruned::next`] until that is `None`. A task
    /// whose client chose its id leaves a tombstone ([`Tasks::tombstone`](crate::engine::Tasks::tombstone)).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound, for a filter that names a live status, or for a cursor that this store did
    /// not issue.
    async fn prune(&self, request: PruneRequest) -> Result<Pruned>;

    /// Checks a piece of the store for inconsistencies, and on request repairs what is certain; call again with
    /// [`Audited::next`] until that is `None`. Each piece is read at one moment, so concurrent changes are not
    /// findings, and takes no longer than other verbs. The check of a file's own structure, and the counts of its
    /// queues, take longer and run beside them. A sound store gives no finding.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound, or for a cursor that this store did not issue. Safe to repeat.
    async fn audit(&self, request: AuditRequest) -> Result<Audited>;

    /// Describes the store and its durability; fails if it can't be reached.
    ///
    /// # Errors
    /// Those of the store.
    async fn health(&self) -> Result<Health>;
}
