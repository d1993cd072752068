//! [`Upkeep`] of the SQLite store: due tasks, expired leases, retention, the check of the store.

use async_trait::async_trait;
use jobbers_common::engine::{
    AuditRequest, Audited, Error, Health, PruneRequest, PruneScope, Pruned, Reclaimed, Result, Upkeep,
    reads::validate_limit,
};

use crate::sqlite::{
    SqliteEngine, audit,
    follow::{dependency::external, gates, waiting_bytes},
    kernel::step,
    read::health,
    verbs::{maintain, prune},
};

/// The most leases that one transaction takes back, because a chore's transaction is short.
const RECLAIMED_A_PIECE: u64 = 300;

/// The most tasks that one call of an audit checks, because a chore's transaction is short.
const AUDITED_A_PIECE: usize = 500;

#[async_trait]
impl Upkeep for SqliteEngine {
    async fn promote_due(&self, limit: usize) -> Result<u64> {
        validate_limit(limit)?;
        let promote = move |step: &mut step::Step<'_>| {
            gates::wake_for_due(step)?;
            waiting_bytes::count_next(step)?;
            external::time_out(step)?;
            maintain::promote_all(step, limit)
        };
        self.writer.run(limit, promote).await
    }

    async fn reclaim_expired(&self, limit: usize) -> Result<Reclaimed> {
        validate_limit(limit)?;
        let mut all = Reclaimed::default();
        loop {
            let piece = RECLAIMED_A_PIECE.min(limit as u64 - all.total());
            let some = self.reclaim_piece(piece).await?;
            let count = some.total();
            all += some;
            if count < piece || all.total() >= limit as u64 {
                return Ok(all);
            }
        }
    }

    async fn prune(&self, request: PruneRequest) -> Result<Pruned> {
        request.validate()?;
        let limit = request.limit;
        if request.scope == PruneScope::Retention && !request.dry_run {
            let quota = self.quota;
            return self.writer.run(limit, move |step| prune::prune_retention(step, quota, limit)).await;
        }
        let is_dry = request.dry_run;
        let found = self.read(move |view| prune::find(view, &request)).await?;
        if is_dry {
            return Ok(found.counted());
        }
        self.writer.run(limit, move |step| prune::remove_found(step, &found)).await
    }

    async fn audit(&self, request: AuditRequest) -> Result<Audited> {
        request.validate()?;
        let request = AuditRequest { limit: request.limit.min(AUDITED_A_PIECE), ..request };
        let limit = request.limit;
        let look = self.read({
            let request = request.clone();
            move |view| audit::look(view, &request)
        });
        let look = match (look.await, &self.readers) {
            (Err(Error::Corrupt(why)), Some(readers)) => {
                readers.run_bare(move |conn| Ok(audit::look_at_pages(conn, &why))).await?
            }
            (look, _) => look?,
        };
        if !request.repair || !look.can_be_mended() {
            return Ok(look.into_audited());
        }
        self.writer.run(limit, move |step| audit::repair(step, look.clone())).await
    }

    async fn health(&self) -> Result<Health> {
        health::health(self).await
    }
}
