//! [`Workers`] of the model: workers, registered and drained.

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

use crate::model::{ModelEngine, state::State};

#[async_trait]
impl Workers for ModelEngine {
    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64> {
        Ok(self.step(|state, now| state.register_worker(report, ttl, now)))
    }

    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()> {
        self.step(|state, _| state.deregister_worker(worker));
        Ok(())
    }

    async fn workers(&self) -> Result<Vec<RegisteredWorker>> {
        Ok(self.step(|state, now| state.workers.values().filter(|worker| worker.expires_at > now).cloned().collect()))
    }

    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>> {
        self.step(|state, now| state.set_draining(worker, draining, now))
    }

    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId> {
        let (id, _) = catalogue.encode()?;
        self.step(|state, now| state.catalogues.insert(id, (catalogue.clone(), now.after(ttl))));
        Ok(id)
    }

    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>> {
        let kept = |state: &mut State, now| state.catalogues.get(&id).filter(|(_, until)| *until > now).cloned();
        Ok(self.step(kept).map(|(catalogue, _)| catalogue))
    }
}
