//! [`Duties`] of the Redis store: duties that one process at a time has.

use async_trait::async_trait;
use jobbers_common::{
    engine::{Duties, Duty, DutyClaim, Result},
    name::{DutyName, HolderId},
};

use crate::redis::{RedisEngine, verbs};

#[async_trait]
impl Duties for RedisEngine {
    async fn claim_duty(&self, claim: DutyClaim) -> Result<Duty> {
        verbs::duty::claim(&self.store, &claim).await
    }

    async fn duty(&self, duty: &DutyName) -> Result<Option<Duty>> {
        verbs::duty::read(&self.store, duty).await
    }

    async fn release_duty(&self, duty: &DutyName, holder: &HolderId) -> Result<()> {
        verbs::duty::release(&self.store, duty, holder).await
    }
}
