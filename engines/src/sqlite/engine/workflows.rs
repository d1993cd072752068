//! [`Workflows`] of the SQLite store: runs of workflows.

use async_trait::async_trait;
use jobbers_common::{
    engine::{DueRuns, PutRun, Result, RunCounts, RunQuery, StoredRun, Workflows, reads::validate_limit},
    name::WorkflowId,
    workflow::Run,
};

use crate::sqlite::{SqliteEngine, workflows};

#[async_trait]
impl Workflows for SqliteEngine {
    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        let put = workflows::PreparedRun::of(run, put)?;
        self.writer.grow(1, put.growth(), move |step| workflows::put(step, &put)).await
    }

    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        let id = id.clone();
        self.read(move |view| workflows::find(view.conn, &id)).await
    }

    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        let id = id.clone();
        self.read(move |view| workflows::definition(view.conn, &id)).await
    }

    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        query.validate()?;
        self.read(move |view| workflows::list(view.conn, &query)).await
    }

    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        let id = id.clone();
        self.writer.run(1, move |step| workflows::delete(step, &id, revision)).await
    }

    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        validate_limit(limit)?;
        self.read(move |view| workflows::due(view, limit)).await
    }

    async fn count_workflows(&self) -> Result<RunCounts> {
        self.read(|view| workflows::count(view.conn)).await
    }
}
