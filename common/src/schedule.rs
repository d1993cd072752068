//! Schedules: tasks and workflows that the managers start by themselves, by a cron expression or at an interval.
//!
//! A schedule has *slots*, the points in time at which it fires. Rust computes them ([`slots`]) and decides what is due
//! ([`plan`]); a store keeps the schedule and its state as JSON that it does not read, and changes it by compare-and-set on
//! its revision ([`crate::engine::schedules`]). So each slot fires once, however many managers run.
//!
//! Start reading at [`Schedule`], then [`plan`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    limits::{MAX_CATCH_UP, MAX_JITTER, MAX_SCHEDULE_NAME_BYTES, MAX_WORKFLOW_SCHEDULE_NAME_BYTES},
    name::ScheduleName,
    submission::template::TaskTemplate,
    time::Timestamp,
    values::duration,
};

pub mod entry;
pub mod plan;
mod target;

pub use jobbers_terms::schedule::{Cron, ScheduleError, Slots, Timing, cron, slot_text, slots};

pub use self::{
    plan::{ON_TIME, Plan},
    target::{RunId, Target, WorkflowTemplate},
};

/// The action for a slot while the latest run is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is fired regardless.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
    /// One slot waits for the end of the run, later ones are skipped.
    BufferOne,
    /// It is fired, and the latest run is cancelled.
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
#[serde(try_from = "ScheduleFields")]
pub struct Schedule {
    /// Its name.
    pub name: ScheduleName,
    /// When it fires.
    pub timing: Timing,
    /// What it starts: the field `task` or `workflow`.
    #[serde(flatten)]
    pub target: Target,
    /// What is done while the latest run is not over.
    pub overlap: Overlap,
    /// What is done about late slots.
    pub catch_up: CatchUp,
    /// Each task or workflow starts up to this long after its slot, always as long for one slot.
    #[serde(with = "duration::text")]
    pub jitter: Duration,
    /// A paused schedule has no slots.
    pub paused: bool,
}

/// A schedule's settings as they are read. `#[serde(flatten)]` would change the numbers in parameters.
#[derive(Deserialize)]
struct ScheduleFields {
    name: ScheduleName,
    timing: Timing,
    #[serde(default)]
    task: Option<TaskTemplate>,
    #[serde(default)]
    workflow: Option<WorkflowTemplate>,
    #[serde(default)]
    overlap: Overlap,
    #[serde(default)]
    catch_up: CatchUp,
    #[serde(default, with = "duration::text")]
    jitter: Duration,
    #[serde(default)]
    paused: bool,
}

impl TryFrom<ScheduleFields> for Schedule {
    type Error = &'static str;

    fn try_from(fields: ScheduleFields) -> Result<Self, Self::Error> {
        let ScheduleFields { name, timing, task, workflow, overlap, catch_up, jitter, paused } = fields;
        let target = match (task, workflow) {
            (Some(task), None) => Target::Task(task),
            (None, Some(workflow)) => Target::Workflow(workflow),
            _ => return Err("a schedule starts either a task or a workflow"),
        };
        Ok(Self { name, timing, target, overlap, catch_up, jitter, paused })
    }
}

impl Schedule {
    /// Checks it for itself; whether its queues exist is the store's to say.
    ///
    /// # Errors
    /// [`ScheduleError`] for the first field that makes no sense: an expression that can't be read or never fires, an
    /// unknown time zone, a value out of its bounds.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        let (most, of_what) = match &self.target {
            Target::Task(_) => (MAX_SCHEDULE_NAME_BYTES, "tasks"),
            Target::Workflow(_) => (MAX_WORKFLOW_SCHEDULE_NAME_BYTES, "workflows"),
        };
        if self.name.as_str().len() > most {
            return Err(ScheduleError::new(
                "name",
                format!("is at most {most} bytes: the ids of its {of_what} contain it"),
            ));
        }
        if matches!(&self.target, Target::Workflow(workflow) if !workflow.graph.is_sorted()) {
            return Err(ScheduleError::new("workflow", "has an edge that leads forwards"));
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

    /// The id of what a slot starts, a task or a run of a workflow: the same on every manager.
    #[must_use]
    pub fn slot_id(&self, slot: Timestamp) -> String {
        format!("schedule:{}:{}", self.name, slot_text(slot))
    }

    /// The id of what is started by hand while the schedule is at a revision, which no other run of it was started at.
    #[must_use]
    pub fn run_id(&self, revision: u64) -> String {
        format!("schedule:{}:run:{revision}", self.name)
    }
}

/// What a schedule started, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// Its id: the field `task` or `workflow`.
    #[serde(flatten)]
    pub id: RunId,
    /// When it was started.
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

/// How many runs before the latest one a schedule remembers.
pub const EARLIER_RUNS: usize = 9;

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
    pub last_run: Option<LastRun>,
    /// The runs before that one, the latest first: at most [`EARLIER_RUNS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_runs: Vec<LastRun>,
    /// The slot that waits for the end of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffered: Option<Timestamp>,
    /// Slots whose task or workflow was started.
    pub fired: u64,
    /// Slots that no manager fired in time, or that were refused.
    pub missed: u64,
    /// Slots left out by the overlap policy.
    pub skipped: u64,
    /// The latest slot that was refused, until one is fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<SlotRefusal>,
}

impl ScheduleState {
    /// Notes what was started last.
    fn note_run(&mut self, run: LastRun) {
        let before = self.last_run.replace(run);
        self.earlier_runs.splice(..0, before);
        self.earlier_runs.truncate(EARLIER_RUNS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        limits::MAX_WORKFLOW_ID_BYTES,
        name::{TaskId, WorkflowId},
    };

    const TASK: &str = r#""task":{"name":"echo","version":1,"priority":5,"parameters":{"n": 1.0},"overrides":{}}"#;

    fn read(target: &str) -> Result<Schedule, serde_json::Error> {
        serde_json::from_str(&format!(r#"{{"name":"s","timing":{{"every":"60s"}},{target}}}"#))
    }

    fn workflow(edge: u32) -> String {
        let node = |name: &str, on: &str| format!(r#"{{"name":"{name}",{TASK},"depends_on":[{on}]}}"#);
        let nodes = [node("a", ""), node("b", &format!(r#"{{"on":{edge}}}"#))];
        format!(r#""workflow":{{"graph":{{"nodes":[{}]}}}}"#, nodes.join(","))
    }

    #[test]
    fn a_schedule_starts_a_task_or_a_workflow_and_keeps_its_parameters_as_they_were_given() {
        for target in [TASK.to_owned(), workflow(0)] {
            let schedule = read(&target).unwrap();
            assert_eq!(schedule.validate(), Ok(()));
            let text = serde_json::to_string(&schedule).unwrap();
            assert!(text.contains(r#""parameters":{"n": 1.0}"#), "{text}");
            assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
        }
        for target in [r#""paused":false"#.to_owned(), format!("{TASK},{}", workflow(0))] {
            let error = read(&target).unwrap_err().to_string();
            assert!(error.contains("either a task or a workflow"), "{error}");
        }
        assert_eq!(read(&workflow(7)).unwrap().validate().unwrap_err().field, "workflow");
    }

    #[test]
    fn the_latest_run_is_a_task_or_a_workflow() {
        let at = Timestamp::from_micros(7);
        for (id, text) in [
            (RunId::Task(TaskId::new("t").unwrap()), r#"{"task":"t","at":7}"#),
            (RunId::Workflow(WorkflowId::new("w").unwrap()), r#"{"workflow":"w","at":7}"#),
        ] {
            let run = LastRun { id, at };
            assert_eq!(serde_json::to_string(&run).unwrap(), text);
            assert_eq!(serde_json::from_str::<LastRun>(text).unwrap(), run);
        }
    }

    #[test]
    fn the_ids_of_runs_fit_with_the_longest_name() {
        let longest = ScheduleName::new("x".repeat(MAX_WORKFLOW_SCHEDULE_NAME_BYTES)).unwrap();
        let schedule = Schedule { name: longest, ..read(&workflow(0)).unwrap() };
        assert_eq!(schedule.validate(), Ok(()));
        let slot = Timestamp::from_micros(1_795_406_275_000_000);
        // A revision is a time in microseconds, and has 16 digits until the year 2286.
        for id in [schedule.slot_id(slot), schedule.run_id(1_795_406_275_123_456)] {
            assert_eq!(id.len(), MAX_WORKFLOW_ID_BYTES, "{id}");
        }
        let longer = ScheduleName::new("x".repeat(MAX_WORKFLOW_SCHEDULE_NAME_BYTES + 1)).unwrap();
        assert_eq!(Schedule { name: longer, ..schedule }.validate().unwrap_err().field, "name");
    }
}
