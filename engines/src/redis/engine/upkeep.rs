//! [`Upkeep`] of the Redis store: due tasks, expired leases, retention, the check of the store.

use async_trait::async_trait;
use jobbers_common::engine::{AuditRequest, Audited, Health, PruneRequest, Pruned, Reclaimed, Result, Upkeep};

use crate::redis::{RedisEngine, audit, read, verbs};

#[async_trait]
impl Upkeep for RedisEngine {
    async fn promote_due(&self, limit: usize) -> Result<u64> {
        verbs::upkeep::promote_due(&self.store, limit).await
    }

    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed> {
        verbs::upkeep::reclaim_expired(&self.store, limit).await
    }

    async fn prune(&self, request: PruneRequest) -> Result<Pruned> {
        verbs::prune::prune(&self.store, &request).await
    }

    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        audit::audit(&self.store, &request).await
    }

    async fn health(&self) -> Result<Health> {
        read::health::health(&self.store).await
    }
}
