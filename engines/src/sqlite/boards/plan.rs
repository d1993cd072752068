//! What a commit would change: every selection resolved and every check made, before anything is written.

use std::collections::{HashMap, HashSet};

use jobbers_common::{
    engine::{
        Result,
        boards::{
            Commit, Conflicts, Selection, Update,
            task::BoardTime,
            validate::{changed_twice, validate_changes},
        },
    },
    limits::MAX_BOARD_CHANGES,
};
use rusqlite::{CachedStatement, Connection, Params, Row};

use super::row::stored_revision;
use crate::sqlite::{sql, store::error::OrStore};

/// What a commit needs to know of a task that it changes.
#[derive(Debug)]
pub(super) struct StoredBoardTask {
    pub(super) key: i64,
    pub(super) revision: i64,
    pub(super) group: String,
    pub(super) at: BoardTime,
    pub(super) owner: i64,
    pub(super) has_labels: bool,
}

impl StoredBoardTask {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get("key")?,
            revision: row.get("revision")?,
            group: row.get("group_name")?,
            at: BoardTime(row.get("at")?),
            owner: row.get("owner")?,
            has_labels: row.get("has_labels")?,
        })
    }
}

/// The changes of a commit in which nothing conflicts.
#[derive(Debug, Default)]
pub(super) struct CommitPlan<'a> {
    pub(super) delete: Vec<StoredBoardTask>,
    pub(super) update: Vec<(&'a Update, StoredBoardTask)>,
}

/// Resolves and checks the changes of a commit to a board.
struct Planner<'a> {
    conn: &'a Connection,
    /// `None` for a board that does not exist yet.
    board: Option<i64>,
    /// Keys of the tasks that are changed.
    changed: HashSet<i64>,
    /// Who may not find a held task, and since when tasks are held.
    owner: Option<(i64, BoardTime)>,
    held: HashSet<i64>,
    conflicts: Conflicts,
}

/// What a commit changes, and what conflicts.
///
/// # Errors
/// [`jobbers_common::engine::Error::Invalid`] for more changes than a commit may make, and for a task that it would change
/// twice.
pub(super) fn plan<'a>(
    conn: &Connection,
    board: Option<i64>,
    commit: &'a Commit,
    now: BoardTime,
) -> Result<(CommitPlan<'a>, Conflicts)> {
    let required = missing(conn, board, &commit.require)?;
    let conflicts = Conflicts { required, ..Conflicts::default() };
    let owner = commit.check_owner.then_some((commit.owner, now));
    let mut planner = Planner { conn, board, changed: HashSet::new(), owner, held: HashSet::new(), conflicts };
    let mut plan = CommitPlan::default();
    let mut unknown = MissingRevisions::default();
    for selection in &commit.delete {
        let selected = planner.select(selection)?;
        unknown.note(selection, &selected);
        planner.note_held(&selected);
        plan.delete.extend(selected.into_iter().filter(|task| planner.changed.insert(task.key)));
        validate_changes(plan.delete.len())?;
    }
    planner.conflicts.deleted = std::mem::take(&mut unknown).list;
    let mut updated = HashMap::<i64, &Update>::new();
    for update in &commit.update {
        let selected = planner.select(&update.which)?;
        unknown.note(&update.which, &selected);
        planner.note_held(&selected);
        for task in selected {
            if planner.changed.insert(task.key) {
                updated.insert(task.key, update);
                plan.update.push((update, task));
            } else if updated.get(&task.key).is_none_or(|earlier| !earlier.changes_the_same(update)) {
                return Err(changed_twice(task.revision.unsigned_abs()));
            }
        }
        validate_changes(planner.changed.len())?;
    }
    planner.conflicts.updated = unknown.list;
    validate_changes(planner.changed.len() + commit.create.len())?;
    Ok((plan, planner.conflicts))
}

/// Revisions that do not exist, in the order of the request, each once.
#[derive(Debug, Default)]
struct MissingRevisions {
    list: Vec<u64>,
    seen: HashSet<u64>,
}

impl MissingRevisions {
    fn push(&mut self, revision: u64) {
        if self.seen.insert(revision) {
            self.list.push(revision);
        }
    }

    fn note(&mut self, selection: &Selection, selected: &[StoredBoardTask]) {
        if let (Some(revision), []) = (selection.revision(), selected) {
            self.push(revision);
        }
    }
}

/// Those of these revisions that do not exist, each once.
pub(super) fn missing(conn: &Connection, board: Option<i64>, revisions: &[u64]) -> Result<Vec<u64>> {
    let mut find = conn.prepare_cached(sql::FIND_BOARD_TASK).or_store()?;
    let mut missing = MissingRevisions::default();
    for revision in revisions {
        let exists = match (board, stored_revision(*revision)) {
            (Some(board), Some(stored)) => find.exists((board, stored)).or_store()?,
            _ => false,
        };
        if !exists {
            missing.push(*revision);
        }
    }
    Ok(missing.list)
}

impl Planner<'_> {
    /// The selected tasks in the order of their revisions.
    fn select(&self, selection: &Selection) -> Result<Vec<StoredBoardTask>> {
        let Some(board) = self.board else { return Ok(Vec::new()) };
        let prepare = |sql| self.conn.prepare_cached(sql).or_store();
        let most = sql::count(MAX_BOARD_CHANGES + 1);
        let mut selected = match selection {
            Selection::Revision(revision) => match stored_revision(*revision) {
                Some(revision) => read_all(prepare(sql::FIND_BOARD_TASK)?, (board, revision))?,
                None => Vec::new(),
            },
            Selection::Group(group) => read_all(prepare(sql::BOARD_TASKS_OF_GROUP)?, (board, group, most))?,
            Selection::AnyLabel(labels) => {
                let mut found = Vec::new();
                for (label, value) in labels {
                    found.extend(read_all(prepare(sql::BOARD_TASKS_OF_LABEL)?, (board, label, value, most))?);
                }
                found
            }
        };
        selected.sort_unstable_by_key(|task| task.revision);
        selected.dedup_by_key(|task| task.revision);
        Ok(selected)
    }

    /// Notes those that another owner holds.
    fn note_held(&mut self, selected: &[StoredBoardTask]) {
        let Some((owner, now)) = self.owner else { return };
        for task in selected.iter().filter(|task| task.at > now && task.owner != owner) {
            if self.held.insert(task.key) {
                self.conflicts.owned.push(task.revision.unsigned_abs());
            }
        }
    }
}

fn read_all(mut statement: CachedStatement<'_>, parameters: impl Params) -> Result<Vec<StoredBoardTask>> {
    let rows = statement.query_map(parameters, StoredBoardTask::read).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}
