//! Notifies the waiting callers of this process of what a commit has changed.

use std::collections::BTreeMap;

use crate::sqlite::{
    kernel::ledger::Notification,
    threads::{shared::Shared, waiters::SetAside},
};

/// Notifies the waiting callers of what has happened.
pub(super) fn notify_waiting(shared: &Shared, notifications: Vec<Notification>) {
    let (mut ready, mut set_aside, mut freed) = (BTreeMap::new(), SetAside::new(), BTreeMap::new());
    for item in notifications {
        match item {
            Notification::SetAside(queue, gate, tasks) => {
                *set_aside.entry(queue).or_default().entry(gate).or_default() += tasks;
            }
            Notification::Freed(queue) => *freed.entry(queue).or_default() += 1,
            Notification::Ready(queue) => *ready.entry(queue).or_default() += 1,
            Notification::Cancel(worker) => shared.waiters.notify_worker(&worker),
            Notification::Finished(id) => shared.waiters.notify_finished(&id),
            Notification::Board(board, group, woken_at) => shared.waiters.groups.notify(board, group, woken_at),
            Notification::Config => shared.waiters.notify_workers(),
        }
    }
    shared.waiters.notify_ready(ready, set_aside);
    shared.waiters.notify_freed(freed);
}
