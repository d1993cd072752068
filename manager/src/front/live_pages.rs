//! An open page as an event stream, by which it keeps itself current.
//!
//! A browser asks for the page that it shows with `Accept: text/event-stream`. While it listens, the page is made again every
//! few seconds and sent when it has changed. Those who listen to one page with one key share what is made ([`jobbers_pages`]),
//! so the store is read for all of them together, and not at all while none listens. A listener holds one of the places of
//! those who follow tasks, and its part of the memory of clients; the stream ends with the manager.

use std::{
    convert::Infallible,
    hash::{BuildHasher, RandomState},
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    extract::{MatchedPath, OriginalUri, Request, State},
    http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures_util::{Stream, stream};
use http_body_util::{BodyExt, Limited};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_process::server::memory::{Kind, MemoryShare};
use tokio::sync::OwnedSemaphorePermit;

use crate::{app::App, listening::server::Caller};

/// How often a page is made again.
const EVERY: Duration = Duration::from_secs(3);
/// From when on the times are counted at which pages are made.
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
/// By which pages are spread over these times.
static SPREAD: LazyLock<RandomState> = LazyLock::new(RandomState::new);
/// A longer page shows a payload, and is asked for by the browser itself.
const MAX_BYTES: usize = 128 * 1024;
/// Marks a request by which an open page keeps itself current.
const LIVE: HeaderName = HeaderName::from_static("jobbers-live");

/// The pages, for those who listen.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) app: Arc<App>,
    pub(crate) pages: Router,
}

/// Answers a browser that listens to a page; passes on every other request.
pub(crate) async fn around(State(Live { app, pages }): State<Live>, request: Request, next: Next) -> Response {
    let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if request.method() != Method::GET || !accepts.starts_with("text/event-stream") {
        return next.run(request).await;
    }
    let (parts, _) = request.into_parts();
    match PageListener::new(app, pages, parts.uri, parts.headers, parts.extensions) {
        Ok(listener) => Sse::new(listener.events()).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// A browser that listens to a page.
struct PageListener {
    app: Arc<App>,
    pages: Router,
    page: Uri,
    headers: HeaderMap,
    extensions: Extensions,
    hasher: RandomState,
    /// The page that was sent last, or that the browser has from before.
    seen: Option<u64>,
    /// What the event counts that is on its way.
    sending: Option<MemoryShare>,
    /// One of a limited number of places, and its part of the memory.
    _place: (OwnedSemaphorePermit, MemoryShare),
}

impl PageListener {
    fn new(
        app: Arc<App>,
        pages: Router,
        page: Uri,
        mut headers: HeaderMap,
        mut extensions: Extensions,
    ) -> Result<Self> {
        let Ok(place) = Arc::clone(&app.followers).try_acquire_owned() else {
            let detail = "as many clients follow tasks and pages as half of max_connections; the page asks by itself";
            return Err(Problem::new(Code::Overloaded, detail).after(EVERY));
        };
        let share = app.wait_share()?;
        headers.remove(header::ACCEPT);
        headers.insert(LIVE, HeaderValue::from_static("1"));
        extensions.remove::<MatchedPath>();
        extensions.remove::<OriginalUri>();
        let (hasher, held) = (RandomState::new(), (place, share));
        Ok(Self { app, pages, page, headers, extensions, hasher, seen: None, sending: None, _place: held })
    }

    /// The events, until the manager stops or the page leads elsewhere.
    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(Some(self), |listener| async {
            let mut listener = listener?;
            let drain = listener.app.drain.clone();
            let (event, is_last) = drain.run_until_cancelled(listener.next()).await?;
            Some((Ok(event), (!is_last).then_some(listener)))
        })
    }

    /// The next event, and whether it is the last.
    async fn next(&mut self) -> (Event, bool) {
        // What was sent last is with the connection by now.
        self.sending = None;
        tokio::time::sleep(self.until_made()).await;
        let (status, html) = self.make().await;
        if status.is_redirection() {
            return (Event::default().event("leads_elsewhere").data(""), true);
        }
        let Some(html) = html else { return (Event::default().event("too_long").data(""), true) };
        if status.is_success() {
            let page = self.hasher.hash_one(&html);
            if self.seen.replace(page) == Some(page) {
                return (Event::default().event("same").data(""), false);
            }
        } else {
            self.seen = None;
        }
        let Some(share) = self.app.memory.take(Kind::Payload, 2 * html.len()) else {
            self.seen = None;
            return (Event::default().event("busy").data("the manager holds as much for its clients as it may"), false);
        };
        self.sending = Some(share);
        let name = if status.is_success() { "page" } else { "refused" };
        (Event::default().event(name).data(html), false)
    }

    /// How long until the page is made again: at the same moment for all who listen to it, so that they share it, and at
    /// another for other pages.
    fn until_made(&self) -> Duration {
        let asked_by = [header::AUTHORIZATION, header::COOKIE].map(|name| self.headers.get(name));
        let shift = SPREAD.hash_one((&self.page, asked_by)) % EVERY.as_millis() as u64;
        let past = (BEGUN.elapsed() + Duration::from_millis(shift)).as_micros() % EVERY.as_micros();
        EVERY - Duration::from_micros(past as u64)
    }

    /// The page as it is now; `None` if it is too long to be sent again and again.
    async fn make(&self) -> (StatusCode, Option<String>) {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = self.page.clone();
        *request.headers_mut() = self.headers.clone();
        *request.extensions_mut() = self.extensions.clone();
        if let Some(Caller { share, .. }) = request.extensions_mut().get_mut::<Caller>() {
            // What the page asks of the API counts until it is made, not until the stream ends.
            *share = Arc::new(self.app.memory.share());
        }
        let Ok(response) = TowerToHyperService::new(self.pages.clone()).call(request).await;
        let (parts, body) = response.into_parts();
        let read = Limited::new(body, MAX_BYTES).collect().await.ok();
        // A line of an event ends at a carriage return too, and HTML may write it so.
        let html = read.map(|read| String::from_utf8_lossy(&read.to_bytes()).replace('\r', "&#13;"));
        (parts.status, html)
    }
}
