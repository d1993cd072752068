//! The connection over HTTP of a program without the feature `http`: none can be made.

use std::{convert::Infallible, fmt::Display, time::Duration};

use jobbers_common::{
    engine::{Error, OnConflict},
    name::{TaskId, WorkflowId},
    payload::Payload,
    submission::draft::TaskDraft,
    workflow::RunState,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    answers::{SubmitResult, TaskStanding},
    error::SubmitError,
    named_workflow::NamedWorkflow,
};

#[derive(Debug)]
pub(super) struct Http(Infallible);

impl Http {
    pub(super) fn new(url: &str) -> Result<Self, Error> {
        Err(Error::Config(format!(
            "{url} is a manager's address, and this program is built without HTTP: build it with the feature `http` of \
             jobbers-worker"
        )))
    }

    pub(super) fn with_key(self, _: &str) -> Result<Self, Error> {
        match self.0 {}
    }

    pub(super) async fn post<T>(&self, _: &str, _: &impl Serialize, _: Duration) -> Result<T, SubmitError> {
        match self.0 {}
    }

    pub(super) async fn submit(&self, _: &[TaskDraft], _: OnConflict) -> Result<Vec<SubmitResult>, SubmitError> {
        match self.0 {}
    }

    pub(super) async fn submit_workflow(&self, _: &NamedWorkflow) -> Result<(), SubmitError> {
        match self.0 {}
    }

    pub(super) async fn workflow_state(&self, _: &WorkflowId) -> Result<Option<RunState>, SubmitError> {
        match self.0 {}
    }

    pub(super) async fn await_finished(&self, _: &TaskId, _: Duration) -> Result<Option<TaskStanding>, SubmitError> {
        match self.0 {}
    }

    pub(super) fn payload(&self, _: Option<&RawValue>, _: Option<&str>) -> Result<Option<Payload>, SubmitError> {
        match self.0 {}
    }

    pub(super) fn foreign(&self, _: impl Display) -> SubmitError {
        match self.0 {}
    }
}
