//! Redis behind [`Engine`](jobbers_common::engine::Engine).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Cancelled, Cycle, CycleReply, Deleted, Engine, Error, ExtendAnswer, Extension, Health, ListRequest, Page,
        PruneRequest, Pruned, PutMode, QueueStats, Reclaimed, Result, Submit, Submitted,
    },
    name::{QueueName, RoleName, TaskId, WorkerId},
    queue::{Config, QueueConfig, RoleConfig},
    routing::{RouteKey, RouteRule},
    task::Task,
    worker::{RegisteredWorker, WorkerReport},
};

use crate::OpenOptions;

/// A store on a Redis server.
#[derive(Debug)]
pub struct RedisEngine {}

fn absent<T>() -> Result<T> {
    Err(Error::unavailable("the Redis engine is being written"))
}

impl RedisEngine {
    /// Opens the store at `url`.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn open(_url: &str, _options: OpenOptions) -> Result<Self> {
        absent()
    }
}

#[async_trait]
impl Engine for RedisEngine {
    async fn submit(&self, _: Submit) -> Result<Vec<Submitted>> {
        absent()
    }
    async fn cycle(&self, _: Cycle) -> Result<CycleReply> {
        absent()
    }
    async fn extend(&self, _: &WorkerId, _: Duration, _: Vec<Extension>) -> Result<Vec<ExtendAnswer>> {
        absent()
    }
    async fn wait(&self, _: &WorkerId, _: Duration) {}
    async fn get(&self, _: &TaskId) -> Result<Option<Task>> {
        absent()
    }
    async fn await_finished(&self, _: &TaskId, _: Duration) -> Result<Option<Task>> {
        absent()
    }
    async fn list(&self, _: ListRequest) -> Result<Page> {
        absent()
    }
    async fn queue_stats(&self, _: Option<&QueueName>) -> Result<Vec<QueueStats>> {
        absent()
    }
    async fn health(&self) -> Result<Health> {
        absent()
    }
    async fn cancel(&self, _: &[TaskId]) -> Result<Vec<Cancelled>> {
        absent()
    }
    async fn promote_due(&self, _: usize) -> Result<u64> {
        absent()
    }
    async fn reclaim_expired(&self, _: usize) -> Result<Reclaimed> {
        absent()
    }
    async fn prune(&self, _: PruneRequest) -> Result<Pruned> {
        absent()
    }
    async fn purge_queue(&self, _: &QueueName, _: usize) -> Result<u64> {
        absent()
    }
    async fn config(&self) -> Result<Arc<Config>> {
        absent()
    }
    async fn put_queue(&self, _: QueueConfig, _: PutMode) -> Result<Arc<Config>> {
        absent()
    }
    async fn delete_queue(&self, _: &QueueName) -> Result<Deleted> {
        absent()
    }
    async fn put_role(&self, _: RoleConfig, _: PutMode) -> Result<Arc<Config>> {
        absent()
    }
    async fn delete_role(&self, _: &RoleName) -> Result<Arc<Config>> {
        absent()
    }
    async fn put_route(&self, _: RouteKey, _: RouteRule) -> Result<Arc<Config>> {
        absent()
    }
    async fn delete_route(&self, _: &RouteKey) -> Result<Arc<Config>> {
        absent()
    }
    async fn register_worker(&self, _: WorkerReport, _: Duration) -> Result<u64> {
        absent()
    }
    async fn deregister_worker(&self, _: &WorkerId) -> Result<()> {
        absent()
    }
    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        absent()
    }
}
