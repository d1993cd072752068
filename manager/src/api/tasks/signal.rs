//! `POST /tasks/{id}/signal`.

use std::{sync::Arc, time::Duration};

use axum::extract::State;
use jobbers_api::{
    problem::{Code, Problem, Result, WITH_BODY},
    task::signal::{SendSignal, SignalledView},
    value::{Rfc3339, TaskIdDoc},
};
use jobbers_common::{
    dependency::signal::{Signalled, validate_keep},
    limits::MAX_SIGNALS_KEPT,
    name::TaskId,
};

use crate::{
    app::App,
    handlers::{
        extract::{Json, Path},
        problem::problems,
    },
};

/// When a signal that found no room may be sent again.
const ROOM_AGAIN: Duration = Duration::from_secs(60);

problems!(
    SignalProblems: WITH_BODY,
    [Code::UnknownTask, Code::UnknownSignal, Code::SignalLate, Code::TooManySignalsKept]
);

/// Send a signal to a task that waits for it
///
/// The signals of a task are named at its submission. One that comes twice counts once, so the request is safe to repeat. With
/// `keep_for` a signal may come before its task is submitted.
#[utoipa::path(
    post, path = "/tasks/{id}/signal", tag = "tasks", operation_id = "signal_task",
    security(("key" = ["tasks:control"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id")),
    request_body = SendSignal,
    responses((status = 200, description = "It came, now or before, or is kept", body = SignalledView), SignalProblems)
)]
pub(crate) async fn signal(
    State(app): State<Arc<App>>,
    Path(id): Path<TaskId>,
    Json(SendSignal { name, keep_for }): Json<SendSignal>,
) -> Result<axum::Json<SignalledView>> {
    validate_keep(keep_for).map_err(|rule| Problem::new(Code::InvalidRequest, rule).at("/keep_for"))?;
    let (is_new, status, kept_until) = match app.engine.signal(&id, &name, keep_for).await? {
        Signalled::Done(status) => (true, Some(status), None),
        Signalled::Already => (false, None, None),
        Signalled::Kept(until) => (true, None, Some(Rfc3339(until))),
        Signalled::Late(state) => {
            let detail = format!("task {id} does not wait for signal {name} any more: it is {}", state.as_str());
            return Err(Problem::new(Code::SignalLate, detail));
        }
        Signalled::UnknownSignal => {
            let detail = format!("task {id} was not submitted to wait for a signal {name}");
            return Err(Problem::new(Code::UnknownSignal, detail).at("/name"));
        }
        Signalled::UnknownTask => {
            return Err(Problem::new(Code::UnknownTask, format!("task {id} does not exist")));
        }
        Signalled::TooManyKept => {
            let detail =
                format!("{MAX_SIGNALS_KEPT} signals are kept for tasks that do not exist yet: the most there are");
            return Err(Problem::new(Code::TooManySignalsKept, detail).after(ROOM_AGAIN));
        }
    };
    Ok(axum::Json(SignalledView { id, is_new, status, kept_until }))
}
