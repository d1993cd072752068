//! [`Workers`] of the SQLite store: workers, registered and drained.

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

use crate::sqlite::{
    SqliteEngine,
    read::tasks,
    verbs::{registered, settings},
};

#[async_trait]
impl Workers for SqliteEngine {
    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        self.writer.run(1, move |step| registered::register(step, &report, ttl)).await
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        self.shared.waiters.forget(worker);
        let worker = worker.clone();
        self.writer.run(1, move |step| settings::deregister_worker(step, &worker)).await
    }

    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        self.read(registered::all).await
    }

    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        let worker = worker.clone();
        self.writer.run(1, move |step| settings::set_draining(step, &worker, draining)).await
    }

    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        let (id, text) = catalogue.encode()?;
        self.writer.run(1, move |step| settings::keep_catalogue(step, id, &text, ttl)).await?;
        Ok(id)
    }

    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        self.read(move |view| tasks::catalogue(view, id)).await
    }
}
