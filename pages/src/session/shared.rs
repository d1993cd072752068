//! Open pages that keep themselves current: those of one address and one caller share a reading.
//!
//! `live.js` marks what it asks for. Such a request is answered with the page that was made for another within the last
//! moments, or waits for the one that is being made. So the store is read as often for twenty open pages as for one, and
//! not at all while none is open. The page that a person opens is always made for that request.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::{Bytes, HttpBody as _},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use super::token::FORM_TOKEN;

/// The header of a request by which an open page keeps itself current.
const LIVE: HeaderName = HeaderName::from_static("jobbers-live");

/// How old a page may be: less than a second, since a key that is revoked shows nothing any more by then.
const KEPT: Duration = Duration::from_millis(900);

/// Most bytes of a page that is shared. A longer one shows a payload, and is made for each that asks.
const MAX_BYTES: u64 = 128 * 1024;

/// Most pages that are kept at once: with their bytes 8 MiB. Those that are no longer fresh go first, and beyond that no
/// further page is shared.
const MOST: usize = 64;

/// What a page depends on: its address, and the headers that say who asks and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PageKey {
    address: String,
    caller: [Option<HeaderValue>; 5],
}

impl PageKey {
    fn of(request: &Request) -> Self {
        let proto = HeaderName::from_static("x-forwarded-proto");
        let names = [header::HOST, header::AUTHORIZATION, header::COOKIE, FORM_TOKEN, proto];
        let address = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        Self { address, caller: names.map(|name| request.headers().get(name).cloned()) }
    }
}

/// A page that was made.
#[derive(Debug, Clone)]
struct Made {
    at: Instant,
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Made {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < KEPT
    }
}

impl IntoResponse for Made {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.body).into_response()
    }
}

/// The page that was made last for each who asks; locked while it is being made.
type Last = Arc<AsyncMutex<Option<Made>>>;

/// The pages that were made last.
#[derive(Debug, Default)]
pub(crate) struct SharedPages(Mutex<HashMap<PageKey, Last>>);

impl SharedPages {
    /// The last page of one who asks; `None` when as many are kept as may be.
    fn last(&self, key: PageKey) -> Option<Last> {
        let mut pages = self.0.lock();
        if !pages.contains_key(&key) {
            // One that is being made is locked.
            pages.retain(|_, page| page.try_lock().map_or(true, |made| made.as_ref().is_some_and(Made::is_fresh)));
            if pages.len() >= MOST {
                return None;
            }
        }
        Some(Arc::clone(pages.entry(key).or_default()))
    }
}

/// Answers what an open page asks for to keep itself current.
pub(crate) async fn around(State(shared): State<Arc<SharedPages>>, request: Request, next: Next) -> Response {
    if request.method() != Method::GET || !request.headers().contains_key(LIVE) {
        return next.run(request).await;
    }
    let Some(last) = shared.last(PageKey::of(&request)) else { return next.run(request).await };
    let mut last = last.lock().await;
    if let Some(made) = last.as_ref().filter(|made| made.is_fresh()) {
        return made.clone().into_response();
    }
    let response = next.run(request).await;
    if response.body().size_hint().exact().is_none_or(|bytes| bytes > MAX_BYTES) {
        *last = None;
        return response;
    }
    let (parts, body) = response.into_parts();
    // A page of a known length is whole in memory.
    let Ok(body) = body.collect().await else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let made = Made { at: Instant::now(), status: parts.status, headers: parts.headers, body: body.to_bytes() };
    last.insert(made).clone().into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use axum::{Router, body::Body, middleware::from_fn_with_state, routing::get};
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    /// The number of the reading from which a page was made.
    async fn ask(site: &Router, address: &str, headers: &[(&str, &str)]) -> String {
        let mut request = Request::get(address);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let site = TowerToHyperService::new(site.clone());
        let answer = site.call(request.body(Body::empty()).unwrap()).await.unwrap();
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn open_pages_of_one_caller_share_a_reading() {
        let readings = Arc::new(AtomicU32::new(0));
        let read = async move || (readings.fetch_add(1, Ordering::SeqCst) + 1).to_string();
        let site =
            Router::new().route("/page", get(read)).layer(from_fn_with_state(Arc::<SharedPages>::default(), around));
        let live = [("jobbers-live", "1"), ("cookie", "a")];
        let (first, second) = tokio::join!(ask(&site, "/page", &live), ask(&site, "/page", &live));
        assert_eq!((first.as_str(), second.as_str()), ("1", "1"), "the second waits for the first");
        assert_eq!(ask(&site, "/page", &live).await, "1");
        assert_eq!(ask(&site, "/page?n=2", &live).await, "2", "another page");
        assert_eq!(ask(&site, "/page", &[("jobbers-live", "1"), ("cookie", "b")]).await, "3", "another caller");
        assert_eq!(ask(&site, "/page", &[("cookie", "a")]).await, "4", "a page that a person opens");
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded_and_all_are_answered() {
        let page = async |query: axum::extract::RawQuery| {
            let is_long = query.0.as_deref() == Some("long");
            "x".repeat(if is_long { 2 * 1024 * 1024 } else { 1_000 })
        };
        let shared = Arc::<SharedPages>::default();
        let site = Router::new().route("/page", get(page)).layer(from_fn_with_state(Arc::clone(&shared), around));
        let live = ("jobbers-live", "1");
        assert_eq!(ask(&site, "/page?long", &[live]).await.len(), 2 * 1024 * 1024);
        for caller in 0..3 * MOST {
            assert_eq!(ask(&site, "/page", &[live, ("cookie", &caller.to_string())]).await.len(), 1_000);
        }
        let kept: Vec<Last> = shared.0.lock().values().cloned().collect();
        assert!(kept.len() <= MOST, "{}", kept.len());
        for page in kept {
            assert!(page.lock().await.as_ref().is_none_or(|made| made.body.len() as u64 <= MAX_BYTES));
        }
    }

    #[test]
    fn a_page_is_shared_for_less_than_a_second() {
        let made = |age| Made {
            at: Instant::now().checked_sub(age).unwrap(),
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        assert!(made(Duration::ZERO).is_fresh() && !made(KEPT).is_fresh() && KEPT < Duration::from_secs(1));
    }
}
