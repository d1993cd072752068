//! Takes: the choice of a task, which a reader can make, and its lease, which the writer gives.

use jobbers_common::engine::{
    Result,
    boards::{
        Take, TakeAnswer,
        task::{BoardTask, BoardTime},
    },
};
use rusqlite::Connection;

use super::{
    plan::missing,
    row::{Board, find_board, get},
};
use crate::sqlite::{
    kernel::step::Step,
    sql,
    store::error::{OrStore, corrupt},
};

/// A task that a take has found, with its key and its board.
struct FoundTask {
    board: Board,
    key: i64,
    task: BoardTask,
}

/// Reads one visible task of a group, by a clock.
pub(super) fn peek(conn: &Connection, take: &Take, clock: BoardTime) -> Result<TakeAnswer> {
    let (answer, found) = find(conn, take, clock)?;
    Ok(TakeAnswer { task: found.map(|found| found.task), ..answer })
}

/// Takes one visible task of a group.
pub(super) fn lease(step: &Step<'_>, take: &Take, lease: u64) -> Result<TakeAnswer> {
    let (answer, found) = find(step.conn, take, step.now.into())?;
    let Some(FoundTask { board, key, task }) = found else { return Ok(answer) };
    let revision = board.revision + 1;
    let at = answer.now.saturating_add(i64::try_from(lease).unwrap_or(i64::MAX));
    step.prepare(sql::MOVE_BOARD_TASK)?.execute((key, revision, &task.group, at.0, take.owner)).or_store()?;
    step.prepare(sql::ADVANCE_BOARD)?.execute((board.key, revision, 0, 0)).or_store()?;
    let revision = revision.unsigned_abs();
    Ok(TakeAnswer { task: Some(BoardTask { revision, at, owner: take.owner, ..task }), revision, ..answer })
}

/// Chooses a task. The answer is that of a take that finds none.
fn find(conn: &Connection, take: &Take, clock: BoardTime) -> Result<(TakeAnswer, Option<FoundTask>)> {
    let now = take.now.unwrap_or(clock);
    let board = find_board(conn, &take.board)?;
    let revision = board.map_or(0, |board| board.revision.unsigned_abs());
    let missing = missing(conn, board.map(|board| board.key), &take.require)?;
    let mut answer = TakeAnswer { task: None, missing, next_at: None, now, revision };
    let Some(board) = board.filter(|_| answer.missing.is_empty()) else { return Ok((answer, None)) };
    let earliest = earliest(conn, board, take)?;
    let visible = earliest.iter().take_while(|(_, at)| *at <= now).count();
    if visible == 0 {
        answer.next_at = earliest.first().map(|(_, at)| *at);
        return Ok((answer, None));
    }
    let (revision, _) = earliest[take.order.place(rand::random(), visible)];
    let (key, task) = get(conn, board.key, revision)?.ok_or_else(|| corrupt("a board's index", "its task is gone"))?;
    Ok((answer, Some(FoundTask { board, key, task })))
}

/// The revisions and times of the tasks to choose from, visible or not.
fn earliest(conn: &Connection, board: Board, take: &Take) -> Result<Vec<(u64, BoardTime)>> {
    let mut statement = conn.prepare_cached(sql::NEXT_BOARD_TASKS).or_store()?;
    let choice = (board.key, &take.group, sql::count(take.order.choice()));
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>("revision")?.unsigned_abs(), BoardTime(row.get("at")?)));
    statement.query_map(choice, read).or_store()?.collect::<rusqlite::Result<_>>().or_store()
}
