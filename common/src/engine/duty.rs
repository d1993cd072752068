//! Duties that one process at a time has, such as keeping the archive of dead letters.
//!
//! A duty is a lease of its own: whoever claims it first has it, keeps it by claiming it again in time, and loses it by
//! falling silent. Nothing that must be correct may rest on it alone, for a holder that was suspended may not know that
//! it is one no longer: it keeps work in one place, while fences and revisions keep it right.

use std::time::Duration;

use crate::{
    engine::{Error, Result},
    limits::{MAX_DELAY, MAX_DUTY_NOTE_BYTES},
    name::{DutyName, HolderId},
    time::Timestamp,
};

/// The wish to have a duty, or to keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DutyClaim {
    /// Which.
    pub duty: DutyName,
    /// Who asks; new at each start of a process.
    pub holder: HolderId,
    /// What others shall know of the holder, e.g. its address; at most 1 KiB.
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

/// Who has a duty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    /// The holder.
    pub holder: HolderId,
    /// What it said of itself.
    pub note: String,
    /// Grows by one each time another holder takes over.
    pub term: u64,
    /// When it is free again.
    pub expires_at: Timestamp,
    /// What the holder before had said of itself: only in the answer to the very claim that took the duty over from it.
    pub taken_from: Option<String>,
}
