//! The trait of chores.

use async_trait::async_trait;
use jobbers_common::{
    engine::{Engine, Finding, Result, boards::Boards},
    time::Timestamp,
};

/// What all batches of one round share.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// The store.
    pub engine: &'a dyn Engine,
    /// Its boards.
    pub boards: &'a dyn Boards,
    /// The store's time when the round began. Ages are measured from here, so that a long round does not move its own
    /// goal.
    pub now: Timestamp,
    /// Count, and change nothing.
    pub dry_run: bool,
}

/// What one batch did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Tasks or letters removed; in a dry run, those that would be.
    pub removed: u64,
    /// The number of repaired inconsistencies.
    pub repaired: u64,
    /// Inconsistencies that were left as they are.
    pub left: Vec<Finding>,
    /// Where the next batch begins; `None` when the pass is done.
    pub next: Option<String>,
}

/// One kind of chore.
#[async_trait]
pub trait Pass: Send + Sync + std::fmt::Debug {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// Does one bounded batch, from where the previous one ended.
    ///
    /// # Errors
    /// Those of the store. A batch that failed may have been carried out; repeating it is safe.
    async fn run_once(&self, round: Round<'_>, cursor: Option<String>) -> Result<Batch>;
}
