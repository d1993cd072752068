//! A task in a line of a journal, stored or as a dead letter.

use jobbers_common::{engine::backup::StoredTask, payload::Payload};
use serde::{Deserialize, Serialize};

use super::payload::PayloadLine;

/// A task with its payloads beside it, because those are bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskLine {
    stored: StoredTask,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parameters: Option<PayloadLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<PayloadLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint: Option<PayloadLine>,
}

impl TaskLine {
    pub(super) fn of(stored: &StoredTask) -> Self {
        let mut stored = stored.clone();
        let task = &mut stored.task;
        let take = |payload: &mut Option<Payload>| payload.take().map(|payload| PayloadLine::of(&payload));
        let (parameters, result) = (take(&mut task.parameters), take(&mut task.result));
        let checkpoint = take(&mut task.checkpoint);
        Self { stored, parameters, result, checkpoint }
    }

    pub(super) fn read(self) -> Result<StoredTask, String> {
        let read = |line: Option<PayloadLine>| line.map(|line| line.read()).transpose();
        let mut stored = self.stored;
        (stored.task.parameters, stored.task.result) = (read(self.parameters)?, read(self.result)?);
        stored.task.checkpoint = read(self.checkpoint)?;
        stored.validate()?;
        Ok(stored)
    }
}
