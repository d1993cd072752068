//! Duties that one process holds, such as keeping the archive of dead letters.
//!
//! A duty is a lease of its own: the first process that claims it holds it, renews it by claiming it again in time, and
//! loses it by staying silent. Correctness must not depend on it alone, because a suspended holder may not know that it
//! has lost the duty: it keeps work in one place, while fences and revisions keep it right.

use std::time::Duration;

use crate::{
    error::{Error, Result},
    limits::{MAX_DELAY, MAX_DUTY_NOTE_BYTES},
    name::{DutyName, HolderId},
    time::Timestamp,
};

/// A claim of a duty, new or renewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DutyClaim {
    /// The duty.
    pub duty: DutyName,
    /// The caller; a new id at each start of a process.
    pub holder: HolderId,
    /// What others should know about the holder, e.g. its address; at most 1 KiB.
    pub note: String,
    /// For how long, unless claimed again.
    pub ttl: Duration,
}

impl DutyClaim {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        if self.note.len() > MAX_DUTY_NOTE_BYTES {
            return Err(Error::Invalid(format!("the note of a duty is at most {MAX_DUTY_NOTE_BYTES} bytes")));
        }
        if self.ttl < Duration::from_millis(1) || self.ttl > MAX_DELAY {
            return Err(Error::Invalid("a duty is had for 1ms to 366d".to_owned()));
        }
        Ok(())
    }
}

/// The holder of a duty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    /// The holder.
    pub holder: HolderId,
    /// Its note.
    pub note: String,
    /// Grows by one each time another holder takes over.
    pub term: u64,
    /// When it is free again.
    pub expires_at: Timestamp,
    /// The previous holder's note; only in the answer to the claim that took the duty over.
    pub taken_from: Option<String>,
}
