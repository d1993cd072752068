//! Boards: one script call for many commits and takes, and scripts that only read.
//!
//! Start reading at `boards/calls.rs` and `scripts/lib/boards/board_calls.lua`. How revisions stay unique although the server may
//! lose its last writes is in `scripts/lib/boards/board_run.lua`.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Result,
        boards::{
            BoardCount, Boards, Commit, CommitAnswer, GroupCount, ListTasks, Take, TakeAnswer, TaskPage,
            task::BoardTask,
            validate::{validate_get, validate_groups},
        },
        reads::validate_limit,
    },
    limits::MAX_BOARD_PAGE_BYTES,
    name::BoardName,
};
use redis::{Cmd, Value};

use super::{
    RedisEngine,
    kernel::{
        reply::{array, bytes},
        script,
    },
    read::awaiting,
    server::failure::malformed,
};

pub(super) mod audit;
pub(super) mod calls;
mod read;
mod record;
pub(super) mod restore;
mod wire;

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
                return Err(malformed("expected a record"));
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
        read::page(&self.store, &list).await
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        validate_groups(after, limit)?;
        read::groups(&self.store, board, after, limit).await
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        validate_limit(limit)?;
        read::boards(&self.store, after, limit).await
    }
}
