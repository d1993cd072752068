//! Changes by commands that write to a store, and ask no manager.

use jobbers_common::{
    audit_log::{ChangeOutcome, ChangeRecord, ChangeResult, Way},
    engine::{Engine, Error},
    name::ChangeId,
};

use crate::dead_letters::changes::new_id;

/// A change by a command, which is logged and under way. If its process dies, its outcome is unknown.
#[derive(Debug)]
pub struct CommandChange<'a> {
    engine: &'a dyn Engine,
    id: ChangeId,
}

impl<'a> CommandChange<'a> {
    /// Logs that a command is about to change an object of the store; `by` is the user of the machine.
    ///
    /// # Errors
    /// Those of [`AuditLog::log_change`](jobbers_common::engine::AuditLog::log_change); then the change must not be made.
    pub async fn begin(engine: &'a dyn Engine, by: &str, operation: &str, object: Option<&str>) -> Result<Self, Error> {
        let record = ChangeRecord {
            way: Way::Cli,
            key: None,
            by: Some(by.to_owned()),
            address: None,
            operation: operation.to_owned(),
            object: object.map(str::to_owned),
            request: None,
        };
        let id = new_id();
        engine.log_change(&id, &record.encode()).await?;
        Ok(Self { engine, id })
    }

    /// Logs the outcome: what else than its result is known of it, or how it failed.
    ///
    /// # Errors
    /// Those of [`AuditLog::log_outcome`](jobbers_common::engine::AuditLog::log_outcome).
    pub async fn end(self, outcome: Result<ChangeOutcome, &Error>) -> Result<(), Error> {
        let outcome = outcome.unwrap_or_else(|error| {
            let result = if error.is_transient() { ChangeResult::Failed } else { ChangeResult::Refused };
            ChangeOutcome { problem: Some(error.kind().to_owned()), ..ChangeOutcome::of(result) }
        });
        self.engine.log_outcome(&self.id, &outcome.encode()).await.map(drop)
    }
}
