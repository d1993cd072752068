//! [`AuditLog`] of the SQLite store: the outbox of the audit log.

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        AuditLog, LoggedChanges, LoggedKey, Result, audit_log as log, audit_log::validate_record, reads::validate_limit,
    },
    name::ChangeId,
};

use crate::sqlite::{SqliteEngine, audit_log};

#[async_trait]
impl AuditLog for SqliteEngine {
    async fn log_change(&self, id: &ChangeId, record: &str) -> Result<()> {
        validate_record(record)?;
        let (id, record) = (id.clone(), record.to_owned());
        self.writer.run(1, move |step| audit_log::begin(step, &id, &record)).await
    }

    async fn log_outcome(&self, id: &ChangeId, outcome: &str) -> Result<bool> {
        validate_record(outcome)?;
        let (id, outcome) = (id.clone(), outcome.to_owned());
        self.writer.run(1, move |step| audit_log::end(step, &id, &outcome)).await
    }

    async fn logged_changes(&self, after: u64, limit: usize) -> Result<LoggedChanges> {
        validate_limit(limit)?;
        self.read(move |view| audit_log::read(view, after, limit)).await
    }

    async fn forget_logged_changes(&self, keys: &[LoggedKey]) -> Result<()> {
        log::validate_forget(keys)?;
        let keys = keys.to_vec();
        self.writer.run(keys.len(), move |step| audit_log::forget(step, &keys)).await
    }
}
