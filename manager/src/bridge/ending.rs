//! The second half of a bridge: follows native tasks, keeps the leases of their board's tasks, and answers.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{
        Engine, Result,
        boards::{ListTasks, Placed, task::When},
    },
    name::TaskId,
};

use super::{
    Bridge, HeldTask, RETRY,
    commit::{TaskChange, What, carry_out},
    note_end,
    reply::{RequestEnd, outcome},
    request::{NativeTask, mark},
};

/// How long one wait for the end of a native task takes at most.
const FOLLOW: Duration = Duration::from_secs(60);
/// A lease is renewed after this part of it.
const RENEWALS: u32 = 3;
/// Tasks on a page of the search for tasks that another bridge may have, and most pages.
const SEARCHED: (usize, usize) = (100, 100);

impl HeldTask {
    /// Its lease was renewed by a call that began then.
    pub(super) fn renewed(&mut self, placed: &Placed, began: Instant, lease: Duration) {
        (self.revision, self.at) = (placed.revision, placed.at);
        (self.renew_at, self.ends_at) = (began + lease / RENEWALS, began + lease);
    }
}

impl Drop for HeldTask {
    fn drop(&mut self) {
        if let Some(follower) = &self.follower {
            follower.abort();
        }
    }
}

impl Bridge {
    /// Waits for the end of a native task, beside everything else.
    pub(super) fn follow(&mut self, id: &TaskId) {
        let Some(held) = self.held.get_mut(id) else { return };
        if held.follower.is_none() && held.end.is_none() {
            held.follower = Some(self.followers.spawn(end_of(Arc::clone(&self.app.engine), id.clone())));
        }
    }

    /// Notes which native tasks are over.
    pub(super) fn collect(&mut self) {
        while let Some(ended) = self.followers.try_join_next() {
            if let Ok((id, end)) = ended {
                note_end(&mut self.held, &id, end);
            }
        }
    }

    /// Answers those that are over.
    pub(super) async fn answer(&mut self) -> Result<()> {
        let change = |(id, held): (&TaskId, &HeldTask)| {
            let what = What::Replace(outcome(&self.settings, &held.content, id, held.end.as_ref()?));
            Some(TaskChange { id: id.clone(), revision: held.revision, what })
        };
        let changes: Vec<TaskChange> = self.held.iter().filter_map(change).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let carried = carry_out(&*self.app.boards, &self.board, changes).await;
        // One that is lost was answered by another bridge, or changed by a client. Its native task is over.
        for id in carried.done.iter().map(|(id, _)| id).chain(&carried.lost) {
            self.held.remove(id);
        }
        carried.failure.map_or(Ok(()), Err)
    }

    /// Renews the leases that are due.
    pub(super) async fn renew(&mut self) -> Result<()> {
        let now = Instant::now();
        let is_due = |(_, held): &(&TaskId, &HeldTask)| held.renew_at <= now;
        let due = self.held.iter().filter(is_due);
        let changes: Vec<TaskChange> = due.map(|(id, held)| held.put(id, self.lease_end())).collect();
        if changes.is_empty() {
            return Ok(());
        }
        let carried = carry_out(&*self.app.boards, &self.board, changes).await;
        for (id, placed) in carried.done {
            if let (Some(held), Some(placed)) = (self.held.get_mut(&id), placed) {
                held.renewed(&placed, now, self.settings.lease);
            }
        }
        self.let_go(carried.lost).await?;
        carried.failure.map_or(Ok(()), Err)
    }

    /// Lets go of tasks that have another revision than expected. Cancels the native tasks of those that no bridge has.
    async fn let_go(&mut self, lost: Vec<TaskId>) -> Result<()> {
        if lost.is_empty() {
            return Ok(());
        }
        let bridged = self.still_bridged(&lost).await?;
        let abandoned: Vec<TaskId> =
            lost.iter().filter(|id| bridged.as_ref().is_some_and(|bridged| !bridged.contains(*id))).cloned().collect();
        if !abandoned.is_empty() {
            tracing::info!(bridge = %self.name, tasks = abandoned.len(), "clients changed tasks that ran: they are cancelled");
            self.app.engine.cancel(&abandoned).await?;
        }
        lost.iter().for_each(|id| drop(self.held.remove(id)));
        Ok(())
    }

    /// Which of these native tasks a bridge still has; `None` if too many tasks would have to be looked at. Another bridge
    /// took them when their leases here were over, so none is before that time.
    async fn still_bridged(&self, lost: &[TaskId]) -> Result<Option<HashSet<TaskId>>> {
        let wanted: HashSet<&TaskId> = lost.iter().collect();
        let from = lost.iter().filter_map(|id| self.held.get(id)).map(|held| held.at).min();
        let (mut found, mut after) = (HashSet::new(), from.map(|from| (from, 0)));
        let (limit, pages) = SEARCHED;
        for _ in 0..pages {
            let (board, group) = (self.board.clone(), self.settings.group.clone());
            let page = self.app.boards.list(ListTasks { board, group, visible_only: false, after, limit }).await?;
            for task in &page.tasks {
                if let NativeTask::Ours(id) = mark(&self.board, task)
                    && wanted.contains(&id)
                {
                    found.insert(id);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Gives tasks their places in the group back, so that any bridge takes them at once. What can't be given back is
    /// taken when its lease is over.
    pub(super) async fn give_back(&mut self, ids: Vec<TaskId>) {
        let change = |id: &TaskId| self.held.get(id).map(|held| held.put(id, When::At(held.place)));
        let changes: Vec<TaskChange> = ids.iter().filter_map(change).collect();
        let carried = carry_out(&*self.app.boards, &self.board, changes).await;
        if let Some(error) = carried.failure {
            tracing::debug!(bridge = %self.name, %error, "tasks wait for the end of their leases");
        }
        ids.iter().for_each(|id| drop(self.held.remove(id)));
    }

    /// Answers what is over, and leaves the rest to other bridges.
    pub(super) async fn leave(mut self) {
        self.collect();
        if let Err(error) = self.answer().await {
            tracing::debug!(bridge = %self.name, %error, "tasks that are over are answered by another manager");
        }
        let ids = self.held.keys().cloned().collect();
        self.give_back(ids).await;
    }
}

impl HeldTask {
    /// The change that gives it another time.
    fn put(&self, id: &TaskId, at: When) -> TaskChange {
        TaskChange { id: id.clone(), revision: self.revision, what: What::Put(at, None) }
    }
}

/// Waits until a native task is over.
async fn end_of(engine: Arc<dyn Engine>, id: TaskId) -> (TaskId, RequestEnd) {
    loop {
        match engine.await_finished(&id, FOLLOW).await {
            Ok(Some(task)) if task.status.is_finished() => return (id, RequestEnd::Over(Box::new(task))),
            Ok(Some(_)) => continue,
            Ok(None) => match engine.tombstone(&id).await {
                Ok(Some(tombstone)) => return (id, RequestEnd::Pruned(tombstone.status)),
                Ok(None) => return (id, RequestEnd::Deleted),
                Err(error) => tracing::debug!(%error, task = %id, "the end of a task can't be read"),
            },
            Err(error) => tracing::debug!(%error, task = %id, "the end of a task can't be awaited"),
        }
        tokio::time::sleep(RETRY).await;
    }
}
