//! [`Letters`] of the SQLite store: the outbox of dead letters.

use async_trait::async_trait;
use jobbers_common::engine::{DeadKey, Letters, Outbox, Result, letters::validate_forget, reads::validate_limit};

use crate::sqlite::{SqliteEngine, follow::letters, sql};

#[async_trait]
impl Letters for SqliteEngine {
    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        validate_limit(limit)?;
        self.read(move |view| letters::letters(view, after, limit)).await
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| letters::forget(step, &keys, sql::FORGET_COPY)).await
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| letters::forget(step, &keys, sql::FORGET_RECEIPT)).await
    }
}
