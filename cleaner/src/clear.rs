//! Cancels and deletes tasks that have not begun.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Cancelled, ListRequest, Result, TaskDeletion, TaskFilter},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::TaskId,
};

use crate::{
    pass::{Batch, Pass, Round},
    prune::check_queue,
};

/// Cancels and deletes tasks that have not begun. They are cancelled first: those that wait for such a task learn its end,
/// and tasks that depend on it go by their policies. One that begins meanwhile is asked to stop, and stays. After a crash
/// between the two, a cancelled task stays too, until retention deletes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clear {
    /// The filter; it names statuses, and only live ones other than `started`.
    pub filter: TaskFilter,
    /// How long ago they must have been submitted.
    pub older_than: Option<Duration>,
}

#[async_trait]
impl Pass for Clear {
    fn name(&self) -> &'static str {
        "clear_matching"
    }

    async fn run_once(&self, round: Round<'_>, cursor: Option<String>) -> Result<Batch> {
        let mut filter = self.filter.clone();
        if cursor.is_none() {
            check_queue(round, &filter).await?;
        }
        if let Some(before) = self.older_than.map(|age| round.now.before(age)) {
            filter.submitted_before = Some(filter.submitted_before.map_or(before, |given| given.min(before)));
        }
        let page = round.engine.list(ListRequest { filter, limit: MAX_BATCH, cursor }).await?;
        let ids: Vec<TaskId> = page.tasks.into_iter().map(|task| task.id).collect();
        let removed = if round.dry_run { ids.len() } else { clear(round, ids).await? };
        Ok(Batch { removed: u64::try_from(removed).unwrap_or(u64::MAX), next: page.next, ..Batch::default() })
    }
}

/// Cancels these tasks, and deletes those that did not run. Returns how many are gone.
async fn clear(round: Round<'_>, ids: Vec<TaskId>) -> Result<usize> {
    if ids.is_empty() {
        return Ok(0);
    }
    let cancelled = round.engine.cancel(&ids).await?;
    let is_over = |answer: &Cancelled| matches!(answer, Cancelled::Done | Cancelled::AlreadyOver(Status::Cancelled));
    let over: Vec<TaskId> = ids.into_iter().zip(&cancelled).filter(|(_, it)| is_over(it)).map(|(id, _)| id).collect();
    let deleted = round.engine.delete_tasks(&over, false).await?;
    Ok(deleted.iter().filter(|answer| **answer == TaskDeletion::Deleted).count())
}
