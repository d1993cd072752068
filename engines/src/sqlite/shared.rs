//! What the writer, the readers and the watch of one store share.

use std::sync::{Arc, atomic::AtomicI64};

use arc_swap::ArcSwap;
use jobbers_common::tombstone::TombstonePolicy;
use jobbers_sqlite_file::OpenFiles;

use super::{
    catalog::Catalog, clock::StoreClock, damage::Damage, heartbeats::Heartbeats, mark::Mark, reserve::Reserve,
    stall::Stall, steps::StepCounter, waiters::Waiters, watch::Watch,
};

/// The state shared by writer, readers and watch.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock: StoreClock,
    /// The latest configuration seen; a transaction that finds another version reads it again.
    pub(super) catalog: ArcSwap<Catalog>,
    pub(super) waiters: Waiters,
    pub(super) watch: Watch,
    /// The store's commit counter at our latest commit: a higher one means another process committed.
    pub(super) own_commits: AtomicI64,
    pub(super) stall: Stall,
    pub(super) files: OpenFiles,
    pub(super) heartbeats: Heartbeats,
    pub(super) mark: Mark,
    pub(super) damage: Damage,
    pub(super) reserve: Reserve,
    /// Where steps are counted ([`crate::OpenOptions::steps`]).
    pub(super) steps: Option<Arc<StepCounter>>,
    pub(super) tombstones: TombstonePolicy,
}
