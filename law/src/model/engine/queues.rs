//! [`Queues`] of the model: queues, their settings and their history.

use std::sync::Arc;

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Deleted, PutMode, QueueListRequest, QueuePage, QueueStats, Queues, Result, reads::validate_limit,
        settings::validate_creation, upkeep::validate_move,
    },
    history::{Grain, History, validate_history},
    name::QueueName,
    queue::{Config, QueueConfig},
};

use crate::model::ModelEngine;

#[async_trait]
impl Queues for ModelEngine {
    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        self.step(|state, _| state.queue_stats(queue))
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        validate_limit(request.limit)?;
        Ok(self.step(|state, _| state.list_queues(&request)))
    }

    async fn history(&self, queues: &[QueueName], by: Grain) -> Result<History> {
        validate_history(queues.len())?;
        Ok(self.step(|state, now| state.history(queues, by, now)))
    }

    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        validate_creation(queues)?;
        self.step(|state, _| state.create_queues(queues));
        Ok(())
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        self.step(|state, _| state.put_queue(queue, &mode))
    }

    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        self.step(|state, now| state.delete_queue(queue, expected.as_ref(), now))
    }

    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        self.step(|state, _| state.purge_queue(queue, limit))
    }

    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        validate_move(from, to, limit)?;
        self.step(|state, now| state.move_tasks(from, to, limit, now))
    }
}
