//! What the verbs of a transaction change besides their rows: counts, notifications, and what is still to be done.

use std::{collections::BTreeMap, sync::Arc};

use jobbers_common::{
    dependency::End,
    history::Slot,
    name::{BoardName, TaskId, WorkerId},
};

use super::{catalog::Catalog, chore::Chore};

/// What other callers are notified of once the transaction is committed.
#[derive(Debug, Clone)]
pub(crate) enum Notification {
    /// A task of this queue became ready.
    Ready(i64),
    /// This number of tasks of this queue was set aside behind a gate, for workers that know their kind.
    SetAside(i64, String, usize),
    /// A task of this queue stopped running, and the queue limits how many run.
    Freed(i64),
    /// A cancel request reached a task of this worker.
    Cancel(WorkerId),
    /// This task is over.
    Finished(TaskId),
    /// A group of a board received a task, or one of its tasks moved to an earlier time: at this revision.
    Board(BoardName, String, u64),
    /// The configuration changed.
    Config,
}

/// What the verbs of a transaction change besides their rows.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) revision: i64,
    pub(crate) catalog: Arc<Catalog>,
    /// Changes of the tallies that are not yet written.
    pub(crate) tallies: BTreeMap<(i64, u8), i64>,
    /// Tasks deleted, per queue.
    pub(crate) removed: BTreeMap<i64, i64>,
    /// Changes of the bytes that wait, per queue that limits them.
    pub(crate) bytes: BTreeMap<i64, i64>,
    /// What happened, per queue.
    pub(crate) history: BTreeMap<i64, Slot>,
    /// From when on chores have something to do, per queue.
    pub(crate) due: BTreeMap<(Chore, i64), i64>,
    pub(crate) notifications: Vec<Notification>,
    /// Linked tasks whose end is still to be signalled.
    pub(crate) ended: Vec<EndedTask>,
    /// Tasks of a submission whose ids were taken before.
    pub(crate) stored_again: Vec<TaskId>,
}

/// The state of a [`Ledger`], so that a failing verb's share can be undone.
#[derive(Debug)]
pub(crate) struct LedgerSavepoint {
    revision: i64,
    catalog: Arc<Catalog>,
    tallies: BTreeMap<(i64, u8), i64>,
    removed: BTreeMap<i64, i64>,
    bytes: BTreeMap<i64, i64>,
    history: BTreeMap<i64, Slot>,
    due: BTreeMap<(Chore, i64), i64>,
    notifications: usize,
}

impl Ledger {
    pub(crate) fn new(revision: i64, catalog: Arc<Catalog>) -> Self {
        Self { revision, catalog, ..Self::default() }
    }

    pub(crate) fn savepoint(&self) -> LedgerSavepoint {
        LedgerSavepoint {
            revision: self.revision,
            catalog: Arc::clone(&self.catalog),
            tallies: self.tallies.clone(),
            removed: self.removed.clone(),
            bytes: self.bytes.clone(),
            history: self.history.clone(),
            due: self.due.clone(),
            notifications: self.notifications.len(),
        }
    }

    pub(crate) fn return_to(&mut self, savepoint: LedgerSavepoint) {
        let LedgerSavepoint { revision, catalog, tallies, removed, bytes, history, due, notifications } = savepoint;
        self.notifications.truncate(notifications);
        let notifications = std::mem::take(&mut self.notifications);
        *self = Self { revision, catalog, tallies, removed, bytes, history, due, notifications, ..Self::default() };
    }
}

/// A task that is over or gone, whose successors must be signalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndedTask {
    pub(crate) key: i64,
    pub(crate) id: TaskId,
    /// Earlier edges do not concern it: they belong to an earlier end, which is still to be signalled.
    pub(crate) from: i64,
    /// Later edges do not concern it. 0 once all its edges are signalled.
    pub(crate) before: i64,
    pub(crate) end: End,
}
