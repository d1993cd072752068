//! `/schedules`: tasks and workflows started by cron or at an interval.

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result, TEMPLATES, WITH_BODY, invalid},
    schedule::{
        NextParams, PreviewParams, ScheduleListParams, ScheduleRequest, problem_of, template,
        view::{NextSlotsView, PreviewView, ScheduleListView, ScheduleView, StartedView},
    },
    task::request::TaskRequest,
    value::{NameDoc, Rfc3339},
    workflow::WorkflowRequest,
};
use jobbers_common::{
    engine::{Error, PutMode, PutSchedule, StoredSchedule, reads::validate_limit},
    name::ScheduleName,
    schedule::{Schedule, ScheduleError, Target, WorkflowTemplate, entry::ScheduleEntry},
    time::Timestamp,
};

use crate::{
    api::{tasks::submit::check_templates, workflows::read_graph},
    app::App,
    audit::audited::Audited,
    handlers::{
        etag::{self, IfMatch},
        extract::{JsonBytes, Path, Query},
        problem::problems,
    },
    snapshots::known_tasks::Known,
    ticks::schedules::{self, Started},
};

/// How often a change is made again because another came between, such as a slot that was fired.
const ATTEMPTS: usize = 100;

problems!(ListProblems: [Code::InvalidParameter]);
problems!(CreateProblems: WITH_BODY, TEMPLATES, [Code::Exists]);
problems!(GetProblems: [Code::UnknownSchedule]);
problems!(PutProblems: WITH_BODY, TEMPLATES, [Code::Changed]);
problems!(DeleteProblems: [Code::Changed, Code::UnknownSchedule]);
problems!(NextProblems: [Code::InvalidParameter, Code::UnknownSchedule]);
problems!(RunProblems: [Code::UnknownSchedule, Code::UnknownQueue, Code::QueueFull, Code::RateLimited]);

/// The schedules, in pages
#[utoipa::path(
    get, path = "/schedules", tag = "schedules", operation_id = "list_schedules",
    security(("key" = ["schedules:read"])),
    params(ScheduleListParams),
    responses((status = 200, description = "A page of the schedules, in the order of their names",
        body = ScheduleListView), ListProblems)
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(ScheduleListParams { limit, cursor }): Query<ScheduleListParams>,
) -> Result<Response> {
    validate_limit(limit).map_err(|error| Problem::new(Code::InvalidParameter, error.to_string()))?;
    let found = app.engine.list_schedules(cursor.as_ref(), limit).await?;
    let last = found.last().filter(|_| found.len() == limit).map(|stored| &stored.entry.schedule.name);
    let known = app.known.current_or_first().await;
    let schedules = found.iter().map(|stored| view(stored, known.as_deref())).collect();
    Ok(axum::Json(ScheduleListView { schedules, next_cursor: last.map(ToString::to_string) }).into_response())
}

/// Create a schedule
///
/// It fires at its first slot after now, and submits a task or starts a workflow. Each slot is fired once, whichever manager
/// does it. What it starts is checked as a whole, as if it were submitted now.
#[utoipa::path(
    post, path = "/schedules", tag = "schedules", operation_id = "create_schedule",
    security(("key" = ["schedules:write", "tasks:submit"])),
    request_body = ScheduleRequest,
    responses((status = 201, description = "The new schedule", body = ScheduleView), CreateProblems)
)]
pub(crate) async fn create(State(app): State<Arc<App>>, request: JsonBytes) -> Result<Response> {
    let schedule = read(&app, &request, None).await?;
    let entry = ScheduleEntry::new(schedule, app.now().await?).map_err(|error| problem_of(&error))?;
    let revision = app.engine.put_schedule(entry.clone(), PutSchedule::Create).await?;
    app.schedules_changed.notify_one();
    let audited = Audited::object(&entry.schedule.name);
    Ok(audited.answer((StatusCode::CREATED, respond(&app, &StoredSchedule { entry, revision }).await)))
}

/// One schedule
#[utoipa::path(
    get, path = "/schedules/{schedule}", tag = "schedules", operation_id = "get_schedule",
    security(("key" = ["schedules:read"])),
    params(("schedule" = NameDoc, Path, description = "The schedule's name")),
    responses((status = 200, description = "The schedule", body = ScheduleView), GetProblems)
)]
pub(crate) async fn get(State(app): State<Arc<App>>, Path(name): Path<ScheduleName>) -> Result<Response> {
    Ok(respond(&app, &find(&app, &name).await?).await)
}

/// Create a schedule or replace its settings
///
/// Its counts and its latest run stay. Slots that are due stay due, unless its timing changes: then it fires at its first
/// slot after now. With `If-Match` only if its settings have not changed since they were read.
#[utoipa::path(
    put, path = "/schedules/{schedule}", tag = "schedules", operation_id = "put_schedule",
    security(("key" = ["schedules:write", "tasks:submit"])),
    params(
        ("schedule" = NameDoc, Path, description = "The schedule's name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` it was read with, or `*`"),
    ),
    request_body = ScheduleRequest,
    responses((status = 200, description = "The schedule", body = ScheduleView), PutProblems)
)]
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    Path(name): Path<ScheduleName>,
    condition: IfMatch,
    request: JsonBytes,
) -> Result<Response> {
    let schedule = read(&app, &request, Some(name.clone())).await?;
    let stored = app.engine.schedule(&name).await?;
    // Firing changes a schedule's state and not its settings, which the condition compares.
    let mode = condition.mode(stored.as_ref().map(|stored| &stored.entry.schedule))?;
    let put = alter(&app, &name, |stored, now| match (stored, &mode) {
        (None, PutMode::Unchanged(_)) => Err(changed(&name)),
        (Some(stored), PutMode::Unchanged(expected)) if stored.schedule != *expected => Err(changed(&name)),
        (Some(stored), _) => stored.with(schedule.clone(), now).map_err(|error| problem_of(&error)),
        (None, _) => ScheduleEntry::new(schedule.clone(), now).map_err(|error| problem_of(&error)),
    });
    Ok(respond(&app, &put.await?).await)
}

/// Delete a schedule
///
/// The tasks and workflows that it started stay. With `If-Match` only if its settings have not changed since they were read.
#[utoipa::path(
    delete, path = "/schedules/{schedule}", tag = "schedules", operation_id = "delete_schedule",
    security(("key" = ["schedules:write"])),
    params(
        ("schedule" = NameDoc, Path, description = "The schedule's name"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` it was read with, or `*`"),
    ),
    responses((status = 204, description = "It is gone"), DeleteProblems)
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(name): Path<ScheduleName>,
    condition: IfMatch,
) -> Result<StatusCode> {
    for _ in 0..ATTEMPTS {
        let stored = app.engine.schedule(&name).await?;
        let expected = condition.expected(stored.as_ref().map(|stored| &stored.entry.schedule))?;
        let revision = expected.and(stored.map(|stored| stored.revision));
        match app.engine.delete_schedule(&name, revision).await {
            Err(Error::Changed(_)) => {}
            done => return done.map(|()| StatusCode::NO_CONTENT).map_err(Problem::from),
        }
    }
    Err(too_busy())
}

/// Pause a schedule
///
/// Slots during the pause do not count as missed.
#[utoipa::path(
    post, path = "/schedules/{schedule}/pause", tag = "schedules", operation_id = "pause_schedule",
    security(("key" = ["schedules:control"])),
    params(("schedule" = NameDoc, Path, description = "The schedule's name")),
    responses((status = 200, description = "The schedule", body = ScheduleView), GetProblems)
)]
pub(crate) async fn pause(State(app): State<Arc<App>>, Path(name): Path<ScheduleName>) -> Result<Response> {
    set_paused(&app, &name, true).await
}

/// Resume a paused schedule, at its first slot after now
#[utoipa::path(
    post, path = "/schedules/{schedule}/resume", tag = "schedules", operation_id = "resume_schedule",
    security(("key" = ["schedules:control"])),
    params(("schedule" = NameDoc, Path, description = "The schedule's name")),
    responses((status = 200, description = "The schedule", body = ScheduleView), GetProblems)
)]
pub(crate) async fn resume(State(app): State<Arc<App>>, Path(name): Path<ScheduleName>) -> Result<Response> {
    set_paused(&app, &name, false).await
}

/// Submit a schedule's task, or start its workflow, now
///
/// Regardless of its `overlap`, and also while it is paused. It uses no slot, and becomes the latest run.
#[utoipa::path(
    post, path = "/schedules/{schedule}/run", tag = "schedules", operation_id = "run_schedule",
    security(("key" = ["schedules:control"])),
    params(("schedule" = NameDoc, Path, description = "The schedule's name")),
    responses((status = 201, description = "The task or the workflow", body = StartedView), RunProblems)
)]
pub(crate) async fn run(State(app): State<Arc<App>>, Path(name): Path<ScheduleName>) -> Result<Response> {
    for _ in 0..ATTEMPTS {
        let stored = find(&app, &name).await?;
        if let Some(started) = schedules::run_now(&app, &stored).await? {
            let view = match &started {
                Started::Task(submitted) => StartedView::task(submitted),
                Started::Workflow(run) => StartedView::workflow(run),
            };
            return Ok((StatusCode::CREATED, axum::Json(view)).into_response());
        }
    }
    Err(too_busy())
}

/// A schedule's next slots
#[utoipa::path(
    get, path = "/schedules/{schedule}/next", tag = "schedules", operation_id = "next_slots",
    security(("key" = ["schedules:read"])),
    params(("schedule" = NameDoc, Path, description = "The schedule's name"), NextParams),
    responses((status = 200, description = "The slots after now", body = NextSlotsView), NextProblems)
)]
pub(crate) async fn next(
    State(app): State<Arc<App>>,
    Path(name): Path<ScheduleName>,
    Query(params): Query<NextParams>,
) -> Result<Response> {
    let count = params.count()?;
    let stored = find(&app, &name).await?;
    Ok(axum::Json(NextSlotsView::of(&stored.entry, app.now().await?, count)).into_response())
}

/// The slots of a timing, without a schedule
///
/// Nothing is stored. Say `cron`, with or without `time_zone`, or `every`.
#[utoipa::path(
    get, path = "/schedule-preview", tag = "schedules", operation_id = "preview_slots",
    security(("key" = ["schedules:read"])),
    params(PreviewParams),
    responses((status = 200, description = "The slots after now", body = PreviewView), ListProblems)
)]
pub(crate) async fn preview(State(app): State<Arc<App>>, Query(params): Query<PreviewParams>) -> Result<Response> {
    let slots = params.slots(app.now().await?)?.into_iter().map(Rfc3339).collect();
    Ok(axum::Json(PreviewView { slots }).into_response())
}

/// The schedule of a body, with all of it checked.
async fn read(app: &App, request: &JsonBytes, path: Option<ScheduleName>) -> Result<Schedule> {
    let mut request = request.decode::<ScheduleRequest<'_>>(app).await?;
    let target = match (request.task.take(), request.workflow.take()) {
        (Some(task), None) => read_task(app, task).await.map_err(|problem| within("/task", problem))?,
        (None, Some(workflow)) => read_workflow(app, workflow).await.map_err(|problem| within("/workflow", problem))?,
        (Some(_), Some(_)) => return Err(invalid("workflow", "can't be there beside task: say one of them")),
        (None, None) => return Err(invalid("task", "or workflow says what the schedule starts: say one of them")),
    };
    request.schedule(path, target)
}

async fn read_task(app: &App, task: TaskRequest<'_>) -> Result<Target> {
    let template = template(task)?;
    check_templates(app, std::iter::once(&template)).await.map_err(|(_, problem)| problem)?;
    Ok(Target::Task(template))
}

async fn read_workflow(app: &App, mut wanted: WorkflowRequest<'_>) -> Result<Target> {
    if wanted.id.is_some() {
        return Err(invalid("id", "is made of the schedule's name and the slot"));
    }
    let name = wanted.name.take();
    let (graph, _) = read_graph(app, wanted).await?;
    Ok(Target::Workflow(WorkflowTemplate { name, graph }))
}

/// The same problem, seen from the whole schedule.
fn within(field: &str, problem: Problem) -> Problem {
    let pointer = format!("{field}{}", problem.pointer().unwrap_or_default());
    problem.at(pointer)
}

async fn find(app: &App, name: &ScheduleName) -> Result<StoredSchedule> {
    app.engine.schedule(name).await?.ok_or_else(|| Error::UnknownSchedule(name.clone()).into())
}

async fn set_paused(app: &App, name: &ScheduleName, paused: bool) -> Result<Response> {
    let altered = alter(app, name, |stored, now| {
        let stored = stored.ok_or_else(|| Error::UnknownSchedule(name.clone()))?;
        let schedule = Schedule { paused, ..stored.schedule.clone() };
        stored.with(schedule, now).map_err(|error: ScheduleError| problem_of(&error))
    });
    Ok(respond(app, &altered.await?).await)
}

/// Changes a schedule, safely with concurrent changes.
async fn alter(
    app: &App,
    name: &ScheduleName,
    change: impl Fn(Option<ScheduleEntry>, Timestamp) -> Result<ScheduleEntry>,
) -> Result<StoredSchedule> {
    for _ in 0..ATTEMPTS {
        let stored = app.engine.schedule(name).await?;
        let put = stored.as_ref().map_or(PutSchedule::Create, |stored| PutSchedule::Replace(stored.revision));
        let entry = change(stored.map(|stored| stored.entry), app.now().await?)?;
        match app.engine.put_schedule(entry.clone(), put).await {
            Ok(revision) => {
                app.schedules_changed.notify_one();
                return Ok(StoredSchedule { entry, revision });
            }
            Err(Error::Changed(_) | Error::Exists(_) | Error::UnknownSchedule(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(too_busy())
}

fn changed(name: &ScheduleName) -> Problem {
    Error::Changed(format!("schedule {name}")).into()
}

fn too_busy() -> Problem {
    Error::unavailable("the schedule is being changed all the time").into()
}

async fn respond(app: &App, stored: &StoredSchedule) -> Response {
    let known = app.known.current_or_first().await;
    (etag::header_of(&stored.entry.schedule), axum::Json(view(stored, known.as_deref()))).into_response()
}

/// A schedule as any reader sees it. Its template may be from before a worker said that the task is sensitive.
fn view(stored: &StoredSchedule, known: Option<&Known>) -> ScheduleView {
    let mut view = ScheduleView::from(stored);
    view.hide_where(|name, version| known.is_some_and(|known| known.is_sensitive(name, version)));
    view
}
