//! Tasks that were taken and whose answer has not been handed to the connection yet.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use jobbers_common::engine::boards::{
    Commit, Selection, Update,
    task::{BoardTime, When},
};

use super::front::Front;

/// A taken task. When the last copy is dropped before [`Undelivered::delivered`], the task is visible again at once.
///
/// It gets a new id then, and the time of the take: so it queues behind the tasks that were already due. Bytes that the
/// connection took count as delivered; if the caller dies before it reads them, the lease ends by itself.
#[derive(Debug, Clone)]
pub(super) struct Undelivered(Arc<TakenTask>);

#[derive(Debug)]
struct TakenTask {
    front: Arc<Front>,
    revision: u64,
    taken_at: BoardTime,
    delivered: AtomicBool,
}

impl Undelivered {
    pub(super) fn new(front: Arc<Front>, revision: u64, taken_at: BoardTime) -> Self {
        Self(Arc::new(TakenTask { front, revision, taken_at, delivered: AtomicBool::new(false) }))
    }

    /// Notes that the connection has the whole answer.
    pub(super) fn delivered(&self) {
        self.0.delivered.store(true, Ordering::Relaxed);
    }
}

impl Drop for TakenTask {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and the lease ends by itself.
        if *self.delivered.get_mut() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (front, revision) = (Arc::clone(&self.front), self.revision);
        let update = Update {
            which: Selection::Revision(revision),
            group: None,
            at: Some(When::At(self.taken_at)),
            content: None,
        };
        self.front.calls.spawn(async move {
            let commit = Commit { update: vec![update], ..front.empty_commit() };
            // A conflict: a client that knows the id has changed the task since.
            if let Err(error) = front.boards.commit(commit).await {
                tracing::warn!(%error, id = revision, "a task that no caller got stays hidden until its lease ends");
            }
        });
    }
}
