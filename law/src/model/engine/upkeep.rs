//! [`Upkeep`] of the model: due tasks, expired leases, retention, the check of the store.

use async_trait::async_trait;
use jobbers_common::{
    engine::{AuditRequest, Audited, Health, PruneRequest, Pruned, Reclaimed, Result, Upkeep, reads::validate_limit},
    task::tombstone::TombstoneHealth,
};

use crate::model::ModelEngine;

#[async_trait]
impl Upkeep for ModelEngine {
    async fn promote_due(&self, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| {
            state.time_out(now);
            state.promote_due(None, limit, now)
        }))
    }

    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.reclaim_expired(None, limit, now)))
    }

    async fn prune(&self, request: PruneRequest) -> Result<Pruned> {
        request.validate()?;
        self.step(|state, now| state.prune(&request, now))
    }

    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        request.validate()?;
        self.step(|state, _| state.audit(&request))
    }

    async fn health(&self) -> Result<Health> {
        Ok(Health {
            engine: "model",
            store: "model:".to_owned(),
            server: "the model".to_owned(),
            durability: "none: memory only".to_owned(),
            warnings: Vec::new(),
            troubles: Vec::new(),
            now: self.clock.now(),
            outbox: self.step(|state, _| state.outbox.len() as u64),
            tombstones: TombstoneHealth { count: self.step(|state, _| state.tombstones.len() as u64), cut_at: None },
        })
    }
}
