//! The outbox of the audit log, from which the keeper fills the archive.

use async_trait::async_trait;

use crate::{
    engine::{LoggedChanges, LoggedKey, Result},
    name::ChangeId,
};

/// The outbox of the audit log.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Logs that a change begins, before it is carried out. The store does not read the record. It stays until an archive
    /// has it ([`Self::forget_logged_changes`]). Works on a full store, because a change may be what drains it.
    ///
    /// # Errors
    /// [`Error::AuditLogFull`](crate::engine::Error::AuditLogFull) if [`crate::limits::MAX_LOGGED_CHANGES`] wait for an archive; [`Error::Invalid`](crate::engine::Error::Invalid) beyond a
    /// bound. Safe to repeat: a change that is logged stays as it was logged first.
    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()>;

    /// Logs the outcome of a change that was logged. Returns whether the store knows the change: an archive may have
    /// taken it meanwhile, without an outcome. Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat: the first outcome stays.
    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool>;

    /// Up to `limit` logged changes after a number (0: all), in the order in which they were logged; fewer if they are
    /// large, but at least one if any exists. Also returns how many there are, and the store's time.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges>;

    /// Deletes logged changes, once an archive has them. A change whose outcome was logged after the archive read it
    /// stays. Unknown ids are not an error. Works on a full store.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat.
    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()>;
}
