//! A schedule as it is stored: its settings, and the outcomes of its slots.

use serde::{Deserialize, Serialize};

use super::{Schedule, ScheduleState};
use crate::{
    error::{Error, Result},
    limits::MAX_SCHEDULE_BYTES,
    time::Timestamp,
};

/// A schedule, its state, and when there is something to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleEntry {
    /// Its settings.
    pub schedule: Schedule,
    /// The outcomes of its slots.
    pub state: ScheduleState,
    /// When it is due; `None` while it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

impl ScheduleEntry {
    /// As it is stored. Without its earlier runs if it would be too long with them.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings that make no sense, or over [`MAX_SCHEDULE_BYTES`].
    pub fn encode(&self) -> Result<String> {
        self.schedule.validate().map_err(|error| Error::Invalid(error.to_string()))?;
        let text = serde_json::to_string(self).map_err(|error| Error::Invalid(error.to_string()))?;
        if text.len() > MAX_SCHEDULE_BYTES && !self.state.earlier_runs.is_empty() {
            let mut shorter = self.clone();
            shorter.state.earlier_runs.clear();
            return shorter.encode();
        }
        if text.len() > MAX_SCHEDULE_BYTES {
            let rule =
                format!("a schedule with its parameters is at most {MAX_SCHEDULE_BYTES} bytes, not {}", text.len());
            return Err(Error::Invalid(rule));
        }
        Ok(text)
    }

    /// Reads what [`ScheduleEntry::encode`] wrote.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn decode(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::Corrupt(format!("a schedule: {error}")))
    }
}
