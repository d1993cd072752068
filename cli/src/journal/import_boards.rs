//! Stores the boards of a journal.
//!
//! A board's counter is raised to its final value with the last of its tasks, in one call. So a store whose counter is there
//! has all of the board, and what is missing of it was deleted since: the board is left alone. One whose counter is not
//! there yet has a part of it at most.

use std::{collections::BTreeMap, sync::Arc};

use jobbers_common::{
    engine::{
        Engine,
        backup::{Backup, BoardPiece, Restored},
        boards::task::BoardTask,
    },
    limits::MAX_BATCH,
    name::BoardName,
};

use super::{
    Result,
    entry::{BoardEntry, TaskOfBoard},
    report::{EntryOutcome, ImportReport},
};

/// The most tasks, and about the most bytes of their data, that are stored by one call.
const TASKS_AT_ONCE: usize = 200;
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;

/// The counters of a store's boards.
pub(super) async fn counters(engine: &Arc<dyn Engine>) -> Result<BTreeMap<BoardName, u64>> {
    let boards = Arc::clone(engine).boards();
    let (mut counters, mut after) = (BTreeMap::new(), None);
    loop {
        let page = boards.boards(after.as_ref(), MAX_BATCH).await?;
        let Some(last) = page.last() else { return Ok(counters) };
        after = Some(last.board.clone());
        counters.extend(page.into_iter().map(|counted| (counted.board, counted.revision)));
    }
}

/// The boards on their way from a journal into a store.
pub(super) struct BoardImport<'a> {
    backup: Arc<dyn Backup>,
    /// The counters of the store's boards as the import began.
    known: BTreeMap<BoardName, u64>,
    /// The counters of the journal's boards.
    coming: &'a BTreeMap<BoardName, u64>,
    /// Tasks of one board that are stored together.
    gathered: Vec<TaskOfBoard>,
    bytes: usize,
    /// The task whose revision is its board's counter.
    last: Option<BoardTask>,
}

impl<'a> BoardImport<'a> {
    pub(super) const fn new(
        backup: Arc<dyn Backup>,
        known: BTreeMap<BoardName, u64>,
        coming: &'a BTreeMap<BoardName, u64>,
    ) -> Self {
        Self { backup, known, coming, gathered: Vec::new(), bytes: 0, last: None }
    }

    /// Whether the store has the whole board, or had it.
    fn is_there(&self, board: &BoardName) -> bool {
        let coming = self.coming.get(board).copied().unwrap_or_default();
        self.known.get(board).is_some_and(|known| *known >= coming)
    }

    pub(super) async fn take(&mut self, of: TaskOfBoard, report: &mut ImportReport) -> Result<()> {
        if self.is_there(&of.board) {
            report.note("board_task", EntryOutcome::Already);
            return Ok(());
        }
        if self.coming.get(&of.board) == Some(&of.task.revision) {
            self.last = Some(of.task);
            return Ok(());
        }
        let goes_on = self.gathered.last().is_none_or(|last| last.board == of.board);
        let is_twice = self.gathered.iter().any(|it| it.task.revision == of.task.revision);
        let is_full = self.gathered.len() >= TASKS_AT_ONCE || self.bytes + of.task.content.bytes() > BYTES_AT_ONCE;
        if !goes_on || is_twice || is_full {
            self.flush(report).await?;
        }
        self.bytes += of.task.content.bytes();
        self.gathered.push(of);
        Ok(())
    }

    async fn flush(&mut self, report: &mut ImportReport) -> Result<()> {
        self.bytes = 0;
        let gathered = std::mem::take(&mut self.gathered);
        let Some(board) = gathered.first().map(|first| first.board.clone()) else { return Ok(()) };
        let tasks = gathered.into_iter().map(|of| of.task).collect();
        self.restore(BoardPiece { board, revision: 0, marks: Vec::new(), tasks }, report).await
    }

    async fn restore(&self, piece: BoardPiece, report: &mut ImportReport) -> Result<()> {
        let (board, revisions) = (piece.board.clone(), piece.tasks.iter().map(|task| task.revision));
        let revisions: Vec<u64> = revisions.collect();
        for (revision, restored) in revisions.into_iter().zip(self.backup.restore_board(piece).await?) {
            let outcome = match restored {
                Restored::Done => EntryOutcome::Stored,
                Restored::Already => EntryOutcome::Already,
                _ => EntryOutcome::Conflict(format!("board {board}: another task has the revision {revision}")),
            };
            report.note("board_task", outcome);
        }
        Ok(())
    }

    /// The end of a board: its last task and its counter, in one step.
    pub(super) async fn end(&mut self, board: BoardEntry, report: &mut ImportReport) -> Result<()> {
        self.flush(report).await?;
        let BoardEntry { name, revision, marks } = board;
        if self.is_there(&name) {
            report.note("board", EntryOutcome::Already);
            return Ok(());
        }
        let tasks = self.last.take().into_iter().collect();
        self.restore(BoardPiece { board: name, revision, marks, tasks }, report).await?;
        report.note("board", EntryOutcome::Stored);
        Ok(())
    }
}
