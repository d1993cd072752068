//! The reads under way besides calls: the store's configuration, and the registered workers.

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use jobbers_common::{
    engine::{Engine, Result},
    queue::Config as StoreConfig,
    worker::RegisteredWorker,
};
use tokio::time::timeout;

/// A read, if one is under way.
pub(super) struct Read<T>(Option<BoxFuture<'static, T>>);

impl<T> Default for Read<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Read<T> {
    pub(super) const fn is_under_way(&self) -> bool {
        self.0.is_some()
    }

    /// Its result; pending for ever if none is under way.
    pub(super) async fn next(&mut self) -> T {
        let Some(reading) = &mut self.0 else { return pending().await };
        let read = reading.await;
        self.0 = None;
        read
    }
}

impl Read<Result<Arc<StoreConfig>>> {
    /// Reads the configuration.
    pub(super) fn begin(&mut self, engine: Arc<dyn Engine>) {
        self.0 = Some(Box::pin(async move { engine.config().await }));
    }
}

impl Read<Option<Vec<RegisteredWorker>>> {
    /// Reads the registered workers; `None` if the store does not answer within this time.
    pub(super) fn begin(&mut self, engine: Arc<dyn Engine>, within: Duration) {
        self.0 = Some(Box::pin(async move {
            match timeout(within, engine.workers()).await {
                Ok(Ok(workers)) => Some(workers),
                Ok(Err(error)) => {
                    tracing::debug!(%error, "could not read which workers are registered");
                    None
                }
                Err(_) => None,
            }
        }));
    }
}
