//! What the writer, the readers and the watch of one store share.

use std::sync::{Arc, atomic::AtomicI64};

use arc_swap::ArcSwap;
use jobbers_common::task::tombstone::TombstonePolicy;
use jobbers_sqlite_file::OpenFiles;

use super::{waiters::Waiters, watch::Watch};
use crate::sqlite::{
    kernel::catalog::Catalog,
    store::{
        clock::StoreClock, damage::Damage, heartbeats::Heartbeats, mark::Mark, reserve::Reserve, stall::Stall,
        steps::StepCounter,
    },
};

/// The state shared by writer, readers and watch.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: StoreClock,
    /// The latest configuration seen; a transaction that finds another version reads it again.
    pub(crate) catalog: ArcSwap<Catalog>,
    pub(crate) waiters: Waiters,
    pub(crate) watch: Watch,
    /// The store's commit counter at our latest commit: a higher one means another process committed.
    pub(crate) own_commits: AtomicI64,
    pub(crate) stall: Stall,
    pub(crate) files: OpenFiles,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) mark: Mark,
    pub(crate) damage: Damage,
    pub(crate) reserve: Reserve,
    /// Where steps are counted ([`crate::OpenOptions::steps`]).
    pub(crate) steps: Option<Arc<StepCounter>>,
    pub(crate) tombstones: TombstonePolicy,
}
