//! `GET /groups`, `/task/ID` and `/tasks/ID,ID`.

use axum::{
    Json,
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use jobbers_common::{board::BoardTask, engine::boards::GroupCount, limits::MAX_BATCH};

use super::{
    Front,
    answer::TaskView,
    refusal::{Refusal, Result},
    update::revision,
};

/// The most ids of one request.
const MAX_IDS: usize = MAX_BATCH;
/// The most groups that are listed.
const MAX_GROUPS: usize = 100_000;

/// The variable part of a path.
pub(super) struct Part(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Part {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let part = Path::<String>::from_request_parts(parts, state).await;
        part.map(|Path(part)| Self(part)).map_err(|rejection| Refusal::bad_request(rejection.body_text()))
    }
}

/// The names of the groups that hold tasks.
pub(super) async fn groups(State(front): State<Front>) -> Result<Response> {
    let mut names: Vec<String> = Vec::new();
    loop {
        let page = front.boards.groups(&front.board, names.last().map(String::as_str), MAX_BATCH).await?;
        let is_last = page.len() < MAX_BATCH;
        names.extend(page.into_iter().map(|GroupCount { group, .. }| group));
        if is_last || names.len() >= MAX_GROUPS {
            return Ok(Json(names).into_response());
        }
    }
}

/// A task, or `null`.
pub(super) async fn task(State(front): State<Front>, Part(id): Part) -> Result<Response> {
    let found = front.find(&[number(&id)?]).await?;
    let found = found.first().and_then(Option::as_ref);
    Ok(Json(found.map(|task| TaskView::of(front.unit, task))).into_response())
}

/// Tasks, with `null` for those that do not exist.
pub(super) async fn tasks(State(front): State<Front>, Part(ids): Part) -> Result<Response> {
    let ids = ids.split(',').map(number).collect::<Result<Vec<i64>>>()?;
    if ids.len() > MAX_IDS {
        return Err(Refusal::bad_request(format!("{} ids are too many: ask for at most {MAX_IDS}", ids.len())));
    }
    let found = front.find(&ids).await?;
    let views = found.iter().map(|task| task.as_ref().map(|task| TaskView::of(front.unit, task)));
    Ok(Json(views.collect::<Vec<_>>()).into_response())
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
