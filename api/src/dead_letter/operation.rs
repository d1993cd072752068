//! Operations that send dead letters again: answers as JSON.

use std::{borrow::Cow, collections::BTreeMap};

use jobbers_common::{limits::MAX_BATCH, name::TaskId, task::dead_letter::OperationState};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::ChangeView;
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
    value::{OperationStateDoc, Rfc3339, TaskIdDoc, Word},
};

const fn default_limit() -> usize {
    super::DEFAULT_LIMIT
}

/// Which operations to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OperationParams {
    /// That are in this state. Default: all.
    #[param(value_type = Option<OperationStateDoc>)]
    state: Option<StateParam>,
    /// At most this many.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StateParam(OperationState);

impl<'de> Deserialize<'de> for StateParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        OperationState::ALL.into_iter().find(|state| state.as_str() == text).map(Self).ok_or_else(|| {
            let known = OperationState::ALL.map(OperationState::as_str).join(", ");
            de::Error::custom(format_args!("{text:?} is no state: {known}"))
        })
    }
}

impl OperationParams {
    /// The state they are to be in, and how many are wanted.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for a limit out of bounds.
    pub fn checked(&self) -> Result<(Option<OperationState>, usize)> {
        if !(1..=MAX_BATCH).contains(&self.limit) {
            let detail = format!("a limit is 1 to {MAX_BATCH}, not {}", self.limit);
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        Ok((self.state.map(|state| state.0), self.limit))
    }
}

/// An operation that sends dead letters again, without its tasks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ResubmitOperationEntry)]
pub struct OperationView {
    /// Its id.
    pub id: String,
    /// Its state.
    #[schema(value_type = OperationStateDoc)]
    pub state: OperationState,
    /// When it began.
    pub created_at: Rfc3339,
    /// When it had nothing left to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Rfc3339>,
    /// How many tasks it has.
    pub total: u64,
    /// How many of them are not sent yet.
    pub pending: u64,
    /// How many were sent again.
    pub resubmitted: u64,
    /// How many came to what: `resubmitted`, `already_resubmitted`, `unknown`, `live` (it waits or runs already), `moved`
    /// (it has ended again), `unknown_queue`, `duplicate`, `bad_parameters` (they can't be patched, or do not fit the task's schema), `cancelled`.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub outcomes: BTreeMap<Word, u64>,
}

/// A page of operations.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ResubmitOperationPage)]
pub struct OperationPageView {
    /// The operations, the latest first.
    pub operations: Vec<OperationView>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An operation with its tasks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ResubmitOperation)]
pub struct WholeOperationView {
    /// The fields that lists show.
    #[serde(flatten)]
    pub entry: OperationView,
    /// Its first 1,000 tasks.
    pub tasks: Vec<ItemView>,
}

/// The result of a request to send dead letters again.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = ResubmitAnswer)]
// Only described, never made: the handler writes the one or the other.
pub enum ResubmitAnswer {
    /// The operation that it began.
    Begun(WholeOperationView),
    /// What it would change, with `dry_run`.
    Preview(ChangeView),
}

/// A task of an operation.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ResubmittedTask)]
pub struct ItemView {
    /// The task.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its outcome, or `pending`.
    #[schema(value_type = String)]
    pub outcome: Word,
    /// Details.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
