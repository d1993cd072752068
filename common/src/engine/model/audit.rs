//! The audit: one map has no second place to disagree with, but its counters are two.

use super::state::State;
use crate::engine::{AuditRequest, Audited, Error, Finding, Flaw, Result};

impl State {
    pub(super) fn audit(&self, request: &AuditRequest) -> Result<Audited> {
        if request.cursor.is_some() {
            return Err(Error::Invalid("this cursor is not from this store".to_owned()));
        }
        let mut findings = Vec::new();
        for queue in &self.queues {
            let (accepted, removed) = self.counters.get(queue).copied().unwrap_or_default();
            let held = self.tasks.values().filter(|stored| stored.task.queue == *queue).count() as u64;
            if accepted != removed + held {
                findings.push(Finding {
                    flaw: Flaw::Miscounted,
                    subject: queue.to_string(),
                    detail: format!("{accepted} accepted, {removed} removed, {held} there"),
                    repaired: false,
                });
            }
        }
        Ok(Audited { looked_at: self.tasks.len() as u64, findings, next: None })
    }
}
