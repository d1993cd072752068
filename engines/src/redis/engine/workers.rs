//! [`Workers`] of the Redis store: workers, registered and drained.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use jobbers_common::{
    engine::{Result, Workers},
    name::WorkerId,
    queue::Config,
    worker::{
        RegisteredWorker, WorkerReport,
        registry::{Catalogue, CatalogueId},
    },
};

use crate::redis::{RedisEngine, verbs};

#[async_trait]
impl Workers for RedisEngine {
    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        verbs::settings::register(&self.store, &report, ttl).await
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        verbs::settings::deregister(&self.store, worker).await
    }

    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        verbs::settings::workers(&self.store).await
    }

    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        verbs::settings::set_draining(&self.store, worker, draining).await
    }

    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        verbs::settings::keep_catalogue(&self.store, catalogue, ttl).await
    }

    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        verbs::settings::catalogue(&self.store, id).await
    }
}
