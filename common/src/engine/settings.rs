//! Changes of the configuration: on what condition an entry is stored or deleted.

use crate::{
    error::{Error, Result},
    limits::MAX_BATCH,
    name::QueueName,
    queue::RoleConfig,
};

/// The entry that must exist where a configuration entry is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutMode<T> {
    /// Nothing.
    Create,
    /// An entry with this name.
    Replace,
    /// Either.
    Upsert,
    /// This very entry, as it was read before the change. A change made meanwhile by another caller is not overwritten.
    Unchanged(T),
}

impl<T: PartialEq> PutMode<T> {
    /// Checks the stored entry. `unknown` is the error for a missing one, `what` names the entry, e.g. `queue mail`.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Changed`] and `unknown`.
    pub fn check(&self, stored: Option<&T>, unknown: Error, what: impl FnOnce() -> String) -> Result<()> {
        match (self, stored) {
            (Self::Create, Some(_)) => Err(Error::Exists(what())),
            (Self::Replace | Self::Unchanged(_), None) => Err(unknown),
            (Self::Unchanged(expected), Some(stored)) if stored != expected => Err(Error::Changed(what())),
            _ => Ok(()),
        }
    }
}

/// The condition for deleting a role; by default, that no live worker serves it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteRole {
    /// This very entry must be stored, as it was read. A change made meanwhile by another caller is not overwritten.
    pub expected: Option<RoleConfig>,
    /// Even while live workers serve it.
    pub force: bool,
}

/// Checks the stored entry before a deletion. `unknown` is the error for a missing one, `what` names the entry, e.g.
/// `queue mail`.
///
/// # Errors
/// `unknown`, and [`Error::Changed`] for another entry than the expected one.
pub fn check_deletion<T: PartialEq>(
    expected: Option<&T>,
    stored: Option<&T>,
    unknown: Error,
    what: impl FnOnce() -> String,
) -> Result<()> {
    match (expected, stored) {
        (_, None) => Err(unknown),
        (Some(expected), Some(stored)) if stored != expected => Err(Error::Changed(what())),
        _ => Ok(()),
    }
}

/// Checks the bounds of a creation of queues.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_creation(queues: &[QueueName]) -> Result<()> {
    if queues.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call creates at most {MAX_BATCH} queues")));
    }
    Ok(())
}

/// The progress of the deletion of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone.
    Done,
    /// Finished tasks are left; call again.
    More,
}
