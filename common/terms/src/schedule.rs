//! When a schedule fires, and its slots: the points in time at which it does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::values::duration;

pub mod cron;
pub mod slots;

pub use self::{
    cron::Cron,
    slots::{Slots, slot_text},
};

/// When a schedule fires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// By the wall clock of a time zone.
    Cron {
        /// Five fields, or six with seconds in front: `0 2 * * *`.
        expression: String,
        /// A name of the IANA database: `Europe/Berlin`.
        time_zone: String,
    },
    /// At every multiple of this much time since 1970-01-01T00:00:00Z: whole seconds, 1 s to 366 d.
    #[serde(with = "duration::text")]
    Every(Duration),
}

/// What makes no sense about a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct ScheduleError {
    /// The field's name on the wire.
    pub field: &'static str,
    /// What it must be.
    pub rule: String,
}

impl ScheduleError {
    /// A field, and what it must be.
    pub fn new(field: &'static str, rule: impl Into<String>) -> Self {
        Self { field, rule: rule.into() }
    }
}
