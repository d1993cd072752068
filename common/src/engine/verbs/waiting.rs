//! Calls that last until something happens.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    engine::Result,
    name::{TaskId, WorkerId},
    task::Task,
};

/// What waits for an event. These calls take as long as nothing happens.
#[async_trait]
pub trait Waiting: Send + Sync {
    /// Returns when something may have changed for this worker, or after `timeout`: tasks in queues of its last claim
    /// that gave none, a cancel request for a task it holds, or configuration. May return early without a reason. A
    /// change between that claim and this call is not missed. Dropping the future is safe.
    async fn wait(&self, worker: &WorkerId, timeout: Duration);

    /// Waits until the task is over or deleted, at most `timeout`, and returns its state then. Returns at once if it is
    /// over already or unknown. Dropping the future is safe. Waiting costs the store next to nothing.
    ///
    /// # Errors
    /// Only those of the store.
    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>>;
}
