//! Who waits in this process for tasks of a group.
//!
//! For each awaited group there is the latest revision that wakes its callers, as commits of this process and looks at
//! those of others report it.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use jobbers_common::name::BoardName;
use parking_lot::Mutex;
use tokio::sync::watch;

type BoardGroup = (BoardName, String);

/// The register.
#[derive(Debug, Default)]
pub(crate) struct GroupWaiters {
    groups: Mutex<HashMap<BoardGroup, watch::Sender<u64>>>,
    /// How many groups are awaited, to be read without the lock.
    awaited: AtomicUsize,
}

impl GroupWaiters {
    /// Notes a caller's interest in a group, for as long as the answer lives.
    pub(super) fn enter(&self, board: &BoardName, group: &str) -> AwaitedGroup<'_> {
        let group = (board.clone(), group.to_owned());
        let mut groups = self.groups.lock();
        let woken_at = groups.entry(group.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe();
        self.awaited.store(groups.len(), Ordering::SeqCst);
        drop(groups);
        AwaitedGroup { waiters: self, group, woken_at }
    }

    /// Wakes those who wait for a group and have seen less than this revision.
    pub(crate) fn notify(&self, board: BoardName, group: String, woken_at: u64) {
        if self.awaited.load(Ordering::SeqCst) == 0 {
            return;
        }
        if let Some(sender) = self.groups.lock().get(&(board, group)) {
            sender.send_if_modified(|latest| {
                let is_later = *latest < woken_at;
                *latest = woken_at.max(*latest);
                is_later
            });
        }
    }

    /// The groups that are awaited.
    pub(crate) fn awaited(&self) -> Vec<BoardGroup> {
        self.groups.lock().keys().cloned().collect()
    }
}

/// A caller's interest in a group.
#[derive(Debug)]
pub(super) struct AwaitedGroup<'a> {
    waiters: &'a GroupWaiters,
    group: BoardGroup,
    woken_at: watch::Receiver<u64>,
}

impl AwaitedGroup<'_> {
    /// Returns when callers that have seen the board at `seen` are woken.
    pub(super) async fn woken_after(&mut self, seen: u64) {
        // The sender is there for as long as this is.
        self.woken_at.wait_for(|woken_at| *woken_at > seen).await.ok();
    }
}

impl Drop for AwaitedGroup<'_> {
    fn drop(&mut self) {
        let mut groups = self.waiters.groups.lock();
        // The only receiver is this one.
        if groups.get(&self.group).is_some_and(|sender| sender.receiver_count() == 1) {
            groups.remove(&self.group);
        }
        self.waiters.awaited.store(groups.len(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn board() -> BoardName {
        BoardName::new("b").unwrap()
    }

    #[test]
    fn callers_are_woken_by_what_they_have_not_seen() {
        let waiters = GroupWaiters::default();
        let (mut early, mut late) = (waiters.enter(&board(), "g"), waiters.enter(&board(), "g"));
        let mut elsewhere = waiters.enter(&board(), "h");
        waiters.notify(board(), "g".to_owned(), 5);
        waiters.notify(board(), "g".to_owned(), 3);
        assert!(early.woken_after(4).now_or_never().is_some());
        assert!(late.woken_after(5).now_or_never().is_none());
        assert!(elsewhere.woken_after(0).now_or_never().is_none());
    }

    #[test]
    fn a_group_is_forgotten_once_no_caller_waits_for_it() {
        let waiters = GroupWaiters::default();
        let (one, other) = (waiters.enter(&board(), "g"), waiters.enter(&board(), "g"));
        drop(one);
        assert_eq!(waiters.awaited(), [(board(), "g".to_owned())]);
        drop(other);
        assert!(waiters.awaited().is_empty());
        waiters.notify(board(), "g".to_owned(), 1);
    }
}
