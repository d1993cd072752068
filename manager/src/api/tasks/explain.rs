//! `GET /tasks/{id}/explain`: why a task does not run now.
//!
//! The facts come from several reads, so they may be a moment apart: the answer is for people, and decides nothing.

mod holders;
mod waiting;
pub(crate) mod workers;

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    problem::{Code, Problem, Result},
    task::explain::{ExplainView, Reason, ReasonCode as C},
    value::TaskIdDoc,
};
use jobbers_common::{
    engine::QueuePlace,
    lifecycle::Status,
    name::TaskId,
    queue::{
        Config, QueueConfig,
        gate::{Gate, ShutGate},
    },
    task::{FailureKind, Task},
    time::Timestamp,
    values::duration,
    worker::RegisteredWorker,
    workflow::run_of,
};

use self::{
    holders::{NAMED, started},
    workers::{able_workers, earlier_queues, free_workers, held_threads, no_free_thread, per_worker_reason, running},
};
use crate::{
    app::App,
    handlers::{extract::Path, problem::problems},
};

problems!(ExplainProblems: [Code::UnknownTask]);

/// Why a task does not run now
///
/// Everything that keeps it from running, each with a code and a sentence: a paused queue, a time in the future, a
/// limit and the tasks that use it up, no worker that serves its queue or knows its name and version, no free thread for a
/// blocking task, other queues that its workers empty first; and its place in the queue. Names the store, and if no live
/// worker can run the task, live workers of that store.
#[utoipa::path(
    get, path = "/tasks/{id}/explain", tag = "tasks", operation_id = "explain_task",
    security(("key" = ["tasks:read"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id")),
    responses((status = 200, description = "The reasons", body = ExplainView), ExplainProblems)
)]
pub(crate) async fn explain(State(app): State<Arc<App>>, Path(id): Path<TaskId>) -> Result<Response> {
    let task = app.engine.get(&id).await?;
    let task = task.ok_or_else(|| Problem::new(Code::UnknownTask, format!("task {id} does not exist")))?;
    let (ahead, reasons) = reasons_of(&app, &task).await?;
    let store = app.engine.health().await?.store;
    Ok(Json(ExplainView::new(&task, store, ahead, reasons)).into_response())
}

/// How many tasks are claimed before a task, if it is ready; and everything that keeps it from running.
pub(crate) async fn reasons_of(app: &App, task: &Task) -> Result<(Option<u64>, Vec<Reason>)> {
    let place = if task.status == Status::Submitted { app.engine.place(&task.id).await? } else { None };
    let workers = app.engine.workers().await?;
    let mut reasons = match task.status {
        Status::Submitted => {
            let config = app.live.fresh().await?;
            let queue = config.settings_of(&task.queue);
            let mut reasons = expired(app, task).await?.into_iter().collect::<Vec<_>>();
            reasons.extend(queue_reasons(app, task, &queue, place.as_ref()).await?);
            reasons.extend(place.as_ref().and_then(|place| suspected(task, place)));
            reasons.extend(worker_reasons(app, task, &config, &queue, &workers).await?);
            reasons.extend(place.as_ref().filter(|place| place.ahead > 0).map(behind_others));
            reasons
        }
        // This will matter when its time comes.
        Status::Scheduled => {
            let config = app.live.fresh().await?;
            let unable = able_workers(task, &config, &workers).err();
            elsewhere(task, "").into_iter().chain(unable).collect()
        }
        Status::Started => vec![running(task, &workers)],
        _ => elsewhere(task, &workflow_of(app, task).await?),
    };
    reasons.extend(held_threads(task, &workers));
    let reasons = if reasons.is_empty() { vec![next()] } else { reasons };
    Ok((place.map(|place| place.ahead), reasons))
}

/// What keeps its workers from claiming it.
async fn worker_reasons(
    app: &App,
    task: &Task,
    config: &Config,
    queue: &QueueConfig,
    workers: &[RegisteredWorker],
) -> Result<Vec<Reason>> {
    let able = match able_workers(task, config, workers) {
        Ok(able) => able,
        Err(unable) => return Ok(vec![unable]),
    };
    let mut reasons = match free_workers(task, &able) {
        Ok(free) => {
            let mut reasons: Vec<_> = per_worker_reason(app, task, queue, &free).await?.into_iter().collect();
            reasons.extend(no_free_thread(task, &free, workers));
            reasons
        }
        Err(reason) => vec![reason],
    };
    reasons.extend(earlier_queues(app, task, config, &able).await?);
    Ok(reasons)
}

/// For a task that has expired, and that no worker has asked for since.
async fn expired(app: &App, task: &Task) -> Result<Option<Reason>> {
    let Some(until) = task.expires_at() else { return Ok(None) };
    let reason = || Reason::new(C::Expired, "it has expired: a worker that asks for it drops it").since(until);
    Ok((until <= app.now().await?).then(reason))
}

/// For a suspect that others hold back.
fn suspected(task: &Task, place: &QueuePlace) -> Option<Reason> {
    let first = place.probations.first()?;
    let (losses, most) = (task.suspicion.losses(), task.suspicion.capacity());
    let message = format!(
        "it was lost with its worker {losses} times in a row, so a worker starts at most {most} such tasks at a time, and the next \
         ones when a probation ends"
    );
    let holders = place.probations.iter().map(|it| it.id.clone()).collect();
    let reason = Reason::new(C::Suspect, message).until(first.until).held_by(holders);
    let lost_at = task.errors.iter().rev().find(|error| error.kind == FailureKind::Crash).map(|error| error.at);
    Some(match lost_at {
        Some(at) => reason.since(at),
        None => reason,
    })
}

fn next() -> Reason {
    Reason::new(C::Next, "nothing keeps it from running: it is the next to be claimed")
}

/// For a task that is not in a queue of ready ones.
fn elsewhere(task: &Task, workflow: &str) -> Vec<Reason> {
    let reason = match task.status {
        Status::Scheduled if task.attempt > 0 => {
            let attempt = task.attempt;
            Reason::new(C::NotDue, format!("it waits for its next attempt, after attempt {attempt}"))
                .until(task.ready_at)
        }
        Status::Scheduled => Reason::new(C::NotDue, "its time lies ahead").until(task.ready_at),
        Status::Waiting => waiting::waits(task, workflow),
        over => waiting::over(task, over),
    };
    vec![reason]
}

/// Of which workflow a waiting task is a node, as the end of a sentence; nothing for another task.
async fn workflow_of(app: &App, task: &Task) -> Result<String> {
    match run_of(&task.id).filter(|_| task.status == Status::Waiting) {
        Some((run, node)) if app.engine.workflow(&run).await?.is_some() => {
            Ok(format!(", as node {node} of workflow {run}"))
        }
        _ => Ok(String::new()),
    }
}

fn behind_others(place: &QueuePlace) -> Reason {
    let tasks = if place.ahead == 1 { "task comes" } else { "tasks come" };
    Reason::new(C::BehindOthers, format!("{} {tasks} before it in its queue", place.ahead))
}

/// The reasons from its queue's settings.
async fn queue_reasons(app: &App, task: &Task, queue: &QueueConfig, place: Option<&QueuePlace>) -> Result<Vec<Reason>> {
    let mut reasons = Vec::new();
    if queue.paused {
        reasons.push(Reason::new(C::QueuePaused, format!("queue {} is paused", queue.name)));
    }
    if let Some(most) = queue.max_concurrent {
        let stats = app.engine.queue_stats(&task.queue).await?;
        let running = stats.tasks.get(&Status::Started).copied().unwrap_or(0);
        if running >= u64::from(most) {
            let holders = started(app, &task.queue, NAMED).await?.into_iter().map(|task| task.id).collect();
            let message = format!("{running} of at most {most} tasks of queue {} run", queue.name);
            reasons.push(Reason::new(C::MaxConcurrent, message).held_by(holders));
        }
    }
    if let (Some(rate), Some(wait)) = (queue.rate_limit, place.and_then(|place| place.rate_wait)) {
        let message =
            format!("the rate of queue {}, {} in {}, is used up", queue.name, rate.tasks, duration::format(rate.per));
        let now: Timestamp = app.now().await?;
        reasons.push(Reason::new(C::RateLimited, message).until(now.after(wait)));
    }
    let held_back = place.map_or(&[][..], |place| &place.held_back);
    if !held_back.is_empty() {
        let now = app.now().await?;
        reasons.extend(held_back.iter().flat_map(|shut| gate_reasons(queue, shut, now)));
    }
    Ok(reasons)
}

/// The reasons from the limits of its key or its name.
fn gate_reasons(queue: &QueueConfig, shut: &ShutGate, now: Timestamp) -> Vec<Reason> {
    let ShutGate { gate, running, holders, rate_wait } = shut;
    let (full, slow) = match gate {
        Gate::Key(_) => (C::MaxConcurrentPerKey, C::RateLimitedPerKey),
        Gate::Task(_) => (C::MaxConcurrentPerTask, C::RateLimitedPerTask),
    };
    let limits = queue.limits_of(gate).unwrap_or_default();
    let mut reasons = Vec::new();
    if let Some(most) = limits.max_concurrent.filter(|_| !holders.is_empty()) {
        let message = format!("{gate}: {running} of at most {most} run in queue {}", queue.name);
        reasons.push(Reason::new(full, message).held_by(holders.clone()));
    }
    if let (Some(rate), Some(wait)) = (limits.rate_limit, rate_wait) {
        let per = duration::format(rate.per);
        let message = format!("{gate}: its rate in queue {}, {} in {per}, is used up", queue.name, rate.tasks);
        reasons.push(Reason::new(slow, message).until(now.after(*wait)));
    }
    reasons
}
