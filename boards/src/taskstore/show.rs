//! `GET /groups`, `/task/ID` and `/tasks/ID,ID`.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_common::{
    engine::boards::{GroupCount, task::BoardTask},
    limits::MAX_BATCH,
};

use super::{
    answer::TaskStoreTask,
    array::{self, ItemSource},
    front::Front,
    id::revision,
    path_part::PathPart,
    refusal::{Refusal, Result},
};

/// The most ids of one request.
const MAX_IDS: usize = MAX_BATCH;
/// How many of these are read at a time.
const IDS_AT_ONCE: usize = 16;
/// The most groups that are listed.
const MAX_GROUPS: usize = 100_000;

/// The names of the groups that hold tasks.
pub(super) async fn groups(State(front): State<Front>) -> Result<Response> {
    let memory = Arc::clone(&front.memory);
    array::answer(memory, GroupNames { front, after: None, left: MAX_GROUPS }).await
}

/// A way through the names of groups.
struct GroupNames {
    front: Front,
    after: Option<String>,
    left: usize,
}

impl ItemSource for GroupNames {
    async fn next(mut self) -> Result<(String, Option<Self>)> {
        let page = self.front.boards.groups(&self.front.board, self.after.as_deref(), MAX_BATCH).await?;
        let names: Vec<String> = page.into_iter().map(|GroupCount { group, .. }| group).collect();
        self.left = self.left.saturating_sub(names.len());
        let is_over = names.len() < MAX_BATCH || self.left == 0;
        let items = array::items(&names);
        self.after = names.into_iter().next_back();
        Ok((items, (!is_over).then_some(self)))
    }
}

/// A task, or `null`.
pub(super) async fn task(State(front): State<Front>, PathPart(id): PathPart) -> Result<Response> {
    let found = front.find(&[number(&id)?]).await?;
    let found = found.first().and_then(Option::as_ref);
    Ok(Json(found.map(|task| TaskStoreTask::of(front.unit, task))).into_response())
}

/// Tasks, with `null` for those that do not exist.
pub(super) async fn tasks(State(front): State<Front>, PathPart(ids): PathPart) -> Result<Response> {
    let ids = ids.split(',').map(number).collect::<Result<Vec<i64>>>()?;
    if ids.len() > MAX_IDS {
        return Err(Refusal::bad_request(format!("{} ids are too many: ask for at most {MAX_IDS}", ids.len())));
    }
    let memory = Arc::clone(&front.memory);
    array::answer(memory, TaskWalk { front, ids }).await
}

/// A way through tasks that are asked for by id.
struct TaskWalk {
    front: Front,
    ids: Vec<i64>,
}

impl ItemSource for TaskWalk {
    async fn next(mut self) -> Result<(String, Option<Self>)> {
        let rest = self.ids.split_off(self.ids.len().min(IDS_AT_ONCE));
        let found = self.front.find(&self.ids).await?;
        let views = found.iter().map(|task| task.as_ref().map(|task| TaskStoreTask::of(self.front.unit, task)));
        let items = array::items(&views.collect::<Vec<_>>());
        Ok((items, (!rest.is_empty()).then_some(Self { ids: rest, ..self })))
    }
}

/// `/group/`.
pub(super) async fn no_group() -> Refusal {
    Refusal::bad_request("invalid group request, expected /group/<group>")
}

/// `/task/` and `/tasks/`.
pub(super) async fn no_task() -> Refusal {
    Refusal::bad_request("invalid task request, expected /task/<id> or /tasks/<id>,<id>")
}

fn number(id: &str) -> Result<i64> {
    id.trim().parse().map_err(|_| Refusal::bad_request(format!("invalid task id {id:?}, expected a number")))
}

impl Front {
    /// Tasks by id, in the order asked.
    async fn find(&self, ids: &[i64]) -> Result<Vec<Option<BoardTask>>> {
        let asked: Vec<Option<u64>> = ids.iter().map(|id| revision(*id)).collect();
        let known: Vec<u64> = asked.iter().copied().flatten().collect();
        let mut found = self.boards.get(&self.board, &known).await?.into_iter();
        Ok(asked.into_iter().map(|id| id.and_then(|_| found.next().flatten())).collect())
    }
}
