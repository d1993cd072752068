//! The pieces of an audit, what each found, and how that is repaired.

use jobbers_common::engine::{Audited, Finding, Flaw};

use crate::sqlite::{kernel::view::View, sql};

/// The side tables of tasks: name, the statement that checks them, and the one that deletes an entry. What
/// holds predecessors is checked once more: its tasks must not be over, else the predecessors are released.
pub(super) const BESIDE: [(&str, &str, &str); 14] = [
    ("large_parameters", sql::AUDIT_LARGE_PARAMETERS, sql::DELETE_LARGE_PARAMETERS),
    ("checkpoint", sql::AUDIT_CHECKPOINTS, sql::DELETE_CHECKPOINT),
    ("failure", sql::AUDIT_FAILURES, sql::DELETE_FAILURES),
    ("stranger", sql::AUDIT_UNKNOWN_TASKS, sql::FORGET_UNKNOWN_TASK),
    ("uniqueness", sql::AUDIT_UNIQUENESS, sql::DELETE_UNIQUENESS),
    ("unique_key", sql::AUDIT_UNIQUE_KEYS, sql::DELETE_UNIQUE_KEYS),
    ("weight", sql::AUDIT_WEIGHTS, sql::DELETE_WEIGHT),
    ("dependency", sql::AUDIT_DEPENDENCIES, sql::DELETE_DEPENDENCIES),
    ("dependent", sql::AUDIT_DEPENDENTS, sql::DELETE_DEPENDENTS),
    ("external_signal", sql::AUDIT_SIGNALS, sql::DELETE_SIGNALS),
    ("parent", sql::AUDIT_PARENTS, sql::DELETE_PARENTS),
    ("holder", sql::AUDIT_HOLDERS, sql::RELEASE_PARENTS),
    ("held_result", sql::AUDIT_HELD_RESULTS, sql::DELETE_HELD_RESULT),
    ("board_label", sql::AUDIT_BOARD_LABELS, sql::DELETE_BOARD_LABELS),
];

/// The prefix of a cursor once the file is known to be damaged.
pub(super) const DAMAGED: &str = "damaged|";

/// The part that one call checks, and where it continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuditPiece {
    /// The table after the one of this name.
    File(String),
    /// Tasks after this key.
    Tasks(i64),
    /// Entries of a table of [`BESIDE`], of tasks after this key.
    Beside(usize, i64),
    /// Gates of this queue after the one of this name, or of the next queue that has any.
    Gates(i64, String),
    /// The queue after the one of this key.
    Counts(i64),
    /// Tasks of boards after this key.
    BoardTasks(i64),
    /// The board after the one of this key.
    Boards(i64),
}

impl AuditPiece {
    pub(super) const START: Self = Self::File(String::new());

    pub(super) fn write(&self) -> String {
        match self {
            Self::File(table) => format!("file|{table}"),
            Self::Tasks(key) => format!("tasks|{key}"),
            Self::Beside(place, key) => format!("{}|{key}", BESIDE[*place].0),
            Self::Gates(queue, gate) => format!("gates|{queue}|{gate}"),
            Self::Counts(key) => format!("counts|{key}"),
            Self::BoardTasks(key) => format!("board_tasks|{key}"),
            Self::Boards(key) => format!("boards|{key}"),
        }
    }

    pub(super) fn read(cursor: &str) -> Option<Self> {
        let (what, after) = cursor.split_once('|')?;
        let key = || after.parse().ok();
        match what {
            "file" => Some(Self::File(after.to_owned())),
            "tasks" => Some(Self::Tasks(key()?)),
            "counts" => Some(Self::Counts(key()?)),
            "board_tasks" => Some(Self::BoardTasks(key()?)),
            "boards" => Some(Self::Boards(key()?)),
            "gates" => {
                let (queue, gate) = after.split_once('|')?;
                Some(Self::Gates(queue.parse().ok()?, gate.to_owned()))
            }
            table => Some(Self::Beside(BESIDE.iter().position(|(known, ..)| *known == table)?, key()?)),
        }
    }

    /// The subject of the piece.
    pub(super) fn subject(&self) -> &str {
        match self {
            Self::File(_) => "file",
            Self::Tasks(_) => "task",
            Self::Beside(place, _) => BESIDE[*place].0,
            Self::Gates(..) => "gate",
            Self::Counts(_) => "tally",
            Self::BoardTasks(_) => "board_task",
            Self::Boards(_) => "board",
        }
    }

    /// Where to continue if the rest of this piece can't be read.
    pub(super) fn skipped(&self, view: &View<'_>) -> Option<Self> {
        match self {
            Self::File(_) => Some(Self::Tasks(0)),
            Self::Tasks(_) => Some(Self::Beside(0, 0)),
            Self::Beside(place, _) if place + 1 < BESIDE.len() => Some(Self::Beside(place + 1, 0)),
            Self::Beside(..) => Some(Self::Gates(0, String::new())),
            Self::Gates(queue, _) => {
                // A queue that can't be read ends the walk over queues.
                let next = view.next_queue(*queue).unwrap_or_default();
                Some(next.map_or(Self::Counts(0), |(next, _)| Self::Gates(next, String::new())))
            }
            Self::Counts(after) => {
                let next = view.next_queue(*after).unwrap_or_default();
                Some(next.map_or(Self::BoardTasks(0), |(queue, _)| Self::Counts(queue)))
            }
            Self::BoardTasks(_) => Some(Self::Boards(0)),
            // A board that can't be read ends the walk over boards.
            Self::Boards(_) => None,
        }
    }
}

/// How a finding is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mend {
    /// Delete the entry of a table of [`BESIDE`] for this task.
    Delete(usize, i64),
    /// Make claims look at the gates of a queue again.
    LookAnew(i64),
    /// Count the tasks of a queue again.
    Recount(i64),
    /// Count the bytes that wait in a queue again.
    RecountBytes(i64),
    /// Make the chores look at a queue.
    LookForDue(i64),
    /// Signal the finished predecessors of a waiting task.
    Signal(i64),
    /// Store the labels again by which a task of a board is found.
    Relabel(i64),
    /// Count the tasks of a board again.
    CountBoard(i64),
    /// Rebuild the indexes of `task`.
    Reindex,
}

/// A checked piece: the findings, and how each is repaired if it can be.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckedPiece {
    pub(crate) looked_at: u64,
    pub(super) findings: Vec<(Finding, Option<Mend>)>,
    pub(crate) next: Option<AuditPiece>,
    /// Pages of the file were found damaged, now or earlier in this audit.
    pub(super) is_damaged: bool,
}

impl CheckedPiece {
    /// Notes what does not agree.
    pub(crate) fn note(
        &mut self,
        flaw: Flaw,
        subject: impl Into<String>,
        detail: impl Into<String>,
        mend: Option<Mend>,
    ) {
        let finding = Finding { flaw, subject: subject.into(), detail: detail.into(), repaired: false };
        self.findings.push((finding, mend));
    }

    /// Notes a problem of the file itself.
    pub(super) fn note_damage(&mut self, subject: &str, detail: impl Into<String>) {
        self.note(Flaw::FileDamaged, subject, detail, None);
        self.is_damaged = true;
    }

    /// Whether any finding can be repaired.
    pub(crate) fn can_be_mended(&self) -> bool {
        !self.is_damaged && self.findings.iter().any(|(_, mend)| mend.is_some())
    }

    pub(crate) fn into_audited(self) -> Audited {
        Audited {
            looked_at: self.looked_at,
            findings: self.findings.into_iter().map(|(finding, _)| finding).collect(),
            next: self.next.map(|piece| format!("{}{}", if self.is_damaged { DAMAGED } else { "" }, piece.write())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_says_where_to_go_on() {
        let beside = (0..BESIDE.len()).map(|place| AuditPiece::Beside(place, 7));
        for piece in [
            AuditPiece::START,
            AuditPiece::File("task".to_owned()),
            AuditPiece::Tasks(9),
            AuditPiece::Gates(3, "ka|b".to_owned()),
            AuditPiece::Counts(3),
            AuditPiece::BoardTasks(5),
            AuditPiece::Boards(2),
        ]
        .into_iter()
        .chain(beside)
        {
            assert_eq!(AuditPiece::read(&piece.write()), Some(piece));
        }
        for foreign in ["", "tasks", "tasks|x", "gates|3", "gates|x|k", "elsewhere|1", "failure|"] {
            assert_eq!(AuditPiece::read(foreign), None, "{foreign}");
        }
    }
}
