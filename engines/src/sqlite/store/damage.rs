//! Damage of the file that this process has met, so that health says it and not only the caller who met it.

use std::time::SystemTime;

use jobbers_common::engine::{Error, Result};
use parking_lot::Mutex;

/// The first damage that was met.
#[derive(Debug, Default)]
pub(crate) struct Damage(Mutex<Option<(SystemTime, String)>>);

impl Damage {
    /// Notes the damage in an answer of the file, and logs it the first time.
    pub(crate) fn note<T>(&self, answer: &Result<T>) {
        let Err(Error::Corrupt(why)) = answer else { return };
        let mut first = self.0.lock();
        if first.is_none() {
            tracing::error!(why, "the store is damaged: `jobbers doctor` says where. Restore a backup");
            *first = Some((SystemTime::now(), why.clone()));
        }
    }

    /// A warning for the operator.
    pub(crate) fn warning(&self) -> Option<String> {
        let first = self.0.lock();
        let (at, why) = first.as_ref()?;
        let minutes = at.elapsed().unwrap_or_default().as_secs() / 60;
        Some(format!(
            "the store is damaged, first met {minutes} minutes ago: {why}. `jobbers doctor` says where. Stop all processes, \
             keep a copy of the files, and restore a backup"
        ))
    }
}
