//! [`Queues`] of the SQLite store: queues, their settings and their history.

use std::sync::Arc;

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Deleted, PutMode, QueueListRequest, QueuePage, QueueStats, Queues, Result, reads::validate_limit,
        settings::validate_creation, upkeep::validate_move,
    },
    history::{Grain, History, validate_history},
    limits::MAX_BATCH,
    name::QueueName,
    queue::{Config, QueueConfig},
};

use crate::sqlite::{
    SqliteEngine,
    follow::history,
    read::tasks,
    verbs::{prune, settings},
};

#[async_trait]
impl Queues for SqliteEngine {
    async fn queue_stats(&self, queue: &QueueName) -> Result<QueueStats> {
        let queue = queue.clone();
        self.read(move |view| tasks::queue_stats(view, &queue)).await
    }

    async fn list_queues(&self, request: QueueListRequest) -> Result<QueuePage> {
        validate_limit(request.limit)?;
        self.read(move |view| tasks::list_queues(view, &request)).await
    }

    async fn history(&self, queues: &[QueueName], by: Grain) -> Result<History> {
        validate_history(queues.len())?;
        let queues = queues.to_vec();
        self.read(move |view| history::read(view, &queues, by)).await
    }

    async fn create_queues(&self, queues: &[QueueName]) -> Result<()> {
        validate_creation(queues)?;
        let queues = queues.to_vec();
        self.writer.run(queues.len(), move |step| settings::create_queues(step, &queues)).await
    }

    async fn put_queue(&self, queue: QueueConfig, mode: PutMode<QueueConfig>) -> Result<Arc<Config>> {
        self.writer.run(1, move |step| settings::put_queue(step, &queue, &mode)).await
    }

    async fn delete_queue(&self, queue: &QueueName, expected: Option<QueueConfig>) -> Result<Deleted> {
        let queue = queue.clone();
        self.writer.run(MAX_BATCH, move |step| settings::delete_queue(step, &queue, expected.as_ref())).await
    }

    async fn purge_queue(&self, queue: &QueueName, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        let queue = queue.clone();
        self.writer.run(limit, move |step| prune::purge_queue(step, &queue, limit)).await
    }

    async fn move_tasks(&self, from: &QueueName, to: &QueueName, limit: usize) -> Result<u64> {
        validate_move(from, to, limit)?;
        let (from, to) = (from.clone(), to.clone());
        self.writer.run(limit, move |step| settings::move_tasks(step, &from, &to, limit)).await
    }
}
