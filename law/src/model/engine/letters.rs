//! [`Letters`] of the model: the outbox of dead letters.

use async_trait::async_trait;
use jobbers_common::engine::{DeadKey, Letters, Outbox, Result, letters::validate_forget, reads::validate_limit};

use crate::model::ModelEngine;

#[async_trait]
impl Letters for ModelEngine {
    async fn dead_letters(&self, after: u64, limit: usize) -> Result<Outbox> {
        validate_limit(limit)?;
        Ok(self.step(|state, _| state.dead_letters(after, limit)))
    }

    async fn forget_dead_letters(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        self.step(|state, _| state.forget_dead_letters(keys));
        Ok(())
    }

    async fn forget_receipts(&self, keys: &[DeadKey]) -> Result<()> {
        validate_forget(keys)?;
        self.step(|state, _| state.forget_receipts(keys));
        Ok(())
    }
}
