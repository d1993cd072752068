//! [`AuditLog`] of the model: the outbox of the audit log.

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        AuditLog, LoggedChanges, LoggedKey, Result, audit_log as log, audit_log::validate_record, reads::validate_limit,
    },
    name::ChangeId,
};

use crate::model::ModelEngine;

#[async_trait]
impl AuditLog for ModelEngine {
    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()> {
        validate_record(record)?;
        self.step(|state, now| state.log_change(id, record, now))
    }

    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool> {
        validate_record(outcome)?;
        Ok(self.step(|state, _| state.log_outcome(id, outcome)))
    }

    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.logged_changes(after, limit, now)))
    }

    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()> {
        log::validate_forget(keys)?;
        self.step(|state, _| state.forget_logged_changes(keys));
        Ok(())
    }
}
