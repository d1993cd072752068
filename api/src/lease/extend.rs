//! Leases that are extended over HTTP, with news of their tasks.

use std::time::Duration;

use jobbers_common::{
    duration,
    engine::{ExtendAnswer, Extension, Heartbeat},
    limits::MAX_PROGRESS_BYTES,
    name::{TaskId, WorkerId},
    task::Progress,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Token, lease_or_default, lost};
use crate::openapi::ToSchema;
use crate::{
    json,
    payload::Sent,
    problem::{Code, Result},
    task_request::invalid,
    value::{AnyJsonDoc, DurationDoc, NameDoc, Word},
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
    #[serde(borrow, deserialize_with = "json::objects")]
    #[schema(min_items = 1, max_items = 1000)]
    pub leases: Vec<ExtensionRequest<'a>>,
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
    #[schema(value_type = NameDoc)]
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
    #[serde(default, skip_serializing_if = "Option::is_none", borrow, deserialize_with = "crate::payload::present")]
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
    /// What the store answered for these tasks.
    pub fn new(ids: &[TaskId], answers: &[ExtendAnswer]) -> Self {
        let leases = ids.iter().zip(answers).map(|(id, answer)| ExtendedView::new(id.clone(), *answer));
        Self { leases: leases.collect() }
    }
}

/// The result for one lease.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ExtendedLease)]
pub struct ExtendedView {
    /// The task.
    #[schema(value_type = NameDoc)]
    pub id: TaskId,
    /// Whether the lease goes on, under the same token.
    pub extended: bool,
    /// Whether the task's cancel is requested: stop it, and return it.
    pub cancel_requested: bool,
    /// Why it does not go on: `lease_lost`. Stop the task; nothing it does counts any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Code>)]
    pub code: Option<Word>,
    /// The same in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl ExtendedView {
    fn new(id: TaskId, answer: ExtendAnswer) -> Self {
        match answer {
            ExtendAnswer::Extended { cancel_requested } => {
                Self { id, extended: true, cancel_requested, code: None, detail: None }
            }
            ExtendAnswer::LeaseLost => {
                let (code, detail) = (Some(Code::LeaseLost.as_str().into()), Some(lost(&id)));
                Self { id, extended: false, cancel_requested: false, code, detail }
            }
        }
    }
}
