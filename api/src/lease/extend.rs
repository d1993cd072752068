//! Leases that are extended over HTTP, with news of their tasks.

use std::time::Duration;

use jobbers_common::{
    engine::{ExtendAnswer, Extension, Heartbeat},
    limits::{MAX_BATCH, MAX_PROGRESS_BYTES},
    name::{TaskId, WorkerId},
    task::Progress,
    values::duration,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Entry, RefusedEntry, Token, lease_or_default, lost};
use crate::{
    openapi::ToSchema,
    problem::{Code, Result, invalid},
    value::{AnyJsonDoc, Asked, DurationDoc, NameDoc, TaskIdDoc, Word},
    wire::{json, payload::Sent},
};

/// Leases to extend.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest<'a> {
    /// The worker's name, by which it stays in the list of workers.
    #[schema(value_type = NameDoc)]
    pub worker: WorkerId,
    /// How long they last from now on: 1s to 1d. The default is 30s.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub lease: Option<Duration>,
    /// 1 to 1,000 leases.
    #[serde(borrow, deserialize_with = "json::few::<_, _, MAX_BATCH>")]
    #[schema(value_type = Vec<ExtensionRequest>, min_items = 1, max_items = 1000)]
    pub leases: Vec<Entry<ExtensionRequest<'a>>>,
}

impl ExtendRequest<'_> {
    /// How long the leases last.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] out of its bounds.
    pub fn lease(&self) -> Result<Duration> {
        lease_or_default(self.lease)
    }
}

/// A lease to extend, with news of its task.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LeaseExtension)]
pub struct ExtensionRequest<'a> {
    /// The task.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// The token its lease came with.
    pub token: Token,
    /// Whether the task itself says that it goes on. Implied by `progress` and `checkpoint`.
    #[serde(default)]
    pub heartbeat: bool,
    /// Its progress.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "json::object_if_any")]
    pub progress: Option<ProgressRequest>,
    /// The checkpoint for its next attempt: any JSON, or base64 text if `checkpoint_content_type` names another type.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        borrow,
        deserialize_with = "crate::wire::payload::present"
    )]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub checkpoint: Option<&'a RawValue>,
    /// The type of a checkpoint that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_content_type: Option<String>,
}

/// How far a running task is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressRequest {
    /// 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub fraction: f64,
    /// A message for the reader, at most 1 KiB.
    #[serde(default)]
    #[schema(max_length = 1024)]
    pub message: String,
}

impl ExtensionRequest<'_> {
    /// What the store is asked.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for progress out of its bounds; those of [`Sent::payload`].
    pub fn extension(self, max_bytes: usize) -> Result<Extension> {
        let sent = Sent {
            field: "checkpoint",
            text: self.checkpoint,
            content_type: self.checkpoint_content_type.as_deref(),
            max_bytes,
        };
        let checkpoint = sent.payload()?;
        let progress = self.progress.map(|ProgressRequest { fraction, message }| Progress { fraction, message });
        if progress.as_ref().is_some_and(|progress| !progress.is_within_bounds()) {
            let rule = format!("has a fraction of 0 to 1 and a message of at most {MAX_PROGRESS_BYTES} bytes");
            return Err(invalid("progress", rule));
        }
        let has_news = self.heartbeat || progress.is_some() || checkpoint.is_some();
        let fence = self.token.fence();
        Ok(Extension { id: self.id, fence, heartbeat: has_news.then_some(Heartbeat { progress, checkpoint }) })
    }
}

/// The result for each lease, in the order sent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ExtendedLeases)]
pub struct ExtendedListView {
    /// The leases.
    pub leases: Vec<ExtendedView>,
}

impl ExtendedListView {
    /// What the store answered for the entries that were carried out, and why the others were not.
    pub fn new(entries: Vec<std::result::Result<TaskId, RefusedEntry>>, answers: &[ExtendAnswer]) -> Self {
        let mut answers = answers.iter();
        let leases = entries.into_iter().enumerate().map(|(place, entry)| match entry {
            Ok(id) => ExtendedView::new(id, *answers.next().unwrap_or(&ExtendAnswer::LeaseLost)),
            Err(refused) => ExtendedView::refused(refused, place),
        });
        Self { leases: leases.collect() }
    }
}

/// The result for one lease.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ExtendedLease)]
pub struct ExtendedView {
    /// The task.
    #[schema(value_type = String)]
    pub id: Asked<TaskId>,
    /// Whether the lease goes on, under the same token.
    pub extended: bool,
    /// Whether the task's cancel is requested: stop it, and return it.
    pub cancel_requested: bool,
    /// Why it does not go on. `lease_lost`: stop the task; nothing it does counts any more. With another code the entry was
    /// refused, and the lease is as it was: correct it and send it again.
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

impl ExtendedView {
    fn new(id: TaskId, answer: ExtendAnswer) -> Self {
        match answer {
            ExtendAnswer::Extended { cancel_requested } => {
                Self { id: id.into(), extended: true, cancel_requested, code: None, detail: None, pointer: None }
            }
            ExtendAnswer::LeaseLost => {
                let (code, detail) = (Some(Code::LeaseLost.as_str().into()), Some(lost(&id)));
                Self { id: id.into(), extended: false, cancel_requested: false, code, detail, pointer: None }
            }
        }
    }

    fn refused(entry: RefusedEntry, place: usize) -> Self {
        let (id, code, detail, pointer) = entry.answer(place);
        let (code, detail, pointer) = (Some(code), Some(detail), Some(pointer));
        Self { id, extended: false, cancel_requested: false, code, detail, pointer }
    }
}
