//! `GET /tasks/{id}/events`: the changes of a task, as server-sent events.
//!
//! The store wakes the listener when the task ends; it looks for other changes once a second.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{Stream, stream};
use jobbers_api::{
    problem::{Code, Problem, Result},
    task::view::TaskView,
    value::TaskIdDoc,
};
use jobbers_common::{lifecycle::Status, name::TaskId, task::Task, time::Timestamp};
use jobbers_process::server::memory::MemoryShare;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use super::show::missing;
use crate::{
    app::App,
    handlers::{extract::Path, problem::problems},
};

problems!(EventsProblems: [Code::UnknownTask, Code::Gone, Code::Overloaded]);

/// How often a task that has not ended is read.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often a silent stream is written to, so that a client that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Follow a task
///
/// A stream of server-sent events. The first reports the task's present state, later ones what changed, within a second:
/// `status` when its status, its attempt, its worker or a wish to cancel it changed; `progress` at its heartbeats. Each has
/// the task as its data, without parameters, result and errors. The last is `end`, with result and errors, at once when the
/// task is over; or `deleted`. Then the stream ends. It also ends when the manager stops: connect again.
#[utoipa::path(
    get, path = "/tasks/{id}/events", tag = "tasks", operation_id = "follow_task",
    security(("key" = ["tasks:read"])),
    params(("id" = TaskIdDoc, Path, description = "The task's id")),
    responses((status = 200, description = "The events", body = String, content_type = "text/event-stream"),
        EventsProblems)
)]
pub(crate) async fn events(State(app): State<Arc<App>>, Path(id): Path<TaskId>) -> Result<Response> {
    let Ok(place) = Arc::clone(&app.followers).try_acquire_owned() else {
        let detail = "as many clients follow tasks as half of max_connections; wait for the end with ?wait=60s";
        return Err(Problem::new(Code::Overloaded, detail).after(LOOK_EVERY));
    };
    let share = app.wait_share()?;
    let Some(task) = app.engine.get(&id).await? else { return Err(missing(&app, &id).await?) };
    let follower = Follower { app, id, news: Some(task), seen: None, _place: (place, share) };
    Ok(Sse::new(follower.events()).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// A client that follows a task.
struct Follower {
    app: Arc<App>,
    id: TaskId,
    /// The task as it was when the request came.
    news: Option<Task>,
    seen: Option<SentFields>,
    /// One of a limited number of places, and its part of the memory.
    _place: (OwnedSemaphorePermit, MemoryShare),
}

/// The fields of a task that were sent last.
#[derive(Debug, PartialEq)]
struct SentFields {
    standing: (Status, u64, bool),
    heartbeat_at: Option<Timestamp>,
}

impl SentFields {
    fn of(task: &Task) -> Self {
        let standing = (task.status, task.revision, task.cancel_requested);
        Self { standing, heartbeat_at: task.heartbeat_at }
    }
}

impl Follower {
    /// The events, until the task is over or deleted, or the manager stops.
    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(Some(self), |follower| async {
            let mut follower = follower?;
            let drain = follower.app.drain.clone();
            let (event, is_last) = drain.run_until_cancelled(follower.next()).await?;
            Some((Ok(event), (!is_last).then_some(follower)))
        })
    }

    /// The next event, and whether it is the last.
    async fn next(&mut self) -> (Event, bool) {
        loop {
            let task = match self.news.take() {
                Some(task) => Some(task),
                None => self.look().await,
            };
            let Some(task) = task else {
                return (Event::default().event("deleted").data(json!({"id": self.id}).to_string()), true);
            };
            let now = SentFields::of(&task);
            if self.seen.as_ref() == Some(&now) {
                continue;
            }
            let is_over = task.status.is_finished();
            let name = match &self.seen {
                _ if is_over => "end",
                Some(seen) if seen.standing == now.standing => "progress",
                _ => "status",
            };
            self.seen = Some(now);
            return (event(name, task, is_over), is_over);
        }
    }

    /// The task when it is over, or its state after a while. A store that can't answer is asked again.
    async fn look(&self) -> Option<Task> {
        loop {
            match self.app.engine.await_finished(&self.id, LOOK_EVERY).await {
                Ok(task) => return task,
                Err(error) => {
                    tracing::debug!(%error, id = %self.id, "a followed task could not be read");
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
    }
}

fn event(name: &str, mut task: Task, is_over: bool) -> Event {
    task.parameters = None;
    if !is_over {
        task.result = None;
        task.errors.clear();
    }
    let event = Event::default().event(name).id(task.revision.to_string());
    match serde_json::to_string(&TaskView::from(&task)) {
        Ok(text) => event.data(text),
        // Every task can be written as JSON, except for a time that no calendar has.
        Err(error) => event.data(json!({"id": task.id, "detail": error.to_string()}).to_string()),
    }
}
