//! The outbox of dead letters, from which the keeper fills the archive.

use async_trait::async_trait;

use crate::engine::{DeadKey, Outbox, Result};

/// The outbox of dead letters.
#[async_trait]
pub trait Letters: Send + Sync {
    /// Up to `limit` copies of the outbox after the revision `after` (0: all), the oldest first; fewer if they are
    /// large, but at least one if any exists. Copies that can't be read are returned separately and do not block
    /// others.
    ///
    /// A task that ends as `failed`, `stalled` or `dropped` and is to be kept is copied in full to the outbox in the
    /// same step. The copy does not change when the task is pruned, replaced or sent again; it stays until it is
    /// [forgotten](crate::engine::Letters::forget_dead_letters). [`Health::outbox`](crate::engine::Health::outbox) counts the copies.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox>;

    /// Deletes copies from the outbox, once an archive has them; their receipts stay. Unknown keys are not an error.
    /// Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat.
    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()>;

    /// Deletes the receipts of copies that were sent again, once an archive has noted that. Unknown keys are not an
    /// error. Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat.
    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()>;
}
