//! [`Waiting`] of the SQLite store: callers that wait for an event.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Result, Tasks, Waiting},
    name::{TaskId, WorkerId},
    task::Task,
};
use tokio::time::timeout;

use crate::sqlite::SqliteEngine;

#[async_trait]
impl Waiting for SqliteEngine {
    async fn wait(&self, worker: &WorkerId, longest: Duration) {
        let wake = self.shared.waiters.wake_of(worker);
        let _blocked = self.shared.waiters.enter();
        self.shared.watch.wake();
        // Notified or out of time: the worker looks in either case.
        timeout(longest, wake.notified()).await.ok();
    }

    async fn await_finished(&self, id: &TaskId, longest: Duration) -> Result<Option<Task>> {
        match timeout(longest, self.until_finished(id)).await {
            Ok(task) => task,
            Err(_) => self.get(id).await,
        }
    }
}
