//! [`Workflows`] of the Redis store: runs of workflows.

use async_trait::async_trait;
use jobbers_common::{
    engine::{DueRuns, PutRun, Result, RunCounts, RunQuery, StoredRun, Workflows},
    name::WorkflowId,
    workflow::Run,
};

use crate::redis::{RedisEngine, workflows};

#[async_trait]
impl Workflows for RedisEngine {
    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        workflows::put(&self.store, &run, put).await
    }

    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        workflows::find(&self.store, id).await
    }

    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        workflows::definition(&self.store, id).await
    }

    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        workflows::list(&self.store, &query).await
    }

    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        workflows::delete(&self.store, id, revision).await
    }

    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        workflows::due(&self.store, limit).await
    }

    async fn count_workflows(&self) -> Result<RunCounts> {
        workflows::count(&self.store).await
    }
}
