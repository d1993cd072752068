//! Records of workflow runs.

use async_trait::async_trait;

use crate::{
    engine::{DueRuns, PutRun, Result, RunCounts, RunQuery, StoredRun},
    name::WorkflowId,
    workflow::Run,
};

/// The workflow runs of a store.
#[async_trait]
pub trait Workflows: Send + Sync {
    /// Creates or replaces the record of a run. Answers its new revision.
    ///
    /// # Errors
    /// [`Error::Exists`](crate::engine::Error::Exists), [`Error::UnknownWorkflow`](crate::engine::Error::UnknownWorkflow) or [`Error::Changed`](crate::engine::Error::Changed) by [`PutRun`]; [`Error::Invalid`](crate::engine::Error::Invalid) by
    /// [`workflows::encode_run`](crate::engine::workflows::encode_run) and [`workflows::validate_definition`](crate::engine::workflows::validate_definition), and for one more than a store holds. After a
    /// transient error, read it again.
    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64>;

    /// A run.
    ///
    /// # Errors
    /// Only those of the store.
    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>>;

    /// The definition of a run, as it was created with it.
    ///
    /// # Errors
    /// Only those of the store.
    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>>;

    /// Runs by the time of their creation, the latest or the oldest first. One that exists, and keeps the state that is asked
    /// for, during a whole walk is listed exactly once.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>>;

    /// Deletes a run with its definition, if it is at this revision. Its tasks stay.
    ///
    /// # Errors
    /// [`Error::UnknownWorkflow`](crate::engine::Error::UnknownWorkflow); [`Error::Changed`](crate::engine::Error::Changed).
    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()>;

    /// Up to `limit` runs with something to do, the longest due first, and when the next one is due. Costs by what is due.
    /// The step that sends a task `<run>/<node>` again, or stores another task of its id, makes its run due at once and gives
    /// it another revision, unless its tasks are still being submitted: so what was decided from an earlier look is not stored.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::engine::Error::Invalid) for a limit of 0 or over 1,000.
    async fn due_workflows(&self, limit: usize) -> Result<DueRuns>;

    /// How many runs there are by state.
    ///
    /// # Errors
    /// Only those of the store.
    async fn count_workflows(&self) -> Result<RunCounts>;
}
