//! Tasks that are returned over HTTP.

use std::time::Duration;

use jobbers_common::{
    engine::SettleAnswer,
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_DELAY},
    name::{TaskId, WorkerId},
    payload::Payload,
    policy::error_kind::ErrorKind,
    values::duration,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Entry, RefusedEntry, Token, lost};
use crate::{
    openapi::ToSchema,
    problem::{Code, Result, invalid},
    value::{AnyJsonDoc, Asked, DurationDoc, NameDoc, StatusDoc, TaskIdDoc, Word},
    wire::{json, payload::Sent},
};

/// Tasks to return.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnRequest<'a> {
    /// The worker's name, by which it stays in the list of workers.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// 1 to 1,000 tasks.
    #[serde(borrow, deserialize_with = "json::few::<_, _, MAX_BATCH>")]
    #[schema(value_type = Vec<ReturnedRequest>, min_items = 1, max_items = 1000)]
    pub leases: Vec<Entry<ReturnedRequest<'a>>>,
}

/// A task to return.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LeaseReturn)]
pub struct ReturnedRequest<'a> {
    /// The task.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// The token its lease came with.
    pub token: Token,
    /// How the attempt ended.
    pub outcome: ReturnOutcome,
    /// With `completed`: what the task answers; any JSON, or base64 text if `result_content_type` names another type.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        borrow,
        deserialize_with = "crate::wire::payload::present"
    )]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub result: Option<&'a RawValue>,
    /// The type of a result that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_content_type: Option<String>,
    /// With `failed`, `retry` and `aborted`: what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub error: Option<ErrorRequest>,
    /// With `retry` and `released`: what the next attempt is to know, such as how far this one came; any JSON. It is kept and
    /// shown with the task.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        borrow,
        deserialize_with = "crate::wire::payload::present"
    )]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub checkpoint: Option<&'a RawValue>,
    /// With `retry` and `released`: not before this long. Default: at once.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub delay: Option<Duration>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReturnOutcome {
    /// It is done.
    Completed,
    /// It went wrong. The task's policy decides: another attempt after its backoff, or `failed` for good, as a dead letter
    /// unless it says otherwise.
    Failed,
    /// It went wrong, and is to be tried again after `delay`, if the task's policy leaves another attempt.
    Retry,
    /// It goes back unharmed: the attempt does not count and no error is noted.
    Released,
    /// The work is given up: the task ends as `aborted`, and tasks that depend on it go by their policies. Never retried,
    /// never a dead letter.
    Aborted,
    /// It was cancelled.
    Cancelled,
}

/// What went wrong.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReturnedError)]
pub struct ErrorRequest {
    /// What went wrong, in words. Cut at 4 KiB.
    #[serde(default)]
    pub message: String,
    /// What sort of error it is, as `retry_on` and `fatal_on` of a submission name it: your own word, or the class of the
    /// exception. Without control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256, example = "rate_limited")]
    pub kind: Option<ErrorKind>,
    /// Whether no further attempt can help: then there is none.
    #[serde(default)]
    pub fatal: bool,
}

impl ReturnedRequest<'_> {
    /// How long it is not to be tried again.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] over 366 days.
    pub fn delay(&self) -> Result<Duration> {
        match self.delay.unwrap_or_default() {
            delay if delay <= MAX_DELAY => Ok(delay),
            _ => Err(invalid("delay", "is at most 366d")),
        }
    }

    /// What the task answers.
    ///
    /// # Errors
    /// Those of [`Sent::payload`].
    pub fn result(&self, max_bytes: usize) -> Result<Option<Payload>> {
        let content_type = self.result_content_type.as_deref();
        Sent { field: "result", text: self.result, content_type, max_bytes }.payload()
    }

    /// What the next attempt is to know.
    ///
    /// # Errors
    /// Those of [`Sent::payload`].
    pub fn checkpoint(&self, max_bytes: usize) -> Result<Option<Payload>> {
        Sent { field: "checkpoint", text: self.checkpoint, content_type: None, max_bytes }.payload()
    }

    /// Refuses what does not belong to its outcome.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`].
    pub fn check(&self) -> Result<()> {
        use ReturnOutcome::{Aborted, Completed, Failed, Released, Retry};
        let is = |outcomes: &[ReturnOutcome]| outcomes.contains(&self.outcome);
        let has_result = self.result.is_some() || self.result_content_type.is_some();
        let misplaced = [
            ("result", has_result && !is(&[Completed]), "completed"),
            ("error", self.error.is_some() && !is(&[Failed, Retry, Aborted]), "failed, retry or aborted"),
            ("checkpoint", self.checkpoint.is_some() && !is(&[Retry, Released]), "retry or released"),
            ("delay", self.delay.is_some() && !is(&[Retry, Released]), "retry or released"),
        ];
        if self.outcome == Retry && self.error.as_ref().is_some_and(|error| error.fatal) {
            return Err(invalid("error", "is fatal, so the task can't be retried: return it as failed"));
        }
        match misplaced.into_iter().find(|(_, is_misplaced, _)| *is_misplaced) {
            Some((field, _, outcome)) => Err(invalid(field, format!("belongs to outcome {outcome}"))),
            None => Ok(()),
        }
    }
}

/// The result for each task, in the order sent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ReturnedTasks)]
pub struct ReturnedListView {
    /// The tasks.
    pub leases: Vec<ReturnedView>,
}

impl ReturnedListView {
    /// What the store answered for the entries that were carried out, and why the others were not.
    pub fn new(entries: Vec<std::result::Result<TaskId, RefusedEntry>>, answers: &[SettleAnswer]) -> Self {
        let mut answers = answers.iter();
        let leases = entries.into_iter().enumerate().map(|(place, entry)| match entry {
            Ok(id) => ReturnedView::new(id, *answers.next().unwrap_or(&SettleAnswer::LeaseLost)),
            Err(refused) => ReturnedView::refused(refused, place),
        });
        Self { leases: leases.collect() }
    }

    /// How many were accepted.
    pub fn accepted(&self) -> usize {
        self.leases.iter().filter(|lease| lease.accepted).count()
    }
}

/// The result for a returned task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ReturnedTask)]
pub struct ReturnedView {
    /// The task.
    #[schema(value_type = String)]
    pub id: Asked<TaskId>,
    /// Whether the store took it. The one that ended its task is taken again when it says the same, to the same effect.
    pub accepted: bool,
    /// The task's status then; `cancelled` if its cancel was requested before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    pub status: Option<Status>,
    /// Why it was not taken; nothing changed. `lease_lost`: the lease is over, or another outcome, result or error is stored.
    /// With another code the entry was refused, and the task is still leased: correct it and send it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Code>)]
    pub code: Option<Word>,
    /// The same in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The field of the request that is to be corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl ReturnedView {
    fn new(id: TaskId, answer: SettleAnswer) -> Self {
        match answer {
            SettleAnswer::Accepted(status) => {
                Self { id: id.into(), accepted: true, status: Some(status), code: None, detail: None, pointer: None }
            }
            SettleAnswer::LeaseLost => {
                let (code, detail) = (Some(Code::LeaseLost.as_str().into()), Some(lost(&id)));
                Self { id: id.into(), accepted: false, status: None, code, detail, pointer: None }
            }
        }
    }

    fn refused(entry: RefusedEntry, place: usize) -> Self {
        let (id, code, detail, pointer) = entry.answer(place);
        let (code, detail, pointer) = (Some(code), Some(detail), Some(pointer));
        Self { id, accepted: false, status: None, code, detail, pointer }
    }
}
