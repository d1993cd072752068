//! How a store is opened.

use std::{sync::Arc, time::Duration};

use jobbers_common::{task::tombstone::TombstonePolicy, time::Clock};

/// How to open a store.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The clock to go by in place of the store's own. For tests.
    pub clock: Option<Arc<dyn Clock>>,
    /// Refuse to open a missing store instead of creating it: for a caller that only examines an existing one, and
    /// would find that all is well in an unused store.
    pub must_exist: bool,
    /// For how long a store that can't be reached is tried again, before its error is returned.
    pub wait: Duration,
    /// Counts the steps of SQLite's virtual machine on all connections to the store. For tests.
    #[cfg(feature = "sqlite")]
    pub steps: Option<Arc<crate::sqlite::StepCounter>>,
    /// How long, and how many, ids of pruned tasks are remembered.
    pub tombstones: TombstonePolicy,
}

impl OpenOptions {
    /// Opens only what is there.
    #[must_use]
    pub fn existing() -> Self {
        Self { must_exist: true, ..Self::default() }
    }
}

/// Logs which store the process uses: programs that were started in two folders have two SQLite files. `is_new` is what
/// the store's own transaction returned, so that only one of several processes logs that it created the store.
pub(crate) fn announce(store: &str, is_new: bool) {
    if is_new {
        tracing::info!(store, "created the store");
    } else {
        tracing::info!(store, "opened the store");
    }
}
