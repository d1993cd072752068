//! Predecessors of a task, with their results.

use jobbers_common::{
    engine::{Parent, Parents},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::TaskId,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    task_view::TaskResult,
    value::{NameDoc, StatusDoc},
};

/// Which predecessors of a task to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ParentsParams {
    /// At which of them the page begins, counted from 0.
    #[serde(default)]
    #[param(default = 0)]
    pub(crate) from: usize,
    /// At most this many. A page ends earlier when its results are 4 MiB.
    #[serde(default = "most")]
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    pub(crate) limit: usize,
}

const fn most() -> usize {
    MAX_BATCH
}

/// Predecessors of a task, in the order in which its submission named them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Predecessors)]
pub struct ParentsView<'a> {
    /// How many there are.
    total: usize,
    /// Those from the first one, or from `from` on.
    predecessors: Vec<ParentView<'a>>,
    /// Where the next page begins; absent when this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_from: Option<usize>,
}

/// A predecessor of a task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Predecessor)]
struct ParentView<'a> {
    /// Its id.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its status; absent for one that the store no longer knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    status: Option<Status>,
    /// Its result, if it completed with one.
    #[serde(flatten)]
    result: TaskResult<'a>,
}

impl<'a> ParentsView<'a> {
    /// A page that begins at `from`.
    pub(crate) fn new(page: &'a Parents, from: usize) -> Self {
        let view = |Parent { id, status, result }: &'a Parent| ParentView {
            id,
            status: *status,
            result: result.as_ref().into(),
        };
        let next = from + page.parents.len();
        Self {
            total: page.total,
            predecessors: page.parents.iter().map(view).collect(),
            next_from: (next < page.total).then_some(next),
        }
    }
}
