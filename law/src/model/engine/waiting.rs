//! [`Waiting`] of the model: callers that wait for an event.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Result, Tasks, Waiting},
    name::{TaskId, WorkerId},
    task::Task,
};

use crate::model::ModelEngine;

#[async_trait]
impl Waiting for ModelEngine {
    async fn wait(&self, worker: &WorkerId, timeout: Duration) {
        let waker = self.waker(worker);
        tokio::time::timeout(timeout, waker.notified()).await.ok();
    }

    async fn await_finished(&self, id: &TaskId, timeout: Duration) -> Result<Option<Task>> {
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            finished.as_mut().enable();
            let task = self.get(id).await?;
            if task.as_ref().is_none_or(|task| task.status.is_finished()) {
                return Ok(task);
            }
            if tokio::time::timeout_at(deadline, finished).await.is_err() {
                return self.get(id).await;
            }
        }
    }
}
