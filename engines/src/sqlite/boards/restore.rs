//! Tasks of a board that another store held.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{
        Result,
        backup::{BoardPiece, Restored},
        boards::task::BoardTime,
    },
    name::BoardName,
};

use super::{
    commit::{AppliedCommit, create_board},
    row::{self, find_board},
};
use crate::sqlite::{
    kernel::{ledger::Notification, step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// The marks of a board's commits.
pub(crate) fn marks(view: &View<'_>, name: &BoardName) -> Result<Vec<String>> {
    let Some(board) = find_board(view.conn, name)? else { return Ok(Vec::new()) };
    let mut statement = view.prepare(sql::ALL_BOARD_MARKS)?;
    let rows = statement.query_map([board.key], |row| row.get(0)).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}

/// Stores tasks under their revisions, and raises the board's counter.
pub(crate) fn restore(step: &mut Step<'_>, piece: &BoardPiece) -> Result<Vec<Restored>> {
    let mut board = match find_board(step.conn, &piece.board)? {
        Some(board) => board,
        None => create_board(step, &piece.board)?,
    };
    for mark in &piece.marks {
        if !step.prepare(sql::FIND_BOARD_MARK)?.exists((board.key, mark)).or_store()? {
            step.prepare(sql::PUT_BOARD_MARK)?.execute((board.key, mark)).or_store()?;
        }
    }
    board.revision = board.revision.max(piece.counter().cast_signed());
    let now = BoardTime::from(step.now);
    let mut change = AppliedCommit { conn: step.conn, board, now, owner: 0, groups: BTreeMap::new() };
    let (mut restored, mut created) = (Vec::with_capacity(piece.tasks.len()), 0);
    for task in &piece.tasks {
        restored.push(match row::get(step.conn, board.key, task.revision)? {
            Some((_, known)) if known == *task => Restored::Already,
            Some(_) => Restored::Conflict,
            None => {
                change.insert(task.revision.cast_signed(), &task.group, task.at, task.owner, &task.content)?;
                created += 1;
                Restored::Done
            }
        });
    }
    for (group, woken_at) in change.finish(created, 0)? {
        step.ledger.notifications.push(Notification::Board(piece.board.clone(), group, woken_at));
    }
    Ok(restored)
}
