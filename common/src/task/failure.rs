//! Why an attempt did not complete, as workers say it and as tasks remember it.

use serde::{Deserialize, Serialize};

use crate::{
    limits::MAX_ERROR_BYTES, name::WorkerId, policy::error_kind::ErrorKind, time::Timestamp, values::text::cut,
};

/// Why an attempt did not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// The task function answered an error that may be retried.
    Error,
    /// It answered an error that may not.
    Fatal,
    /// It ran longer than its timeout.
    Timeout,
    /// It panicked.
    Panic,
    /// Its worker vanished: the lease ended without a word.
    Crash,
    /// A stopping worker interrupted it.
    Shutdown,
    /// It was cancelled.
    Cancelled,
    /// Its progress heartbeat was overdue while its worker lived.
    Stall,
    /// No worker that was offered it knew its name and version, for longer than its queue's patience.
    Unknown,
    /// No worker leased it before it expired.
    Expired,
}

impl FailureKind {
    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Fatal => "fatal",
            Self::Timeout => "timeout",
            Self::Panic => "panic",
            Self::Crash => "crash",
            Self::Shutdown => "shutdown",
            Self::Cancelled => "cancelled",
            Self::Stall => "stall",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
        }
    }

    /// Whether its message is the task function's own, so that it may hold what the task is given. All other messages are
    /// Jobbers' own words.
    #[must_use]
    pub const fn has_message_of_task(self) -> bool {
        matches!(self, Self::Error | Self::Fatal | Self::Panic)
    }
}

/// What a worker says about an attempt that did not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFailure {
    /// The kind.
    pub kind: FailureKind,
    /// What sort of error it was, if the task function said so.
    pub error_kind: Option<ErrorKind>,
    /// The message, at most 4 KiB.
    pub message: String,
}

impl AttemptFailure {
    /// A failure; a message over 4 KiB is cut at a character and ends in `…`.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, error_kind: None, message: cut(message.into(), MAX_ERROR_BYTES) }
    }

    /// The failure of a task that is given back at its last try.
    #[must_use]
    pub fn given_back_at_last_try() -> Self {
        Self::new(FailureKind::Fatal, "given back at its last try")
    }

    /// The failure of a task that a worker asked for too late.
    #[must_use]
    pub fn expired() -> Self {
        Self::new(FailureKind::Expired, "expired before its first attempt began")
    }

    /// The same, of this sort of error.
    #[must_use]
    pub fn of(self, error_kind: Option<ErrorKind>) -> Self {
        Self { error_kind, ..self }
    }
}

/// One failed attempt in a task's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptError {
    /// When the store learned of it.
    pub at: Timestamp,
    /// Which attempt, 1 for the first.
    pub attempt: u32,
    /// The worker that ran it.
    pub worker: WorkerId,
    /// Its kind.
    pub kind: FailureKind,
    /// What sort of error it was, if the task function said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<ErrorKind>,
    /// Its message.
    pub message: String,
}

impl AttemptError {
    /// The same for readers from whom the task's content is hidden: without a message of the task function.
    #[must_use]
    pub fn hidden(&self) -> Self {
        let message = if self.kind.has_message_of_task() { String::new() } else { self.message.clone() };
        Self { message, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_is_cut_at_a_character() {
        let failure = AttemptFailure::new(FailureKind::Error, "ä".repeat(4_000));
        assert!(failure.message.len() <= MAX_ERROR_BYTES && failure.message.ends_with('…'));
    }
}
