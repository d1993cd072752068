//! Duties that one process at a time has, as keeping the archive.

use async_trait::async_trait;

use crate::{
    engine::{Duty, DutyClaim, Result},
    name::{DutyName, HolderId},
};

/// Duties that one process at a time has.
#[async_trait]
pub trait Duties: Send + Sync {
    /// Takes a duty that is free or expired, or renews the caller's. Returns the present holder, which may be another;
    /// a new holder also receives the previous holder's note.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond a bound. Safe to repeat; the previous holder's note is then not returned again.
    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty>;

    /// The holder of a duty; `None` if it is free.
    ///
    /// # Errors
    /// Only those of the store.
    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>>;

    /// Gives a duty back. Not an error if the caller does not hold it.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()>;
}
