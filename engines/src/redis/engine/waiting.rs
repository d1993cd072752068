//! [`Waiting`] of the Redis store: callers that wait for an event.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Result, Waiting},
    name::{TaskId, WorkerId},
    task::Task,
};
use tokio::time::timeout;

use crate::redis::{RedisEngine, read, server::awaited_tasks::LOOK_AGAIN_SOON};

#[async_trait]
impl Waiting for RedisEngine {
    async fn wait(&self, worker: &WorkerId, limit: Duration) {
        self.store.leases.follow();
        let told = self.store.notifications.of_worker(worker);
        timeout(limit.min(LOOK_AGAIN_SOON), told.notified()).await.ok();
    }

    async fn await_finished(&self, id: &TaskId, limit: Duration) -> Result<Option<Task>> {
        read::awaiting::await_finished(&self.store, id, limit).await
    }
}
