//! The audit log: answers as JSON.

use std::{borrow::Cow, collections::BTreeMap};

use jobbers_common::{
    audit_log::{AuditEntry, ChangeResult, Way},
    limits::MAX_BATCH,
    name::KeyId,
};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
    value::{AnyJsonDoc, ChangeResultDoc, Rfc3339, WayDoc},
};

const fn default_limit() -> usize {
    crate::dead_letter::DEFAULT_LIMIT
}

/// Which changes to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditParams {
    /// By the access key with this id.
    #[param(value_type = Option<String>)]
    pub key: Option<KeyId>,
    /// Of this operation: its `operationId`, such as `pause_queue`.
    pub operation: Option<String>,
    /// Of this object: the name of a queue, a role or a schedule, the id of a task.
    pub object: Option<String>,
    /// With this outcome.
    #[param(value_type = Option<ChangeResultDoc>)]
    outcome: Option<ResultParam>,
    /// At or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub from: Option<Rfc3339>,
    /// Before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub to: Option<Rfc3339>,
    /// At most this many.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ResultParam(ChangeResult);

impl<'de> Deserialize<'de> for ResultParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        ChangeResult::ALL.into_iter().find(|result| result.as_str() == text).map(Self).ok_or_else(|| {
            let known = ChangeResult::ALL.map(ChangeResult::as_str).join(", ");
            de::Error::custom(format_args!("{text:?} is no outcome: {known}"))
        })
    }
}

impl AuditParams {
    /// The outcome that the changes have, and how many are wanted.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for a limit out of bounds.
    pub fn checked(&self) -> Result<(Option<ChangeResult>, usize)> {
        if !(1..=MAX_BATCH).contains(&self.limit) {
            let detail = format!("a limit is 1 to {MAX_BATCH}, not {}", self.limit);
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        Ok((self.outcome.map(|result| result.0), self.limit))
    }
}

/// A change in the audit log.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct AuditEntryView {
    /// Its id.
    pub id: String,
    /// When it began, by the store's clock.
    pub at: Rfc3339,
    /// By which way it came.
    #[schema(value_type = WayDoc)]
    pub way: Way,
    /// The id of the access key that signed the client in. Absent while the store has no key, and for commands that write to
    /// the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The name of that key; for a command, the user of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The address of the client, or of the proxy in front of the manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The `operationId` of the operation, or the name of the command.
    pub operation: String,
    /// What was changed: the name of a queue, a role or a schedule, the id of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The `X-Request-Id` of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Its outcome; `unknown` also while it is under way.
    #[schema(value_type = ChangeResultDoc)]
    pub outcome: ChangeResult,
    /// The status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The code of the problem that was answered, or why the outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<f64>,
    /// Of the configuration, what was different before. `null` if it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AnyJsonDoc>)]
    pub before: Option<Value>,
    /// Of the configuration, what was different after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AnyJsonDoc>)]
    pub after: Option<Value>,
    /// How many tasks it changed, by the outcome for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// The ids of up to 50 of these tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Whether something was left out because it is too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl From<AuditEntry> for AuditEntryView {
    fn from(entry: AuditEntry) -> Self {
        let (object, outcome) = (entry.object().map(str::to_owned), entry.result());
        let AuditEntry { id, at, record, outcome: known } = entry;
        let known = known.unwrap_or_else(|| jobbers_common::audit_log::ChangeOutcome::of(outcome));
        Self {
            id: id.to_string(),
            at: at.into(),
            way: record.way,
            key: record.key.map(|key| key.to_string()),
            by: record.by,
            address: record.address,
            operation: record.operation,
            object,
            request_id: record.request,
            outcome,
            status: known.status,
            problem: known.problem,
            took_ms: known.took_us.map(|micros| std::time::Duration::from_micros(micros).as_secs_f64() * 1e3),
            before: known.before,
            after: known.after,
            counts: known.counts,
            ids: known.ids,
            cut: known.is_cut,
        }
    }
}

/// A page of the audit log.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = AuditPage)]
pub struct AuditPageView {
    /// The changes, the latest first.
    pub changes: Vec<AuditEntryView>,
    /// Where the next page begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
