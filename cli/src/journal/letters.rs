//! Dead letters and changes in a journal, and on their way into an archive.

use jobbers_archive::{Archive, LetterState, WholeLetter};
use jobbers_common::{
    audit_log::AuditEntry,
    engine::{DeadTask, backup::StoredTask},
    lifecycle::Status,
    payload::Payload,
    task::{AttemptError, Task},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{
    Result,
    report::{EntryOutcome, ImportReport},
    task_line::TaskLine,
};

/// The most letters, and about the most bytes of their payloads, that are stored by one call.
const LETTERS_AT_ONCE: usize = 200;
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;

/// A letter as a line has it.
#[derive(Serialize, Deserialize)]
pub(super) struct LetterLine {
    task: TaskLine,
    state: LetterState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resubmitted_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<AttemptError>,
}

impl LetterLine {
    pub(super) fn of(letter: &WholeLetter) -> Self {
        let WholeLetter { dead, state, resubmitted_at, operation, history } = letter.clone();
        let DeadTask { task, fingerprint } = dead;
        let task = TaskLine::of(&StoredTask { task, fingerprint, position: 0, key: None, parents: Vec::new() });
        Self { task, state, resubmitted_at, operation, history }
    }

    pub(super) fn read(self) -> Result<WholeLetter, String> {
        let Self { task, state, resubmitted_at, operation, history } = self;
        let StoredTask { task, fingerprint, .. } = task.read()?;
        if !matches!(task.status, Status::Failed | Status::Stalled | Status::Dropped) {
            return Err(format!("task {} is {} and no dead letter", task.id, task.status.as_str()));
        }
        Ok(WholeLetter { dead: DeadTask { task, fingerprint }, state, resubmitted_at, operation, history })
    }
}

/// Letters and changes on their way from a journal into an archive.
pub(super) struct LetterImport<'a> {
    /// `None`: both are left out.
    archive: Option<&'a Archive>,
    gathered: Vec<WholeLetter>,
    changes: Vec<AuditEntry>,
    bytes: usize,
}

impl<'a> LetterImport<'a> {
    pub(super) const fn new(archive: Option<&'a Archive>) -> Self {
        Self { archive, gathered: Vec::new(), changes: Vec::new(), bytes: 0 }
    }

    pub(super) fn take(&mut self, letter: WholeLetter, report: &mut ImportReport) -> Result<()> {
        let Task { parameters, checkpoint, .. } = &letter.dead.task;
        self.bytes += [parameters, checkpoint].into_iter().flatten().map(Payload::len).sum::<usize>();
        self.gathered.push(letter);
        if self.gathered.len() >= LETTERS_AT_ONCE || self.bytes >= BYTES_AT_ONCE {
            self.flush(report)?;
        }
        Ok(())
    }

    pub(super) fn take_change(&mut self, change: AuditEntry, report: &mut ImportReport) -> Result<()> {
        self.changes.push(change);
        if self.changes.len() >= LETTERS_AT_ONCE {
            self.flush(report)?;
        }
        Ok(())
    }

    /// Stores what was gathered.
    pub(super) fn flush(&mut self, report: &mut ImportReport) -> Result<()> {
        self.bytes = 0;
        let (letters, changes) = (std::mem::take(&mut self.gathered), std::mem::take(&mut self.changes));
        let Some(archive) = self.archive.filter(|_| !letters.is_empty() || !changes.is_empty()) else { return Ok(()) };
        let stored = archive.put_changes(&changes)?;
        for index in 0..changes.len() as u64 {
            report.note("change", if index < stored { EntryOutcome::Stored } else { EntryOutcome::Already });
        }
        for is_changed in archive.restore(&letters)? {
            report.note("dead_letter", if is_changed { EntryOutcome::Stored } else { EntryOutcome::Already });
        }
        Ok(())
    }
}
