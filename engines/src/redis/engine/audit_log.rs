//! [`AuditLog`] of the Redis store: the outbox of the audit log.

use async_trait::async_trait;
use jobbers_common::{
    engine::{AuditLog, LoggedChanges, LoggedKey, Result},
    name::ChangeId,
};

use crate::redis::{RedisEngine, audit_log};

#[async_trait]
impl AuditLog for RedisEngine {
    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()> {
        audit_log::begin(&self.store, id, record).await
    }

    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool> {
        audit_log::end(&self.store, id, outcome).await
    }

    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges> {
        audit_log::read(&self.store, after, limit).await
    }

    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()> {
        audit_log::forget(&self.store, keys).await
    }
}
