//! Who works: reports of workers, requests to drain, catalogues of tasks.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    engine::Result,
    name::WorkerId,
    queue::Config,
    worker::{
        RegisteredWorker, WorkerReport,
        registry::{Catalogue, CatalogueId},
    },
};

/// The workers of a store.
#[async_trait]
pub trait Workers: Send + Sync {
    /// Notes a worker's report, which is forgotten `ttl` after the last one. Returns the configuration's version.
    ///
    /// # Errors
    /// Only those of the store. Safe to repeat.
    async fn register_worker(&self, report: WorkerReport, ttl: Duration) -> Result<u64>;

    /// Forgets a worker that left in good order. An unknown one is not an error.
    ///
    /// # Errors
    /// Only those of the store.
    async fn deregister_worker(&self, worker: &WorkerId) -> Result<()>;

    /// The workers with a report within their ttl, in the order of their ids.
    ///
    /// # Errors
    /// Only those of the store.
    async fn workers(&self) -> Result<Vec<RegisteredWorker>>;

    /// Asks a live worker to claim nothing more, or to claim again. The request is part of the configuration
    /// ([`Config::draining`]), so it reaches the worker at once. It lasts until it is revoked or the worker leaves in
    /// good order. Repeating it changes nothing.
    ///
    /// # Errors
    /// [`Error::UnknownWorker`](crate::engine::Error::UnknownWorker) for one that is neither alive nor draining by request. Safe to repeat.
    async fn set_draining(&self, worker: &WorkerId, draining: bool) -> Result<Arc<Config>>;

    /// Stores a catalogue for `ttl` from now; storing it again prolongs that.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) beyond its bound. Safe to repeat.
    async fn keep_catalogue(&self, catalogue: &Catalogue, ttl: Duration) -> Result<CatalogueId>;

    /// The catalogue of this digest, unless it has expired.
    ///
    /// # Errors
    /// Only those of the store.
    async fn catalogue(&self, id: CatalogueId) -> Result<Option<Catalogue>>;
}
