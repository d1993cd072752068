//! Calls to boards are measured like the other verbs, as `board_commit` and so on. `wait` is not.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    board::BoardTask,
    engine::{
        Result,
        boards::{BoardCount, Boards, Commit, CommitAnswer, GroupCount, ListTasks, Take, TakeAnswer, TaskPage},
    },
    name::BoardName,
};

use super::Measured;

#[async_trait]
impl Boards for Measured {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        self.measure("board_commit", &self.operations.board_commit, self.boards.commit(commit)).await
    }

    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        self.measure("board_take", &self.operations.board_take, self.boards.take(take)).await
    }

    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: Duration) {
        self.boards.wait(board, group, seen, timeout).await;
    }

    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        self.measure("board_get", &self.operations.board_get, self.boards.get(board, revisions)).await
    }

    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        self.measure("board_list", &self.operations.board_list, self.boards.list(list)).await
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        self.measure("board_groups", &self.operations.board_groups, self.boards.groups(board, after, limit)).await
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        self.measure("board_names", &self.operations.board_names, self.boards.boards(after, limit)).await
    }
}
