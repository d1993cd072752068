//! Schedules: tasks that the managers submit by themselves, by a cron expression or at an interval.
//!
//! A schedule has *slots*, the points in time at which it fires. Rust computes them ([`slots`]) and decides what is due
//! ([`plan`]); a store keeps the schedule and its state as JSON that it does not read, and changes it by compare-and-set on
//! its revision ([`crate::engine::schedules`]). So each slot fires once, however many managers run.
//!
//! Start reading at [`Schedule`], then [`plan`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    duration,
    limits::{MAX_CATCH_UP, MAX_JITTER, MAX_SCHEDULE_NAME_BYTES},
    name::{ScheduleName, TaskId},
    template::TaskTemplate,
    time::Timestamp,
};

pub mod plan;
pub mod slots;

pub use self::{
    plan::{ON_TIME, Plan},
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

/// The action for a slot while the latest run is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is submitted regardless.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
    /// One slot waits for the end of the run, later ones are skipped.
    BufferOne,
    /// It is submitted, and the latest run is cancelled.
    CancelPrevious,
}

/// The action for slots that no manager fired in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// They are missed.
    None,
    /// The latest of them is fired, unless a later slot is on time; the others are missed.
    #[default]
    Latest,
    /// The latest so many of them are fired, the oldest first; the others are missed.
    All(u32),
}

/// A schedule's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its name.
    pub name: ScheduleName,
    /// When it fires.
    pub timing: Timing,
    /// What it submits.
    pub task: TaskTemplate,
    /// What is done while the latest run is not over.
    #[serde(default)]
    pub overlap: Overlap,
    /// What is done about late slots.
    #[serde(default)]
    pub catch_up: CatchUp,
    /// Each task starts up to this long after its slot, always as long for one slot.
    #[serde(default, with = "duration::text")]
    pub jitter: Duration,
    /// A paused schedule has no slots.
    #[serde(default)]
    pub paused: bool,
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
    pub(crate) fn new(field: &'static str, rule: impl Into<String>) -> Self {
        Self { field, rule: rule.into() }
    }
}

impl Schedule {
    /// Checks it for itself; whether its queue exists is the store's to say.
    ///
    /// # Errors
    /// [`ScheduleError`] for the first field that makes no sense: an expression that can't be read or never fires, an
    /// unknown time zone, a value out of its bounds.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        if self.name.as_str().len() > MAX_SCHEDULE_NAME_BYTES {
            let rule = format!("is at most {MAX_SCHEDULE_NAME_BYTES} bytes, for the ids of its tasks contain it");
            return Err(ScheduleError::new("name", rule));
        }
        Slots::of(&self.timing)?;
        if matches!(self.catch_up, CatchUp::All(limit) if limit == 0 || limit > MAX_CATCH_UP) {
            return Err(ScheduleError::new("catch_up_limit", format!("is 1 to {MAX_CATCH_UP}")));
        }
        if self.jitter > MAX_JITTER {
            return Err(ScheduleError::new("jitter", "is at most 1d"));
        }
        if matches!(self.timing, Timing::Every(every) if self.jitter >= every) {
            return Err(ScheduleError::new("jitter", "is shorter than the interval"));
        }
        Ok(())
    }

    /// The id of the task of a slot: the same on every manager.
    ///
    /// # Panics
    /// Never: the name is short, and a time has legal characters.
    #[must_use]
    pub fn task_id(&self, slot: Timestamp) -> TaskId {
        #[expect(clippy::expect_used, reason = "a legal name and a time, far below the bound")]
        TaskId::new(format!("schedule:{}:{}", self.name, slot_text(slot))).expect("a legal task id")
    }
}

/// A task that a schedule submitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub task: TaskId,
    /// When it was submitted.
    pub at: Timestamp,
}

/// A slot that was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRefusal {
    /// When that was.
    pub at: Timestamp,
    /// Which slot.
    pub slot: Timestamp,
    /// Why.
    pub reason: String,
}

/// The outcomes of a schedule's slots so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScheduleState {
    /// When it was created.
    pub created_at: Timestamp,
    /// Slots up to here are decided, or are none. It only grows.
    pub after: Timestamp,
    /// The latest slot that was fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_slot: Option<Timestamp>,
    /// The latest run, one asked for by hand too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Run>,
    /// The slot that waits for the end of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffered: Option<Timestamp>,
    /// Slots whose task was submitted.
    pub fired: u64,
    /// Slots that no manager fired in time, or whose task was refused.
    pub missed: u64,
    /// Slots left out by the overlap policy.
    pub skipped: u64,
    /// The latest slot that was refused, until one is fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<SlotRefusal>,
}
