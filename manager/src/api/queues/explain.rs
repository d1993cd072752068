//! `GET /queues/{queue}/explain`: why a queue does not move.
//!
//! The reasons are those of its next task: [`crate::api::tasks::explain`] decides them. Of a queue without a ready task, what would keep
//! one from running is said too. The facts come from several reads, a moment apart.

use std::sync::Arc;

use axum::{Json, extract::State};
use jobbers_api::{
    problem::{Code, Result},
    task::explain::{QueueExplainView, Reason, ReasonCode as C},
    value::{NameDoc, Rfc3339},
};
use jobbers_common::{
    engine::{ListRequest, TaskFilter},
    history::Grain,
    lifecycle::Status,
    name::QueueName,
    task::Task,
};

use crate::{
    api::tasks::explain::{reasons_of, workers::serving},
    app::App,
    handlers::{extract::Path, problem::problems},
};

problems!(ExplainProblems: [Code::UnknownQueue]);

/// Why a queue does not move
///
/// The task that is claimed next, and everything that keeps it from running, each with a code and a sentence, as `GET
/// /tasks/{id}/explain` says it; or that no task is ready, and until when. And since when no task of the queue has started.
#[utoipa::path(
    get, path = "/queues/{queue}/explain", tag = "queues", operation_id = "explain_queue",
    security(("key" = ["queues:read", "tasks:read"])),
    params(("queue" = NameDoc, Path, description = "The queue's name")),
    responses((status = 200, description = "The reasons", body = QueueExplainView), ExplainProblems)
)]
pub(crate) async fn explain(
    State(app): State<Arc<App>>,
    Path(queue): Path<QueueName>,
) -> Result<Json<QueueExplainView>> {
    let stats = app.engine.queue_stats(&queue).await?;
    let next = first(&app, &queue, Status::Submitted).await?;
    let reasons = match &next {
        Some(next) => reasons_of(&app, next).await?.1,
        None => without_ready_tasks(&app, &queue).await?,
    };
    let history = app.engine.history(std::slice::from_ref(&queue), Grain::Minute).await?;
    let last_start = history.queues.iter().flatten().rev().find(|slot| slot.counts.started > 0);
    let count = |statuses: &[Status]| statuses.iter().filter_map(|status| stats.tasks.get(status)).sum();
    Ok(Json(QueueExplainView {
        running: count(&[Status::Started]),
        ready: count(&[Status::Submitted]),
        later: count(&[Status::Scheduled, Status::Waiting]),
        oldest_ready_at: stats.oldest_ready_at.map(Rfc3339),
        last_start_at: last_start.map(|slot| Rfc3339(slot.at)),
        next: next.map(|next| next.id),
        queue,
        reasons,
    }))
}

/// The first task of a queue with this status.
async fn first(app: &App, queue: &QueueName, status: Status) -> Result<Option<Task>> {
    let filter = TaskFilter { statuses: vec![status], queue: Some(queue.clone()), ..TaskFilter::default() };
    Ok(app.engine.list(ListRequest { filter, limit: 1, cursor: None }).await?.tasks.pop())
}

async fn without_ready_tasks(app: &App, queue: &QueueName) -> Result<Vec<Reason>> {
    let nothing = Reason::new(C::NothingReady, format!("no task of queue {queue} is ready"));
    let mut reasons = vec![match first(app, queue, Status::Scheduled).await? {
        Some(scheduled) => nothing.until(scheduled.ready_at),
        None => nothing,
    }];
    let config = app.live.fresh().await?;
    if config.settings_of(queue).paused {
        reasons.push(Reason::new(C::QueuePaused, format!("queue {queue} is paused")));
    }
    reasons.extend(serving(queue, &config, &app.engine.workers().await?).err());
    Ok(reasons)
}
