//! [`Queues`] of the Redis store: queues, their settings and their history.

use std::sync::Arc;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Deleted, PutMode, QueueListRequest, QueuePage, QueueStats, Queues, Result},
    history::{Grain, History},
    name::QueueName,
    queue::{Config, QueueConfig},
};

use crate::redis::{RedisEngine, follow, read, verbs};

#[async_trait]
impl Queues for RedisEngine {
    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        read::tasks::queue_stats(&self.store, queue).await
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        read::tasks::list_queues(&self.store, &request).await
    }

    async fn history(&self, queues: &[QueueName], by: Grain) -> Result<History> {
        follow::history::read(&self.store, queues, by).await
    }

    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        verbs::settings::create_queues(&self.store, queues).await
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        verbs::settings::put_queue(&self.store, &queue, &mode).await
    }

    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        verbs::settings::delete_queue(&self.store, queue, expected.as_ref()).await
    }

    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64> {
        verbs::upkeep::purge_queue(&self.store, queue, limit).await
    }

    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        verbs::upkeep::move_tasks(&self.store, from, to, limit).await
    }
}
