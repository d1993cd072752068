//! Schedules, as a store keeps them: JSON that it does not read, a revision, and when there is something to do.
//!
//! A manager reads what is due ([`super::Schedules::due_schedules`]), decides ([`crate::schedule::plan`]) and fires
//! ([`super::Schedules::fire_schedule`]). That last step compares the schedule's revision, judges whether its latest run is over,
//! submits the task or creates the record of the workflow's run, and stores the schedule's next state, all or nothing. So
//! each slot fires once: another manager, or a repetition, finds another revision.
//!
//! The tasks of a workflow are submitted afterwards, piece by piece, as those of any run whose record is stored
//! ([`super::workflows`]).

use super::due::Due;
use crate::{
    engine::{
        submit::{OnConflict, Submit, Submitted},
        workflows::{encode_run, validate_definition},
    },
    error::{Error, Result},
    name::{ScheduleName, TaskId},
    schedule::{RunId, entry::ScheduleEntry},
    task::NewTask,
    workflow::Run,
};

/// A schedule in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSchedule {
    /// What is stored.
    pub entry: ScheduleEntry,
    /// New at each change, from the store's counter: one that was given is never given again.
    pub revision: u64,
}

/// How a schedule is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutSchedule {
    /// There must be none of its name.
    Create,
    /// It must be at this revision.
    Replace(u64),
}

/// Schedules with a slot to fire, or one to hold back.
pub type DueSchedules = Due<StoredSchedule>;

/// What a step starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// A task, which is submitted.
    Task(Box<NewTask>),
    /// A run of a workflow: its record is created with its definition, as [`super::workflows::encode_workflow`] wrote it.
    Workflow(Box<Run>, String),
}

impl Launch {
    /// What it starts, by its id.
    #[must_use]
    pub fn id(&self) -> RunId {
        match self {
            Self::Task(task) => RunId::Task(task.id.clone()),
            Self::Workflow(run, _) => RunId::Workflow(run.id.clone()),
        }
    }
}

/// The latest run before a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Previous {
    /// A task. The store judges whether it is over.
    Task(TaskId),
    /// A run of a workflow that is not over.
    Workflow {
        /// Its record as it becomes if the step cancels it.
        cancelled: Box<Run>,
        /// Its revision, as it was read.
        revision: u64,
    },
}

/// What is done when the latest run is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfBusy {
    /// The step starts what it starts all the same.
    Start,
    /// So it does, and the latest run is cancelled.
    Cancel,
    /// The step starts nothing, and the schedule becomes this.
    Hold(Box<ScheduleEntry>),
}

/// One step of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fire {
    /// The schedule's revision, as it was read.
    pub revision: u64,
    /// What the schedule becomes.
    pub entry: ScheduleEntry,
    /// What its slot starts, or none where a slot is only noted.
    pub launch: Option<Launch>,
    /// The latest run before this one.
    pub previous: Option<Previous>,
    /// What is done while that run is not over.
    pub if_busy: IfBusy,
}

impl Fire {
    /// The schedule's name.
    #[must_use]
    pub fn name(&self) -> &ScheduleName {
        &self.entry.schedule.name
    }

    /// Its task as a batch.
    #[must_use]
    pub fn batch(&self) -> Option<Submit> {
        let Some(Launch::Task(task)) = &self.launch else { return None };
        Some(Submit { tasks: vec![(**task).clone()], on_conflict: OnConflict::Fail })
    }

    /// Checks what every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`] by [`Submit::validate`], [`encode_run`] and [`validate_definition`], for a task with a unique
    /// key, and for an entry of another schedule.
    pub fn validate(&self) -> Result<()> {
        match &self.launch {
            Some(Launch::Task(task)) if task.unique.is_some() => {
                return Err(Error::Invalid("the task of a schedule has no unique key: say overlap".to_owned()));
            }
            Some(Launch::Workflow(run, definition)) => {
                encode_run(run)?;
                validate_definition(definition)?;
            }
            _ => {}
        }
        if let Some(batch) = self.batch() {
            batch.validate()?;
        }
        match &self.if_busy {
            IfBusy::Hold(entry) if entry.schedule.name != *self.name() => {
                Err(Error::Invalid("both entries are of one schedule".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fired {
    /// What the step starts was started, and the schedule is at this revision.
    Done {
        /// The schedule's revision.
        revision: u64,
        /// The task, if it was one.
        submitted: Option<Submitted>,
    },
    /// The latest run is not over: nothing was started, and the schedule is at this revision.
    Held {
        /// The schedule's revision.
        revision: u64,
    },
    /// The schedule, or the workflow that is its latest run, is at another revision, or gone. Nothing was changed.
    Changed,
}
