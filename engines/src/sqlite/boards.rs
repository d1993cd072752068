//! Boards on SQLite: a row for each task, with its revision beside its key.
//!
//! A commit and a take with a lease go through the writer, so callers at once share a transaction; what only reads goes
//! through the readers. The counts of groups and of the board are kept in the same transaction.
//!
//! Start reading at `sql/migrations/0020_boards.sql`, then [`commit`].

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Result,
        boards::{
            BoardCount, Boards, Commit, CommitAnswer, GroupCount, ListTasks, Take, TakeAnswer, TaskPage,
            task::{BoardTask, BoardTime},
            validate::{validate_get, validate_groups},
        },
        reads::validate_limit,
    },
    limits::MAX_BOARD_PAGE_BYTES,
    name::BoardName,
};
use rusqlite::{Connection, OptionalExtension};
use tokio::time::timeout;

use self::row::find_board;
use super::{
    SqliteEngine,
    kernel::view::View,
    sql,
    store::error::{OrStore, corrupt},
};

pub(super) mod audit;
mod commit;
mod plan;
pub(super) mod restore;
mod row;
mod take;
pub(super) mod waiters;

#[async_trait]
impl Boards for SqliteEngine {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        commit.validate()?;
        let (weight, growth) = (commit::weight(&commit), commit::growth(&commit));
        match growth {
            Some(growth) => self.writer.grow(weight, growth, move |step| commit::commit(step, &commit)).await,
            None => self.writer.run(weight, move |step| commit::commit(step, &commit)).await,
        }
    }

    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        take.validate()?;
        match take.lease {
            Some(lease) => self.writer.run(1, move |step| take::lease(step, &take, lease)).await,
            None => self.read(move |view| take::peek(view.conn, &take, view.now.into())).await,
        }
    }

    async fn wait(&self, board: &BoardName, group: &str, seen: u64, longest: Duration) {
        let mut awaited = self.shared.waiters.groups.enter(board, group);
        let _blocked = self.shared.waiters.enter();
        self.shared.watch.wake();
        let (board, group) = (board.clone(), group.to_owned());
        let woken = async {
            let woken_at = self.read(move |view| woken_at(view.conn, &board, &group)).await;
            // A store that can't be read wakes no caller before its time.
            if woken_at.is_ok_and(|woken_at| woken_at > seen) {
                return;
            }
            awaited.woken_after(seen).await;
        };
        timeout(longest, woken).await.ok();
    }

    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        validate_get(revisions)?;
        let (board, revisions) = (board.clone(), revisions.to_vec());
        self.read(move |view| get(view.conn, &board, &revisions)).await
    }

    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        list.validate()?;
        self.read(move |view| page(view, &list)).await
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        validate_groups(after, limit)?;
        // The least text after another one ends with NUL.
        let (board, from) = (board.clone(), after.map_or_else(String::new, |after| format!("{after}\0")));
        self.read(move |view| groups(view.conn, &board, &from, limit)).await
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        validate_limit(limit)?;
        let after = after.map(ToString::to_string).unwrap_or_default();
        self.read(move |view| boards(view, &after, limit)).await
    }
}

/// The revision at which callers that wait for a group were last woken; 0 for a group that is empty.
pub(super) fn woken_at(conn: &Connection, board: &BoardName, group: &str) -> Result<u64> {
    let mut statement = conn.prepare_cached(sql::BOARD_GROUP_WOKEN_AT).or_store()?;
    let found: Option<i64> = statement.query_row((board.as_str(), group), |row| row.get(0)).optional().or_store()?;
    Ok(found.unwrap_or_default().unsigned_abs())
}

fn get(conn: &Connection, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
    let Some(board) = find_board(conn, board)? else { return Ok(vec![None; revisions.len()]) };
    let find = |revision: &u64| Ok(row::get(conn, board.key, *revision)?.map(|(_, task)| task));
    revisions.iter().map(find).collect()
}

fn page(view: &View<'_>, list: &ListTasks) -> Result<TaskPage> {
    let Some(board) = find_board(view.conn, &list.board)? else { return Ok(TaskPage::default()) };
    let mut size = view.prepare(sql::BOARD_GROUP_SIZE)?;
    let total: Option<i64> = size.query_row((board.key, &list.group), |row| row.get(0)).optional().or_store()?;
    let (after, revision) = list.after.unwrap_or((BoardTime(i64::MIN), 0));
    let revision = i64::try_from(revision).unwrap_or(i64::MAX);
    let latest = if list.visible_only { BoardTime::from(view.now) } else { BoardTime(i64::MAX) };
    let mut statement = view.prepare(sql::LIST_BOARD_TASKS)?;
    let most = sql::count(list.limit + 1);
    let mut rows = statement.query((board.key, &list.group, after.0, revision, latest.0, most)).or_store()?;
    let mut page = TaskPage { total: total.unwrap_or_default().unsigned_abs(), ..TaskPage::default() };
    let mut bytes = 0;
    while let Some(found) = rows.next().or_store()? {
        if page.tasks.len() == list.limit || bytes >= MAX_BOARD_PAGE_BYTES {
            page.next = page.tasks.last().map(|task| (task.at, task.revision));
            break;
        }
        let task = row::task(found)?;
        bytes += task.content.bytes();
        page.tasks.push(task);
    }
    Ok(page)
}

fn boards(view: &View<'_>, after: &str, limit: usize) -> Result<Vec<BoardCount>> {
    let mut statement = view.prepare(sql::LIST_BOARDS)?;
    let mut rows = statement.query((after, sql::count(limit))).or_store()?;
    let mut boards = Vec::new();
    while let Some(found) = rows.next().or_store()? {
        let name: String = found.get("name").or_store()?;
        let board = BoardName::new(name).map_err(|error| corrupt("the name of a board", error))?;
        let (revision, tasks): (i64, i64) = (found.get("revision").or_store()?, found.get("tasks").or_store()?);
        boards.push(BoardCount { board, revision: revision.unsigned_abs(), tasks: u64::try_from(tasks).unwrap_or(0) });
    }
    Ok(boards)
}

fn groups(conn: &Connection, board: &BoardName, from: &str, limit: usize) -> Result<Vec<GroupCount>> {
    let Some(board) = find_board(conn, board)? else { return Ok(Vec::new()) };
    let mut statement = conn.prepare_cached(sql::LIST_BOARD_GROUPS).or_store()?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(GroupCount { group: row.get("name")?, tasks: row.get::<_, i64>("tasks")?.unsigned_abs() })
    };
    let rows = statement.query_map((board.key, from, sql::count(limit)), read).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}
