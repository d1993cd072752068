//! The verbs of boards.

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
    name::BoardName,
};

use super::{ModelEngine, board::Board, state::State};

impl State {
    pub(super) fn board(&mut self, name: &BoardName) -> &mut Board {
        self.boards.entry(name.clone()).or_default()
    }
}

#[async_trait]
impl Boards for ModelEngine {
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer> {
        commit.validate()?;
        let answer = self.step(|state, now| state.board(&commit.board).commit(&commit, now.into()));
        self.committed.notify_waiters();
        answer
    }

    async fn take(&self, take: Take) -> Result<TakeAnswer> {
        take.validate()?;
        Ok(self.step(|state, now| state.board(&take.board).take(&take, now.into())))
    }

    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: Duration) {
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            let committed = self.committed.notified();
            tokio::pin!(committed);
            committed.as_mut().enable();
            let has_changed = self.step(|state, _| state.board(board).has_changed(group, seen));
            if has_changed || tokio::time::timeout_at(deadline, committed).await.is_err() {
                return;
            }
        }
    }

    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>> {
        validate_get(revisions)?;
        Ok(self.step(|state, _| state.board(board).get(revisions)))
    }

    async fn list(&self, list: ListTasks) -> Result<TaskPage> {
        list.validate()?;
        Ok(self.step(|state, now| state.board(&list.board).list(&list, BoardTime::from(now))))
    }

    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>> {
        validate_groups(after, limit)?;
        Ok(self.step(|state, _| state.board(board).groups(after, limit)))
    }

    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>> {
        validate_limit(limit)?;
        let is_listed = |name: &BoardName, board: &Board| board.exists() && after.is_none_or(|after| name > after);
        let count = |(name, board): (&BoardName, &Board)| is_listed(name, board).then(|| board.count(name));
        Ok(self.step(|state, _| state.boards.iter().filter_map(count).take(limit).collect()))
    }
}
