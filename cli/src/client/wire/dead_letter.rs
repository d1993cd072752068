//! Dead letters, and what is done with them.

use jiff::Timestamp;
use serde::Deserialize;

use super::{AttemptError, Page, Task};

/// A dead letter.
#[derive(Debug, Deserialize)]
pub struct DeadLetter {
    /// The task.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// The task's name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// How it ended.
    pub status: String,
    /// When.
    pub failed_at: Timestamp,
    /// After how many attempts.
    pub attempt: u32,
    /// Its last error.
    pub error: String,
    /// Its state.
    pub state: String,
    /// When it was sent again.
    pub resubmitted_at: Option<Timestamp>,
    /// By which operation.
    pub operation: Option<String>,
}

/// A page of dead letters.
#[derive(Debug, Deserialize)]
pub struct DeadLetterPage {
    /// The letters.
    pub dead_letters: Vec<DeadLetter>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl Page for DeadLetterPage {
    type Item = DeadLetter;

    fn turned(self) -> (Vec<DeadLetter>, Option<String>) {
        (self.dead_letters, self.next_cursor)
    }
}

/// A dead letter with its task.
#[derive(Debug, Deserialize)]
pub struct WholeDeadLetter {
    /// The letter.
    #[serde(flatten)]
    pub entry: DeadLetter,
    /// The task.
    pub task: Task,
}

/// Every failure of a task.
#[derive(Debug, Deserialize)]
pub struct FailureHistory {
    /// The oldest first.
    pub failures: Vec<AttemptError>,
}

/// Dead letters by cause.
#[derive(Debug, Deserialize)]
pub struct DeadLetterStats {
    /// The largest group first.
    pub groups: Vec<DeadLetterGroup>,
}

/// Dead letters of one cause.
#[derive(Debug, Deserialize)]
pub struct DeadLetterGroup {
    /// Their queue.
    pub queue: String,
    /// Their task.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// What their errors have in common.
    pub fingerprint: String,
    /// How many.
    pub count: u64,
    /// When the first failed.
    pub first_seen: Timestamp,
    /// When the last failed.
    pub last_seen: Timestamp,
}

/// What a change of dead letters would do, or did.
#[derive(Debug, Deserialize)]
pub struct DeadLetterChange {
    /// How many match.
    pub matched: u64,
    /// How many are, or would be, changed.
    pub changed: u64,
}

/// An operation that sends dead letters again.
#[derive(Debug, Deserialize)]
pub struct ResubmitOperation {
    /// Its id.
    pub id: String,
    /// `running`, `cancelling`, `cancelled` or `done`.
    pub state: String,
    /// When it began.
    pub created_at: Timestamp,
    /// How many tasks it has.
    pub total: u64,
    /// How many are not sent yet.
    pub pending: u64,
    /// How many were sent again.
    pub resubmitted: u64,
    /// The outcomes of its tasks, as far as the answer has them; lists have none.
    #[serde(default)]
    pub tasks: Vec<ResubmittedTask>,
}

/// A page of operations.
#[derive(Debug, Deserialize)]
pub struct ResubmitOperationPage {
    /// The operations, the latest first.
    pub operations: Vec<ResubmitOperation>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl Page for ResubmitOperationPage {
    type Item = ResubmitOperation;

    fn turned(self) -> (Vec<ResubmitOperation>, Option<String>) {
        (self.operations, self.next_cursor)
    }
}

/// A task of an operation.
#[derive(Debug, Deserialize)]
pub struct ResubmittedTask {
    /// The task.
    pub id: String,
    /// Its outcome.
    pub outcome: String,
    /// Details.
    pub detail: Option<String>,
}
