//! Operations that send dead letters again, out.

use std::{borrow::Cow, collections::BTreeMap};

use jobbers_archive::{Item, ItemOutcome, Operation, OperationState};
use jobbers_common::{limits::MAX_BATCH, name::TaskId};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::{IntoParams, ToSchema};

use super::{
    dead_letter::ChangeView,
    value::{NameDoc, OperationStateDoc, Rfc3339},
};
use crate::problem::{Code, Problem, Result};

const fn default_limit() -> usize {
    super::dead_letter::DEFAULT_LIMIT
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
    pub(crate) cursor: Option<String>,
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
    pub(crate) fn checked(&self) -> Result<(Option<OperationState>, usize)> {
        if !(1..=MAX_BATCH).contains(&self.limit) {
            let detail = format!("a limit is 1 to {MAX_BATCH}, not {}", self.limit);
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        Ok((self.state.map(|state| state.0), self.limit))
    }
}

/// An operation that sends dead letters again, without its tasks.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResubmitOperationEntry)]
pub struct OperationView<'a> {
    /// Its id.
    id: &'a str,
    /// Its state.
    #[schema(value_type = OperationStateDoc)]
    state: &'static str,
    /// When it began.
    created_at: Rfc3339,
    /// When it had nothing left to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Rfc3339>,
    /// How many tasks it has.
    total: u64,
    /// How many of them are not sent yet.
    pending: u64,
    /// How many were sent again.
    resubmitted: u64,
    /// How many came to what: `resubmitted`, `already_resubmitted`, `unknown`, `live` (it waits or runs already), `moved`
    /// (it has ended again), `unknown_queue`, `duplicate`, `bad_parameters` (they can't be patched, or do not fit the task's schema), `cancelled`.
    outcomes: BTreeMap<&'static str, u64>,
}

impl<'a> From<&'a Operation> for OperationView<'a> {
    fn from(operation: &'a Operation) -> Self {
        Self {
            id: &operation.id,
            state: operation.state().as_str(),
            created_at: operation.created_at.into(),
            finished_at: operation.finished_at.map(Rfc3339),
            total: operation.total(),
            pending: operation.pending,
            resubmitted: operation.outcomes.get(&ItemOutcome::Resubmitted).copied().unwrap_or(0),
            outcomes: operation.outcomes.iter().map(|(outcome, count)| (outcome.as_str(), *count)).collect(),
        }
    }
}

/// A page of operations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResubmitOperationPage)]
pub struct OperationPageView<'a> {
    /// The operations, the latest first.
    pub(crate) operations: Vec<OperationView<'a>>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<&'a str>,
}

/// An operation with its tasks.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResubmitOperation)]
pub struct WholeOperationView<'a> {
    /// The fields that lists show.
    #[serde(flatten)]
    entry: OperationView<'a>,
    /// Its first 1,000 tasks.
    tasks: Vec<ItemView<'a>>,
}

/// The result of a request to send dead letters again.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[schema(as = ResubmitAnswer)]
// Only described, never made: the handler writes the one or the other.
pub enum ResubmitAnswer<'a> {
    /// The operation that it began.
    Begun(WholeOperationView<'a>),
    /// What it would change, with `dry_run`.
    Preview(ChangeView),
}

/// A task of an operation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResubmittedTask)]
struct ItemView<'a> {
    /// The task.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its outcome, or `pending`.
    outcome: &'static str,
    /// Details.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

impl<'a> WholeOperationView<'a> {
    pub(crate) fn new(operation: &'a Operation, items: &'a [Item]) -> Self {
        let view = |item: &'a Item| ItemView {
            id: &item.task,
            outcome: item.outcome.map_or("pending", ItemOutcome::as_str),
            detail: item.detail.as_deref(),
        };
        Self { entry: operation.into(), tasks: items.iter().map(view).collect() }
    }
}
