//! [`Claims`] of the Redis store: what workers do with the tasks that they lease.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{Claims, Cycle, CycleReply, ExtendAnswer, Extension, Result},
    name::WorkerId,
};

use crate::redis::{RedisEngine, verbs};

#[async_trait]
impl Claims for RedisEngine {
    async fn cycle(&self, cycle: Cycle) -> Result<CycleReply> {
        verbs::work::cycle(&self.store, &cycle).await
    }

    async fn extend(
        &self,
        worker: &WorkerId,
        lease: Duration,
        extensions: Vec<Extension>,
    ) -> Result<Vec<ExtendAnswer>> {
        verbs::work::extend(&self.store, worker, lease, &extensions).await
    }
}
