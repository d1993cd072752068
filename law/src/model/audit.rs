//! The audit: one map has no second place to disagree with, but its counters are two.

use jobbers_common::{
    engine::{AuditRequest, Audited, Error, Finding, Flaw, Result},
    lifecycle::Status,
};

use super::state::{State, Stored};

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
        for stored in self.tasks.values().filter(|stored| stored.task.status == Status::Waiting) {
            let is_live = |on| self.tasks.get(on).is_some_and(|it: &Stored| !it.task.status.is_finished());
            if stored.left() == 0 || !stored.waits_for.keys().all(is_live) {
                findings.push(Finding {
                    flaw: Flaw::Unplaced,
                    subject: stored.task.id.to_string(),
                    detail: format!("it waits, and for none that is still to end: {:?}", stored.waits_for),
                    repaired: false,
                });
            }
        }
        Ok(Audited { looked_at: self.tasks.len() as u64, findings, next: None })
    }
}
