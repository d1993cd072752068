//! Logged changes, until an archive has them.

use jobbers_common::{
    engine::{Error, LoggedChange, LoggedChanges, LoggedKey, Result},
    limits::{LOGGED_CHANGES_BYTES, MAX_LOGGED_CHANGES},
    name::ChangeId,
    time::Timestamp,
};

use super::state::State;

impl State {
    pub(super) fn log_change(&mut self, id: &ChangeId, record: &str, now: Timestamp) -> Result<()> {
        if self.logged_changes.iter().any(|change| change.id == *id) {
            return Ok(());
        }
        if self.logged_changes.len() >= MAX_LOGGED_CHANGES {
            return Err(Error::AuditLogFull { max: MAX_LOGGED_CHANGES });
        }
        self.revision += 1;
        let (id, record) = (id.clone(), record.to_owned());
        self.logged_changes.push(LoggedChange { number: self.revision, id, begun_at: now, record, outcome: None });
        Ok(())
    }

    pub(super) fn log_outcome(&mut self, id: &ChangeId, outcome: &str) -> bool {
        let Some(change) = self.logged_changes.iter_mut().find(|change| change.id == *id) else { return false };
        change.outcome.get_or_insert_with(|| outcome.to_owned());
        true
    }

    pub(super) fn logged_changes(&self, after: u64, limit: usize, now: Timestamp) -> LoggedChanges {
        let (mut bytes, mut changes) = (0, Vec::new());
        for change in self.logged_changes.iter().filter(|change| change.number > after).take(limit) {
            bytes += change.record.len() + change.outcome.as_ref().map_or(0, String::len);
            if !changes.is_empty() && bytes > LOGGED_CHANGES_BYTES {
                break;
            }
            changes.push(change.clone());
        }
        LoggedChanges { now, changes, total: self.logged_changes.len() as u64 }
    }

    pub(super) fn forget_logged_changes(&mut self, keys: &[LoggedKey]) {
        self.logged_changes.retain(|change| !keys.contains(&change.key()));
    }
}
