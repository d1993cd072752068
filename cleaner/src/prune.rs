//! Deletes finished tasks.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{PruneRequest, PruneScope, Result, TaskFilter},
    limits::MAX_BATCH,
};

use crate::pass::{Batch, Pass, Round};

/// Which finished tasks to delete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Criteria {
    /// The filter; its statuses must be finished ones, and no status means all finished ones.
    pub filter: TaskFilter,
    /// How long ago they must have ended.
    pub older_than: Option<Duration>,
    /// The least number of bytes, roughly, that their parameters and result take.
    pub larger_than: Option<u64>,
}

/// Deletes finished tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a process has a few")]
pub enum Prune {
    /// Those past their queue's own retention, by age or by count.
    Retention,
    /// Those that meet the criteria.
    Matching(Criteria),
}

#[async_trait]
impl Pass for Prune {
    fn name(&self) -> &'static str {
        match self {
            Self::Retention => "prune_retention",
            Self::Matching(_) => "prune_matching",
        }
    }

    async fn run_once(&self, round: Round<'_>, cursor: Option<String>) -> Result<Batch> {
        let scope = match self {
            Self::Retention => PruneScope::Retention,
            Self::Matching(criteria) => {
                if cursor.is_none() {
                    check_queue(round, &criteria.filter).await?;
                }
                PruneScope::Matching {
                    filter: criteria.filter.clone(),
                    finished_before: criteria.older_than.map(|age| round.now.before(age)),
                    larger_than: criteria.larger_than,
                }
            }
        };
        let request = PruneRequest { scope, limit: MAX_BATCH, dry_run: round.dry_run, cursor };
        let pruned = round.engine.prune(request).await?;
        Ok(Batch { removed: pruned.removed, next: pruned.next, ..Batch::default() })
    }
}

/// For a store, a queue that does not exist has no tasks. For a user who mistyped its name it is an error.
pub(crate) async fn check_queue(round: Round<'_>, filter: &TaskFilter) -> Result<()> {
    let Some(queue) = &filter.queue else { return Ok(()) };
    round.engine.queue_stats(queue).await.map(drop)
}
