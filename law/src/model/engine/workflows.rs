//! [`Workflows`] of the model: runs of workflows.

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        DueRuns, PutRun, Result, RunCounts, RunQuery, StoredRun, Workflows,
        reads::validate_limit,
        workflows::{encode_run, validate_definition},
    },
    name::WorkflowId,
    workflow::Run,
};

use crate::model::ModelEngine;

#[async_trait]
impl Workflows for ModelEngine {
    async fn put_workflow(&self, run: Run, put: PutRun) -> Result<u64> {
        encode_run(&run)?;
        if let PutRun::Create(definition) = &put {
            validate_definition(definition)?;
        }
        self.step(|state, _| state.put_workflow(run, put))
    }

    async fn workflow(&self, id: &WorkflowId) -> Result<Option<StoredRun>> {
        Ok(self.step(|state, _| state.workflows.get(id).map(|(stored, _)| stored.clone())))
    }

    async fn workflow_definition(&self, id: &WorkflowId) -> Result<Option<String>> {
        Ok(self.step(|state, _| state.workflows.get(id).map(|(_, definition)| definition.clone())))
    }

    async fn list_workflows(&self, query: RunQuery) -> Result<Vec<StoredRun>> {
        query.validate()?;
        Ok(self.step(|state, _| state.list_workflows(&query)))
    }

    async fn delete_workflow(&self, id: &WorkflowId, revision: u64) -> Result<()> {
        self.step(|state, _| state.delete_workflow(id, revision))
    }

    async fn due_workflows(&self, limit: usize) -> Result<DueRuns> {
        validate_limit(limit)?;
        Ok(self.step(|state, now| state.due_workflows(limit, now)))
    }

    async fn count_workflows(&self) -> Result<RunCounts> {
        Ok(self.step(|state, _| state.count_workflows()))
    }
}
