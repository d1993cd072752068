//! Boards: one script call for many commits and takes, and scripts that only read.
//!
//! Start reading at `boards/calls.rs` and `scripts/lib/board_calls.lua`. How revisions stay unique although the server may
//! lose its last writes is in `scripts/lib/board_run.lua`.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    board::BoardTask,
    engine::{
        Result,
        boards::{
            BoardCount, Boards, Commit, CommitAnswer, GroupCount, ListTasks, Take, TakeAnswer, TaskPage,
            validate::{validate_get, validate_groups},
        },
        look::validate_limit,
    },
    limits::MAX_BOARD_PAGE_BYTES,
    name::BoardName,
};
use redis::{Cmd, Value};

pub(super) use self::calls::Lines;
use super::{
    RedisEngine, awaiting,
    failure::malformed,
    reply::{array, bytes, digits, number, text},
    script,
    store::Store,
};

pub(super) mod audit;
mod calls;
mod record;
pub(super) mod restore;
mod wire;

/// Reads a page of a group.
async fn page(store: &Store, list: &ListTasks) -> Result<TaskPage> {
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

#[async_trait]
impl Boards for RedisEngine {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        commit.validate()?;
        self.board_lines.commit(commit).await
    }

    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        take.validate()?;
        self.board_lines.take(take).await
    }

    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: Duration) {
        awaiting::await_group(&self.store, board, group, seen.min(record::LAST_REVISION), timeout).await;
    }

    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        validate_get(revisions)?;
        let mut tasks = Vec::with_capacity(revisions.len());
        while let Some(left) = revisions.get(tasks.len()..).filter(|left| !left.is_empty()) {
            let add = |command: &mut Cmd| {
                command.arg(board.as_str()).arg(MAX_BOARD_PAGE_BYTES);
                left.iter().for_each(|of| {
                    command.arg(record::revision(*of));
                });
            };
            let records = array(self.store.run(&self.store.work, &script::BOARD_GET, add).await?)?;
            if records.is_empty() {
                return Err(malformed("a record was due"));
            }
            for (revision, found) in left.iter().zip(records) {
                tasks.push(match found {
                    Value::Nil => None,
                    found => Some(record::read_task(*revision, bytes(found)?)?),
                });
            }
        }
        Ok(tasks)
    }

    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        list.validate()?;
        page(&self.store, &list).await
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        validate_groups(after, limit)?;
        groups(&self.store, board, after, limit).await
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        validate_limit(limit)?;
        boards(&self.store, after, limit).await
    }
}

/// A page of the boards.
async fn boards(store: &Store, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
    let add = |command: &mut Cmd| {
        command.arg(after.map_or_else(|| "-".to_owned(), |after| format!("({after}"))).arg(limit);
    };
    let mut words = array(store.run(&store.bulk, &script::BOARD_NAMES, add).await?)?.into_iter();
    let mut boards = Vec::with_capacity(words.len() / 3);
    while let (Some(name), Some(revision), Some(tasks)) = (words.next(), words.next(), words.next()) {
        let board = BoardName::new(text(name)?).map_err(|_| malformed("the name of a board was due"))?;
        boards.push(BoardCount { board, revision: digits(&bytes(revision)?)?, tasks: number(tasks)? });
    }
    Ok(boards)
}

/// A page of a board's groups.
async fn groups(store: &Store, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
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
