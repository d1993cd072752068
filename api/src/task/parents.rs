//! Predecessors of a task, with their results.

use jobbers_common::{
    engine::{Parent, Parents},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::TaskId,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
    value::{AnyJsonDoc, StatusDoc, TaskIdDoc},
    wire::payload::shown,
};

/// Which predecessors of a task to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ParentsParams {
    /// At most this many. A page ends earlier when its results are 4 MiB.
    #[serde(default = "most")]
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

impl ParentsParams {
    /// At which of the predecessors the page begins, counted from 0.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for what is no cursor.
    pub fn start(&self) -> Result<usize> {
        let Some(cursor) = &self.cursor else { return Ok(0) };
        let wrong = || Problem::new(Code::InvalidParameter, "this cursor is not from this manager");
        cursor.parse().map_err(|_| wrong())
    }
}

const fn most() -> usize {
    MAX_BATCH
}

/// Predecessors of a task, in the order in which its submission named them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Predecessors)]
pub struct ParentsView {
    /// How many there are.
    pub total: usize,
    /// A page of them.
    pub predecessors: Vec<ParentView>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A predecessor of a task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Predecessor)]
pub struct ParentView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its status; absent for one that the store no longer knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    pub status: Option<Status>,
    /// Its result, if it completed with one: the JSON, or base64 text if the content type is given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::wire::payload::present")]
    #[schema(value_type = AnyJsonDoc, required = false)]
    pub result: Option<Box<RawValue>>,
    /// Only when it is not JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_content_type: Option<String>,
    /// Present and true for a sensitive task that has a result: it is left out. `POST /tasks/{id}/reveal` of that task shows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensitive: bool,
}

impl ParentView {
    /// The same of a sensitive task, as any reader sees it.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { result: None, result_content_type: None, sensitive: true, ..self }
    }
}

impl ParentsView {
    /// A page that begins at `from`.
    pub fn new(page: &Parents, from: usize) -> Self {
        let view = |Parent { id, status, result }: &Parent| {
            let (result, result_content_type) = shown(result.as_ref());
            ParentView { id: id.clone(), status: *status, result, result_content_type, sensitive: false }
        };
        let next = from + page.parents.len();
        Self {
            total: page.total,
            predecessors: page.parents.iter().map(view).collect(),
            next_cursor: (next < page.total).then(|| next.to_string()),
        }
    }
}
