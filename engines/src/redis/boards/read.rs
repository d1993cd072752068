//! Pages of boards, of their groups, and of the tasks of a group.

use jobbers_common::{
    engine::{
        Result,
        boards::{BoardCount, GroupCount, ListTasks, TaskPage},
    },
    limits::MAX_BOARD_PAGE_BYTES,
    name::BoardName,
};
use redis::{Cmd, Value};

use super::record;
use crate::redis::{
    kernel::{
        reply::{array, bytes, digits, number, text},
        script,
    },
    server::{failure::malformed, store::Store},
};

/// Reads a page of a group.
pub(super) async fn page(store: &Store, list: &ListTasks) -> Result<TaskPage> {
    let after = list.after.map(|(at, revision)| record::place(at, revision)).unwrap_or_default();
    let add = |command: &mut Cmd| {
        command.arg(list.board.as_str()).arg(&list.group).arg(&after).arg(u8::from(list.visible_only));
        command.arg(list.limit).arg(MAX_BOARD_PAGE_BYTES);
    };
    let mut words = array(store.run(&store.bulk, &script::BOARD_LIST, add).await?)?.into_iter();
    let mut next = || words.next().unwrap_or(Value::Nil);
    let (total, next_after) = (number(next())?, bytes(next())?);
    let next = if next_after.is_empty() { None } else { Some(record::read_place(&next_after)?) };
    let mut tasks = Vec::with_capacity(words.len() / 2);
    while let (Some(revision), Some(task)) = (words.next(), words.next()) {
        tasks.push(record::read_task(digits(&bytes(revision)?)?, bytes(task)?)?);
    }
    Ok(TaskPage { tasks, next, total })
}

/// A page of the boards.
pub(super) async fn boards(store: &Store, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
    let add = |command: &mut Cmd| {
        command.arg(after.map_or_else(|| "-".to_owned(), |after| format!("({after}"))).arg(limit);
    };
    let mut words = array(store.run(&store.bulk, &script::BOARD_NAMES, add).await?)?.into_iter();
    let mut boards = Vec::with_capacity(words.len() / 3);
    while let (Some(name), Some(revision), Some(tasks)) = (words.next(), words.next(), words.next()) {
        let board = BoardName::new(text(name)?).map_err(|_| malformed("expected the name of a board"))?;
        boards.push(BoardCount { board, revision: digits(&bytes(revision)?)?, tasks: number(tasks)? });
    }
    Ok(boards)
}

/// A page of a board's groups.
pub(super) async fn groups(
    store: &Store,
    board: &BoardName,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<GroupCount>> {
    let add = |command: &mut Cmd| {
        command.arg(board.as_str());
        command.arg(after.map_or_else(|| "-".to_owned(), |after| format!("({after}"))).arg(limit);
    };
    let mut words = array(store.run(&store.bulk, &script::BOARD_GROUPS, add).await?)?.into_iter();
    let mut groups = Vec::with_capacity(words.len() / 2);
    while let (Some(group), Some(tasks)) = (words.next(), words.next()) {
        groups.push(GroupCount { group: text(group)?, tasks: number(tasks)? });
    }
    Ok(groups)
}
