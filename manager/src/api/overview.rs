//! `GET /overview`: all queues and workers in numbers, and what needs an operator; once, or as an event stream.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, header},
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures_util::{Stream, stream};
use jobbers_api::{
    overview::OverviewView,
    problem::{Code, Problem, Result},
};
use jobbers_process::server::memory::MemoryShare;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;

use crate::{app::App, handlers::problem::problems, snapshots::overview::EVERY};

problems!(OverviewProblems: [Code::Overloaded]);

/// All queues and workers in numbers, and what needs an operator
///
/// With `Accept: text/event-stream` a stream of server-sent events: `overview` at once, and every 3 seconds again if it has
/// changed, else `same`; `unavailable` while the store does not answer. The store is read at most every 3 seconds, for all who
/// ask together, and not at all while no client does. The stream ends when the manager stops: connect again.
#[utoipa::path(
    get, path = "/overview", tag = "health", operation_id = "overview",
    security(("key" = ["queues:read", "workers:read"])),
    responses(
        (status = 200, description = "The overview", content((OverviewView = "application/json"), (String = "text/event-stream"))),
        OverviewProblems,
    )
)]
pub(crate) async fn overview(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response> {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !accepts.starts_with("text/event-stream") {
        return Ok(Json(app.overview.read(&*app.engine, &app.live).await?).into_response());
    }
    let Ok(place) = Arc::clone(&app.followers).try_acquire_owned() else {
        let detail = "as many clients follow tasks and pages as half of max_connections; ask without `Accept`";
        return Err(Problem::new(Code::Overloaded, detail).after(EVERY));
    };
    let place = (place, app.wait_share()?);
    Ok(Sse::new(Watcher { app, seen: None, _place: place }.events()).into_response())
}

/// A client that watches the overview.
struct Watcher {
    app: Arc<App>,
    /// What was sent last.
    seen: Option<OverviewView>,
    /// One of a limited number of places, and its part of the memory.
    _place: (OwnedSemaphorePermit, MemoryShare),
}

impl Watcher {
    /// The events, until the manager stops.
    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold((self, false), |(mut watcher, is_begun)| async move {
            let drain = watcher.app.drain.clone();
            let event = drain.run_until_cancelled(async {
                if is_begun {
                    tokio::time::sleep(EVERY).await;
                }
                watcher.next().await
            });
            let event = event.await?;
            Some((Ok(event), (watcher, true)))
        })
    }

    async fn next(&mut self) -> Event {
        let overview = match self.app.overview.read(&*self.app.engine, &self.app.live).await {
            Ok(overview) => overview,
            Err(error) => {
                self.seen = None;
                return Event::default().event("unavailable").data(json!({"detail": error.to_string()}).to_string());
            }
        };
        // Its time alone is no news.
        let is_same =
            self.seen.as_ref().is_some_and(|seen| OverviewView { now: overview.now, ..seen.clone() } == overview);
        self.seen = Some(overview);
        let text = self.seen.as_ref().filter(|_| !is_same).map(serde_json::to_string);
        match text {
            None => Event::default().event("same").data(""),
            Some(Ok(text)) => Event::default().event("overview").data(text),
            // Every overview can be written as JSON, except for a time that no calendar has.
            Some(Err(error)) => {
                Event::default().event("unavailable").data(json!({"detail": error.to_string()}).to_string())
            }
        }
    }
}
