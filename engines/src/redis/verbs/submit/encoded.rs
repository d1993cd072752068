//! One submitted task as a part of another step, which includes `scripts/verbs/submit.lua`.

use jobbers_common::{
    engine::{OnConflict, Result, Submitted},
    task::NewTask,
};
use redis::{Cmd, Value};

use super::wire::{AnswerKey, TaskRun, encode, mode_of, read_answer, write_group};

/// A task in the script's format, and what is needed to read its answer.
#[derive(Debug)]
pub(crate) struct EncodedTask {
    runs: Vec<TaskRun>,
    task: NewTask,
}

impl EncodedTask {
    /// Encodes a task.
    ///
    /// # Errors
    /// As a submission's.
    pub(crate) fn of(task: NewTask) -> Result<Self> {
        Ok(Self { runs: encode(std::slice::from_ref(&task))?, task })
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.runs.iter().map(TaskRun::bytes).sum()
    }

    /// Adds the arguments that `submit.lua` takes from 2 on.
    pub(crate) fn write(&self, command: &mut Cmd) {
        command.arg(1);
        write_group(mode_of(OnConflict::Fail), &[self.runs.as_slice()], command);
    }

    /// Reads the result for it.
    ///
    /// # Errors
    /// As a submission's.
    pub(crate) fn read(self, answer: Value) -> Result<Option<Submitted>> {
        Ok(read_answer(answer, vec![AnswerKey::from(self.task)])?.pop())
    }
}
