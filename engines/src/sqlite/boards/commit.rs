//! A commit, inside the writer's transaction: planned, then applied.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{
        Result,
        boards::{
            Commit, CommitAnswer, Committed, Create, Placed, Update,
            task::{BoardTime, Content},
        },
    },
    name::BoardName,
};
use rusqlite::Connection;

use super::{
    plan::{CommitPlan, StoredBoardTask, plan},
    row::{Board, find_board, write_labels},
};
use crate::sqlite::{
    kernel::{ledger::Notification, step::Step},
    sql,
    store::error::OrStore,
};

/// About how many bytes a task takes besides its content: its row and the entries of its indexes.
const TASK_BYTES: u64 = 200;
/// How many tasks a selection by group or label counts for in the weight of a commit.
const SELECTION_WEIGHT: usize = 50;

/// How many bytes a commit adds; `None` for one that only frees or moves what is there.
pub(super) fn growth(commit: &Commit) -> Option<u64> {
    let contents = commit.contents().count() as u64;
    (contents > 0).then(|| contents * TASK_BYTES + commit.bytes() as u64)
}

/// About how many tasks a commit touches.
pub(super) fn weight(commit: &Commit) -> usize {
    let selections = commit.delete.iter().chain(commit.update.iter().map(|update| &update.which));
    let selected: usize = selections.map(|it| if it.revision().is_some() { 1 } else { SELECTION_WEIGHT }).sum();
    selected + commit.create.len()
}

/// Commits, or reports conflicts.
pub(super) fn commit(step: &mut Step<'_>, commit: &Commit) -> Result<CommitAnswer> {
    let board = find_board(step.conn, &commit.board)?;
    if let (Some(board), Some(mark)) = (board, &commit.once)
        && step.prepare(sql::FIND_BOARD_MARK)?.exists((board.key, mark)).or_store()?
    {
        return Ok(CommitAnswer::AlreadyDone);
    }
    let now = BoardTime::from(step.now);
    let (plan, conflicts) = plan(step.conn, board.map(|board| board.key), commit, now)?;
    if !conflicts.is_empty() {
        return Ok(CommitAnswer::Conflict(conflicts));
    }
    let is_empty = plan.delete.is_empty() && plan.update.is_empty() && commit.create.is_empty();
    if is_empty && commit.once.is_none() {
        return Ok(CommitAnswer::Done(Committed::default()));
    }
    let board = match board {
        Some(board) => board,
        None => create_board(step, &commit.board)?,
    };
    if let Some(mark) = &commit.once {
        step.prepare(sql::PUT_BOARD_MARK)?.execute((board.key, mark)).or_store()?;
    }
    if is_empty {
        return Ok(CommitAnswer::Done(Committed::default()));
    }
    let mut change = AppliedCommit { conn: step.conn, board, now, owner: commit.owner, groups: BTreeMap::new() };
    let committed = change.apply(commit, plan)?;
    for (group, woken_at) in change.finish(committed.created.len(), committed.deleted)? {
        step.ledger.notifications.push(Notification::Board(commit.board.clone(), group, woken_at));
    }
    Ok(CommitAnswer::Done(committed))
}

/// Creates a board.
pub(super) fn create_board(step: &Step<'_>, name: &BoardName) -> Result<Board> {
    let key = step.prepare(sql::CREATE_BOARD)?.query_row([name.as_str()], |row| row.get(0)).or_store()?;
    Ok(Board { key, revision: 0 })
}

/// What a change does to a group.
#[derive(Debug, Default)]
pub(super) struct GroupChange {
    /// How many more tasks it holds.
    tasks: i64,
    /// The latest revision that wakes callers, or 0.
    woken_at: i64,
}

/// A commit being applied, or tasks being restored.
pub(super) struct AppliedCommit<'a> {
    pub(super) conn: &'a Connection,
    pub(super) board: Board,
    pub(super) now: BoardTime,
    pub(super) owner: i64,
    pub(super) groups: BTreeMap<String, GroupChange>,
}

impl AppliedCommit<'_> {
    fn apply(&mut self, commit: &Commit, plan: CommitPlan<'_>) -> Result<Committed> {
        let mut committed = Committed { deleted: plan.delete.len(), ..Committed::default() };
        for task in plan.delete {
            self.delete(task)?;
        }
        for (update, task) in plan.update {
            committed.updated.push(self.update(update, task)?);
        }
        for create in &commit.create {
            committed.created.push(self.create(create)?);
        }
        Ok(committed)
    }

    fn delete(&mut self, task: StoredBoardTask) -> Result<()> {
        self.prepare(sql::DELETE_BOARD_TASK)?.execute([task.key]).or_store()?;
        if task.has_labels {
            self.prepare(sql::DELETE_BOARD_LABELS)?.execute([task.key]).or_store()?;
        }
        self.groups.entry(task.group).or_default().tasks -= 1;
        Ok(())
    }

    fn update(&mut self, update: &Update, task: StoredBoardTask) -> Result<Placed> {
        let group = update.group.clone().unwrap_or_else(|| task.group.clone());
        let at = update.at.map_or(task.at, |at| at.resolve(self.now));
        let revision = self.next_revision();
        self.prepare(sql::MOVE_BOARD_TASK)?.execute((task.key, revision, &group, at.0, self.owner)).or_store()?;
        if let Some(content) = &update.content {
            let labels = write_labels(content)?;
            let columns = (task.key, labels, &content.data_type, &content.error, &content.data[..]);
            self.prepare(sql::SET_BOARD_CONTENT)?.execute(columns).or_store()?;
            if task.has_labels {
                self.prepare(sql::DELETE_BOARD_LABELS)?.execute([task.key]).or_store()?;
            }
            self.insert_labels(task.key, content)?;
        }
        if group != task.group {
            self.groups.entry(task.group).or_default().tasks -= 1;
            self.note_arrival(&group, revision, 1);
        } else if at < task.at {
            self.note_arrival(&group, revision, 0);
        }
        Ok(Placed { revision: revision.unsigned_abs(), group, at })
    }

    fn create(&mut self, create: &Create) -> Result<Placed> {
        let Create { group, content, .. } = create;
        let at = create.at.resolve(self.now);
        let revision = self.next_revision();
        self.insert(revision, group, at, self.owner, content)?;
        Ok(Placed { revision: revision.unsigned_abs(), group: group.clone(), at })
    }

    /// Stores a task under a revision. Callers that wait for its group see it as of the board's counter.
    pub(super) fn insert(
        &mut self,
        revision: i64,
        group: &str,
        at: BoardTime,
        owner: i64,
        content: &Content,
    ) -> Result<()> {
        let labels = write_labels(content)?;
        let (data_type, error, data) = (&content.data_type, &content.error, &content.data[..]);
        let columns = (self.board.key, revision, group, at.0, owner, labels, data_type, error, data);
        let key = self.prepare(sql::INSERT_BOARD_TASK)?.query_row(columns, |row| row.get(0)).or_store()?;
        self.insert_labels(key, content)?;
        self.note_arrival(group, self.board.revision, 1);
        Ok(())
    }

    fn insert_labels(&self, task: i64, content: &Content) -> Result<()> {
        for (label, value) in &content.labels {
            let columns = (task, label, value, self.board.key);
            self.prepare(sql::INSERT_BOARD_LABEL)?.execute(columns).or_store()?;
        }
        Ok(())
    }

    /// A group received tasks, or one of its tasks an earlier time.
    fn note_arrival(&mut self, group: &str, revision: i64, tasks: i64) {
        if !self.groups.contains_key(group) {
            self.groups.insert(group.to_owned(), GroupChange::default());
        }
        if let Some(change) = self.groups.get_mut(group) {
            change.tasks += tasks;
            change.woken_at = revision;
        }
    }

    fn next_revision(&mut self) -> i64 {
        self.board.revision += 1;
        self.board.revision
    }

    fn prepare(&self, sql: &str) -> Result<rusqlite::CachedStatement<'_>> {
        self.conn.prepare_cached(sql).or_store()
    }

    /// Writes the counts. Returns the groups in which callers are woken, and by which revision.
    pub(super) fn finish(self, created: usize, deleted: usize) -> Result<Vec<(String, u64)>> {
        let board = self.board;
        let counts = (board.key, board.revision, sql::count(created), sql::count(deleted));
        self.prepare(sql::ADVANCE_BOARD)?.execute(counts).or_store()?;
        let mut woken = Vec::new();
        for (group, change) in &self.groups {
            let columns = (board.key, group, change.tasks, change.woken_at);
            self.prepare(sql::COUNT_BOARD_GROUP)?.execute(columns).or_store()?;
            if change.tasks < 0 {
                self.prepare(sql::DROP_BOARD_GROUP)?.execute((board.key, group)).or_store()?;
            }
            if change.woken_at > 0 {
                woken.push((group.clone(), change.woken_at.unsigned_abs()));
            }
        }
        Ok(woken)
    }
}
