//! [`Letters`] of the Redis store: the outbox of dead letters.

use async_trait::async_trait;
use jobbers_common::engine::{DeadKey, Letters, Outbox, Result};

use crate::redis::{RedisEngine, follow, kernel};

#[async_trait]
impl Letters for RedisEngine {
    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        follow::letters::letters(&self.store, after, limit).await
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        follow::letters::forget(&self.store, keys, &kernel::script::FORGET_DEAD_LETTERS).await
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        follow::letters::forget(&self.store, keys, &kernel::script::FORGET_RECEIPTS).await
    }
}
