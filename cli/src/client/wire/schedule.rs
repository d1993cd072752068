//! Schedules, as far as they are shown.

use serde::Deserialize;

use super::Page;

/// A schedule.
#[derive(Debug, Deserialize)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// Its cron expression.
    pub cron: Option<String>,
    /// That one's time zone.
    pub time_zone: Option<String>,
    /// Its interval.
    pub every: Option<String>,
    /// The task that it submits.
    pub task: Option<Template>,
    /// The workflow that it starts.
    pub workflow: Option<WorkflowTemplate>,
    /// What is done while the latest run is not over.
    pub overlap: String,
    /// What is done about late slots.
    pub catch_up: String,
    /// Whether it rests.
    pub paused: bool,
    /// Its next slot.
    pub next_slot: Option<String>,
    /// The latest slot that was fired.
    pub last_slot: Option<String>,
    /// The latest run.
    pub last_run: Option<Run>,
    /// Slots whose task or workflow was started.
    pub fired: u64,
    /// Slots that no manager fired in time, or that were refused.
    pub missed: u64,
    /// Slots left out for the latest run.
    pub skipped: u64,
    /// The latest slot that was refused.
    pub refusal: Option<Refusal>,
}

impl Schedule {
    /// When it fires, in a few words.
    #[must_use]
    pub fn when(&self) -> String {
        match (&self.cron, &self.time_zone, &self.every) {
            (Some(cron), Some(time_zone), _) => format!("{cron} ({time_zone})"),
            (Some(cron), None, _) => cron.clone(),
            (None, _, Some(every)) => format!("every {every}"),
            (None, _, None) => String::new(),
        }
    }

    /// What it starts, in a few words.
    #[must_use]
    pub fn what(&self) -> String {
        match (&self.task, &self.workflow) {
            (Some(task), _) => task.name.clone(),
            (None, Some(workflow)) if workflow.nodes.len() == 1 => "workflow of 1 task".to_owned(),
            (None, Some(workflow)) => format!("workflow of {} tasks", workflow.nodes.len()),
            (None, None) => String::new(),
        }
    }
}

/// The task that a schedule submits.
#[derive(Debug, Deserialize)]
pub struct Template {
    /// The task's name.
    pub name: String,
}

/// The workflow that a schedule starts.
#[derive(Debug, Deserialize)]
pub struct WorkflowTemplate {
    /// Its nodes.
    pub nodes: Vec<Template>,
}

/// What a schedule started.
#[derive(Debug, Deserialize)]
pub struct Run {
    /// The task's id.
    pub task: Option<String>,
    /// The workflow's id.
    pub workflow: Option<String>,
    /// When it was started.
    pub at: String,
}

impl Run {
    /// What was started, and when.
    #[must_use]
    pub fn shown(&self) -> String {
        let id = self.task.as_deref().or(self.workflow.as_deref()).unwrap_or_default();
        format!("{id} at {}", self.at)
    }
}

/// A slot that was refused.
#[derive(Debug, Deserialize)]
pub struct Refusal {
    /// Which.
    pub slot: String,
    /// Why.
    pub reason: String,
}

/// A page of schedules.
#[derive(Debug, Deserialize)]
pub struct Schedules {
    /// The schedules.
    pub schedules: Vec<Schedule>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

impl Page for Schedules {
    type Item = Schedule;

    fn turned(self) -> (Vec<Schedule>, Option<String>) {
        (self.schedules, self.next_cursor)
    }
}

/// The next slots of a schedule.
#[derive(Debug, Deserialize)]
pub struct NextSlots {
    /// In their order.
    pub slots: Vec<String>,
}

/// What was started on request: a task or a workflow.
#[derive(Debug, Deserialize)]
pub struct StartedRun {
    /// Its id.
    pub id: String,
}
