//! Runs of workflows, as a store keeps them: JSON that it does not read, a revision, a state and times to find them by.
//!
//! A run's definition is written once and stored apart from its record, which changes often and is small. The tasks of a run
//! are ordinary tasks; a manager reads how they stand with [`super::Tasks::statuses`] and moves the run on by
//! compare-and-set on its revision. So no manager is special, and a step that two of them make is made once.

use super::due::Due;
use crate::{
    engine::limit::validate_limit,
    error::{Error, Result},
    limits::{MAX_BATCH, MAX_RUN_BYTES, MAX_WORKFLOW_BYTES, MAX_WORKFLOW_ID_BYTES},
    name::{TaskId, WorkflowId},
    time::Timestamp,
    workflow::{Run, RunState, Workflow},
};

/// A run in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// What is stored.
    pub run: Run,
    /// New at each change, from the store's counter: one that was given is never given again.
    pub revision: u64,
}

/// How a run is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutRun {
    /// There must be none of its id. With its definition, as [`encode_workflow`] wrote it.
    Create(String),
    /// It must be at this revision; its definition stays.
    Replace(u64),
}

/// Which runs to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunQuery {
    /// Only those in this state.
    pub state: Option<RunState>,
    /// Those that come after this one, by its time of creation and its id.
    pub after: Option<(Timestamp, WorkflowId)>,
    /// The oldest first; otherwise the latest first.
    pub oldest_first: bool,
    /// At most how many, 1 to 1,000.
    pub limit: usize,
}

/// Runs with something to do.
pub type DueRuns = Due<StoredRun>;

/// How many runs there are by state, in the order of [`RunState::ALL`].
pub type RunCounts = [u64; RunState::ALL.len()];

/// A run's record, as it is stored.
///
/// # Errors
/// [`Error::Invalid`] for an id that is too long, and past [`MAX_RUN_BYTES`].
pub fn encode_run(run: &Run) -> Result<String> {
    if run.id.as_str().len() > MAX_WORKFLOW_ID_BYTES {
        return Err(Error::Invalid(format!("a workflow's id has at most {MAX_WORKFLOW_ID_BYTES} characters")));
    }
    let text = serde_json::to_string(run).map_err(|error| Error::Invalid(error.to_string()))?;
    if text.len() > MAX_RUN_BYTES {
        return Err(Error::Invalid(format!("the record of a run is at most {MAX_RUN_BYTES} bytes")));
    }
    Ok(text)
}

/// Reads what [`encode_run`] wrote.
///
/// # Errors
/// [`Error::Corrupt`].
pub fn decode_run(text: &str) -> Result<Run> {
    serde_json::from_str(text).map_err(|error| Error::Corrupt(format!("a run of a workflow: {error}")))
}

/// A definition, as it is stored.
///
/// # Errors
/// [`Error::Invalid`] past [`MAX_WORKFLOW_BYTES`].
pub fn encode_workflow(workflow: &Workflow) -> Result<String> {
    let text = serde_json::to_string(workflow).map_err(|error| Error::Invalid(error.to_string()))?;
    validate_definition(&text)?;
    Ok(text)
}

/// Reads what [`encode_workflow`] wrote.
///
/// # Errors
/// [`Error::Corrupt`].
pub fn decode_workflow(text: &str) -> Result<Workflow> {
    let workflow: Workflow =
        serde_json::from_str(text).map_err(|error| Error::Corrupt(format!("a workflow's definition: {error}")))?;
    if workflow.is_sorted() {
        return Ok(workflow);
    }
    Err(Error::Corrupt("a workflow's definition: an edge leads forwards".to_owned()))
}

/// Checks the size of a definition.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_definition(text: &str) -> Result<()> {
    if text.len() <= MAX_WORKFLOW_BYTES {
        return Ok(());
    }
    let rule = format!(
        "a workflow with its parameters is at most {MAX_WORKFLOW_BYTES} bytes, not {}; have its tasks read what is large",
        text.len()
    );
    Err(Error::Invalid(rule))
}

impl RunQuery {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        validate_limit(self.limit)
    }
}

/// Checks how many tasks are asked for at once.
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_ids(ids: &[TaskId]) -> Result<()> {
    if ids.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call asks for at most {MAX_BATCH} tasks")));
    }
    Ok(())
}
