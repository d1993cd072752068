//! Repairs inconsistencies of the store.

use async_trait::async_trait;
use jobbers_common::{
    engine::{AuditRequest, Result},
    limits::MAX_BATCH,
};

use crate::pass::{Batch, Pass, Round};

/// Checks the whole store, repairs what is certain, and reports the rest. A dry run reports everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair;

#[async_trait]
impl Pass for Repair {
    fn name(&self) -> &'static str {
        "repair"
    }

    async fn run_once(&self, round: Round<'_>, cursor: Option<String>) -> Result<Batch> {
        let request = AuditRequest { limit: MAX_BATCH, repair: !round.dry_run, cursor };
        let audited = round.engine.audit(request).await?;
        let repaired = audited.findings.iter().filter(|finding| finding.repaired).count() as u64;
        let left = audited.findings.into_iter().filter(|finding| !finding.repaired).collect();
        Ok(Batch { removed: 0, repaired, left, next: audited.next })
    }
}
