//! The one table of states and legal moves. Nothing changes a status around it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Predecessors have not all signalled, or signals from outside have not come. The last signal moves it on; a failed
    /// predecessor or a late signal by its policy.
    Waiting,
    /// Its time lies ahead: a delayed submission or a backoff. Time moves it to `submitted`.
    Scheduled,
    /// In its queue. A claim, a cancel or a replacement moves it on.
    Submitted,
    /// A worker holds a lease. A settlement, the lease's end or a cancel moves it on.
    Started,
    /// Over: the task function answered `Ok`; or the task is spontaneous, and its predecessors have ended.
    Completed,
    /// Over: retries or crashes used up, or a fatal error.
    Failed,
    /// Over: it was cancelled.
    Cancelled,
    /// Over: a predecessor was aborted, or the worker said abort.
    Aborted,
    /// Over: no worker could run it for longer than the queue's patience, or it expired before its first attempt.
    Dropped,
    /// Over: no progress heartbeat while its worker lived, and its policy says `stall`.
    Stalled,
}

/// What moves a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// The last predecessor signalled, or the last signal from outside came.
    Signal,
    /// Its time came.
    Promote,
    /// A worker took a lease.
    Claim,
    /// The worker says: done.
    Complete,
    /// The worker says: again, perhaps later.
    Retry,
    /// The worker says: failed for good. Also the end of a waiting task by its edge's policy.
    Fail,
    /// The worker gives it back unharmed: shutdown, or a task it does not know.
    Release,
    /// The lease ended without a word.
    Expire,
    /// It is cancelled, or its worker acknowledges a cancel.
    Cancel,
    /// The worker, a predecessor, or a signal that did not come in time aborts it.
    Abort,
    /// The queue's patience with an unknown task is over, or the task expired.
    Drop,
    /// Its progress heartbeat is overdue and its policy says `stall`.
    Stall,
    /// A new submission takes its place.
    Replace,
    /// An operator sends it again.
    Resubmit,
    /// It receives dependencies before it has started.
    Depend,
}

use Move as M;
use Status as S;

/// Every legal move: `(from, move, to)`. A move that may end in several states has a row for each.
pub const TRANSITIONS: &[(Status, Move, Status)] = &[
    (S::Waiting, M::Signal, S::Submitted),
    (S::Waiting, M::Signal, S::Scheduled),
    (S::Waiting, M::Signal, S::Completed),
    (S::Waiting, M::Fail, S::Failed),
    (S::Waiting, M::Abort, S::Aborted),
    (S::Waiting, M::Cancel, S::Cancelled),
    (S::Waiting, M::Replace, S::Waiting),
    (S::Waiting, M::Replace, S::Scheduled),
    (S::Waiting, M::Replace, S::Submitted),
    (S::Scheduled, M::Promote, S::Submitted),
    (S::Scheduled, M::Depend, S::Waiting),
    (S::Scheduled, M::Cancel, S::Cancelled),
    (S::Scheduled, M::Replace, S::Waiting),
    (S::Scheduled, M::Replace, S::Scheduled),
    (S::Scheduled, M::Replace, S::Submitted),
    (S::Submitted, M::Claim, S::Started),
    (S::Submitted, M::Depend, S::Waiting),
    (S::Submitted, M::Cancel, S::Cancelled),
    (S::Submitted, M::Drop, S::Dropped),
    (S::Submitted, M::Replace, S::Waiting),
    (S::Submitted, M::Replace, S::Scheduled),
    (S::Submitted, M::Replace, S::Submitted),
    (S::Started, M::Complete, S::Completed),
    (S::Started, M::Retry, S::Scheduled),
    (S::Started, M::Retry, S::Submitted),
    (S::Started, M::Fail, S::Failed),
    (S::Started, M::Release, S::Scheduled),
    (S::Started, M::Release, S::Submitted),
    (S::Started, M::Expire, S::Submitted),
    (S::Started, M::Expire, S::Failed),
    (S::Started, M::Cancel, S::Cancelled),
    (S::Started, M::Abort, S::Aborted),
    (S::Started, M::Drop, S::Dropped),
    (S::Started, M::Stall, S::Stalled),
    (S::Completed, M::Replace, S::Waiting),
    (S::Completed, M::Replace, S::Scheduled),
    (S::Completed, M::Replace, S::Submitted),
    (S::Failed, M::Resubmit, S::Submitted),
    (S::Failed, M::Replace, S::Waiting),
    (S::Failed, M::Replace, S::Scheduled),
    (S::Failed, M::Replace, S::Submitted),
    (S::Cancelled, M::Resubmit, S::Submitted),
    (S::Cancelled, M::Replace, S::Waiting),
    (S::Cancelled, M::Replace, S::Scheduled),
    (S::Cancelled, M::Replace, S::Submitted),
    (S::Aborted, M::Resubmit, S::Submitted),
    (S::Aborted, M::Replace, S::Waiting),
    (S::Aborted, M::Replace, S::Scheduled),
    (S::Aborted, M::Replace, S::Submitted),
    (S::Dropped, M::Resubmit, S::Submitted),
    (S::Dropped, M::Replace, S::Waiting),
    (S::Dropped, M::Replace, S::Scheduled),
    (S::Dropped, M::Replace, S::Submitted),
    (S::Stalled, M::Resubmit, S::Submitted),
    (S::Stalled, M::Replace, S::Waiting),
    (S::Stalled, M::Replace, S::Scheduled),
    (S::Stalled, M::Replace, S::Submitted),
];

/// The table by status and move: bit `n` says that the move may lead to the status with code `n`. Engines ask at each
/// move, so it is one look.
const LEGAL: [[u16; Move::COUNT]; Status::ALL.len()] = {
    let mut legal = [[0; Move::COUNT]; Status::ALL.len()];
    let mut row = 0;
    while row < TRANSITIONS.len() {
        let (from, event, to) = TRANSITIONS[row];
        legal[from as usize][event as usize] |= 1 << to as u16;
        row += 1;
    }
    legal
};

/// Whether `event` may take a task from `from` to `to`.
#[must_use]
pub const fn is_legal(from: Status, event: Move, to: Status) -> bool {
    LEGAL[from as usize][event as usize] & (1 << to as u16) != 0
}

impl Move {
    /// How many there are.
    const COUNT: usize = Self::Depend as usize + 1;
}

crate::stored_as_number!(Status);

impl Status {
    /// Every status, in the order of the lifecycle. A status's place here is its stored number and never changes.
    pub const ALL: [Self; 10] = [
        S::Waiting,
        S::Scheduled,
        S::Submitted,
        S::Started,
        S::Completed,
        S::Failed,
        S::Cancelled,
        S::Aborted,
        S::Dropped,
        S::Stalled,
    ];

    /// Whether the task is over.
    #[must_use]
    pub const fn is_finished(self) -> bool {
        !matches!(self, S::Waiting | S::Scheduled | S::Submitted | S::Started)
    }

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            S::Waiting => "waiting",
            S::Scheduled => "scheduled",
            S::Submitted => "submitted",
            S::Started => "started",
            S::Completed => "completed",
            S::Failed => "failed",
            S::Cancelled => "cancelled",
            S::Aborted => "aborted",
            S::Dropped => "dropped",
            S::Stalled => "stalled",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a status; it is one of waiting, scheduled, submitted, started, completed, failed, cancelled, aborted, dropped, stalled"
)]
pub struct UnknownStatus(pub String);

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, UnknownStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownStatus(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_stands_twice() {
        for (i, row) in TRANSITIONS.iter().enumerate() {
            assert!(!TRANSITIONS[..i].contains(row), "{row:?}");
        }
    }

    #[test]
    fn a_finished_task_moves_only_by_resubmit_or_replace() {
        for (from, event, to) in TRANSITIONS.iter().filter(|(from, _, _)| from.is_finished()) {
            assert!(matches!(event, M::Resubmit | M::Replace), "{from} {event:?} {to}");
            assert!(!to.is_finished());
        }
    }

    #[test]
    fn a_completed_task_is_never_resubmitted() {
        assert!(!is_legal(S::Completed, M::Resubmit, S::Submitted));
    }

    #[test]
    fn every_status_can_be_left_or_is_over_and_every_live_one_can_be_cancelled() {
        for status in Status::ALL {
            assert_eq!(!status.is_finished(), is_legal(status, M::Cancel, S::Cancelled), "{status}");
            assert!(TRANSITIONS.iter().any(|(from, _, _)| *from == status), "{status}");
        }
    }

    #[test]
    fn only_started_tasks_are_settled() {
        for (from, event, _) in TRANSITIONS {
            if matches!(event, M::Complete | M::Retry | M::Release | M::Expire | M::Stall) {
                assert_eq!(*from, S::Started);
            }
        }
    }

    #[test]
    fn codes_and_names_read_back() {
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(status));
            assert_eq!(status.as_str().parse(), Ok(status));
        }
        assert_eq!(Status::from_code(10), None);
        assert!("Started".parse::<Status>().is_err());
    }
}
