//! Logged changes as the store keeps them, until an archive has them: an outbox, as for dead letters.
//!
//! A change is logged in two steps: before it is carried out, and with its outcome. So a process that dies between leaves
//! a change without an outcome, and none is unlogged. The store reads neither record; [`crate::audit_log`] has their form.

use crate::{
    error::{Error, Result},
    limits::{MAX_BATCH, MAX_LOGGED_BYTES},
    name::ChangeId,
    time::Timestamp,
};

/// A change that waits in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedChange {
    /// Grows in the order in which changes were logged.
    pub number: u64,
    /// Its id.
    pub id: ChangeId,
    /// When it was logged, by the store's clock.
    pub begun_at: Timestamp,
    /// What was logged before it was carried out.
    pub record: String,
    /// Its outcome; `None` while it is not known.
    pub outcome: Option<String>,
}

impl LoggedChange {
    /// What identifies it as it was read.
    #[must_use]
    pub fn key(&self) -> LoggedKey {
        LoggedKey { id: self.id.clone(), has_outcome: self.outcome.is_some() }
    }
}

/// A part of the changes that wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedChanges {
    /// The store's time.
    pub now: Timestamp,
    /// Changes, in the order in which they were logged.
    pub changes: Vec<LoggedChange>,
    /// How many wait altogether.
    pub total: u64,
}

/// A change as an archive read it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoggedKey {
    /// Its id.
    pub id: ChangeId,
    /// Whether it had an outcome then.
    pub has_outcome: bool,
}

/// Checks the size of what is logged.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_record(record: &str) -> Result<()> {
    if record.len() > MAX_LOGGED_BYTES {
        return Err(Error::Invalid(format!("a logged change has at most {MAX_LOGGED_BYTES} bytes")));
    }
    Ok(())
}

/// Checks the bounds of a call that forgets changes.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_forget(keys: &[LoggedKey]) -> Result<()> {
    if keys.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call forgets at most {MAX_BATCH} logged changes")));
    }
    Ok(())
}
