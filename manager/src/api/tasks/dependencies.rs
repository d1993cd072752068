//! `POST /tasks/{id}/dependencies` and `POST /dependencies`.

use std::sync::Arc;

use axum::extract::State;
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::dependency::{AddDependencies, AddToTask, AddedDependencies, DependencyRequest},
    value::TaskIdDoc,
};
use jobbers_common::{
    engine::{
        Error,
        dependencies::{AddRefusal, NewDependency},
    },
    name::TaskId,
};

use crate::{
    app::App,
    handlers::{
        extract::{Json, Path},
        problem::problems,
    },
};

problems!(AddDependenciesProblems: WITH_BODY, [
    Code::UnknownTask, Code::TaskStarted, Code::TaskOver, Code::UnknownPredecessor, Code::PredecessorOver,
    Code::DependencyExists, Code::CircularDependency, Code::TooManyToCheck,
]);

/// Make a task wait for further tasks
///
/// The task has not started: it is `waiting`, `scheduled` or `submitted`, and then it is `waiting`. All dependencies are added
/// or none. One that exists stays as it is, so the request is safe to repeat.
#[utoipa::path(
    post, path = "/tasks/{id}/dependencies", tag = "tasks", operation_id = "add_dependencies_to_task",
    security(("key" = ["tasks:submit"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id")),
    request_body = AddToTask,
    responses((status = 200, description = "It waits for them", body = AddedDependencies), AddDependenciesProblems)
)]
pub(crate) async fn add_to_task(
    State(app): State<Arc<App>>,
    Path(id): Path<TaskId>,
    Json(request): Json<AddToTask>,
) -> Result<axum::Json<AddedDependencies>> {
    let edge = |DependencyRequest(it)| NewDependency { run: id.clone(), after: it.on, policy: it.policy };
    add(&app, request.depends_on.into_iter().map(edge).collect(), "/depends_on").await
}

/// Add dependencies between tasks
///
/// Each task `run` then waits for the end of its task `after` too. All dependencies are added or none. One that exists stays
/// as it is, so the request is safe to repeat.
#[utoipa::path(
    post, path = "/dependencies", tag = "tasks", operation_id = "add_dependencies",
    security(("key" = ["tasks:submit"])),
    request_body = AddDependencies,
    responses((status = 200, description = "The tasks wait", body = AddedDependencies), AddDependenciesProblems)
)]
pub(crate) async fn add_many(
    State(app): State<Arc<App>>,
    Json(request): Json<AddDependencies>,
) -> Result<axum::Json<AddedDependencies>> {
    add(&app, request.dependencies.into_iter().map(NewDependency::from).collect(), "/dependencies").await
}

async fn add(app: &App, edges: Vec<NewDependency>, field: &str) -> Result<axum::Json<AddedDependencies>> {
    match app.engine.add_dependencies(&edges).await {
        Ok(answers) => Ok(axum::Json(AddedDependencies::new(&answers))),
        Err(Error::DependencyRefused(refused)) => {
            let place = edges.iter().position(|edge| edge.run == refused.run && edge.after == refused.after);
            // A circle may be made of several.
            let is_of_one = !matches!(refused.why, AddRefusal::Circle(_)) || edges.len() == 1;
            let problem = Problem::from(Error::DependencyRefused(refused));
            Err(match place.filter(|_| is_of_one) {
                Some(place) => problem.at(format!("{field}/{place}")),
                None => problem.at(field),
            })
        }
        Err(error @ Error::Invalid(_)) => Err(Problem::from(error).at(field)),
        Err(error) => Err(error.into()),
    }
}
