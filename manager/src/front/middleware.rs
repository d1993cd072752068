//! The middleware of every route. It counts, times, names and logs each request, and answers a panic in a handler. It refuses
//! requests for a foreign host name or from a foreign page ([`crate::listening::guard`]), those without the key that their operation
//! needs ([`crate::doors`]), and query parameters that the operation does not have ([`crate::front::known_parameters`]).
//!
//! It also counts what a request and its answer hold ([`crate::listening::server::Caller`]): without memory for them they are refused.
//!
//! All of it is one layer, because a router boxes each of its layers and clones them all for each request. Its future is copied
//! into that box whole: futures that are rarely needed are boxed, and the others are pinned where they are made.

use std::{
    any::Any,
    net::IpAddr,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use hyper::body::Body as _;
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::{access::redact, name::KeyId, outcome::panic::words_of};
use jobbers_process::server::{
    answer::{CountedBody, SMALL_ANSWER},
    connections::{Busy, Delivery},
    memory::Kind,
};
use tracing::Instrument;

use crate::{
    app::{App, overloaded},
    audit::{AskedChange, AuditedOperations, Change},
    doors::{AccessRequest, Admission, Doors, KeysNeeded, is_page, named, sessions::OfPage},
    front::known_parameters::KnownParameters,
    handlers::archive,
    leases::Undelivered,
    listening::{
        client_address::ClientAddress,
        guard::{Ambiguous, Guard},
        identity::Identity,
        request_id::{REQUEST_ID, request_id},
        server::Caller,
    },
};

/// What a request counts until it is answered, besides its body.
const REQUEST_BYTES: usize = 8 * 1024;

/// Marks an answer whose bytes are the same for every client, and are held once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Common;

/// State of the middleware.
#[derive(Debug)]
pub(crate) struct Middleware {
    pub(crate) app: Arc<App>,
    pub(crate) guard: Guard,
    pub(crate) doors: Doors,
    pub(crate) known: KnownParameters,
    pub(crate) audited: AuditedOperations,
}

impl Middleware {
    /// Lets a request in, or refuses it. What it was signed in by is in its extensions then.
    async fn let_in(
        &self,
        counting: &Counting,
        request: &mut Request,
        route: Option<&MatchedPath>,
        client: Option<ClientAddress>,
    ) -> Result<Admission> {
        counting.admit()?;
        self.guard.check(request)?;
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        let takes_sessions = request.extensions().get::<OfPage>().is_some() || archive::is_passed_on(headers, route);
        let asked = AccessRequest { method, headers, identity: request.extensions().get::<Identity>(), takes_sessions };
        let pass = self.doors.check(&self.app, asked, route.map(MatchedPath::as_str)).await;
        let pass = pass.map_err(|problem| self.app.failures.answer(problem, client, &self.app.meters))?;
        if let Some(route) = route {
            self.known.check(method, route.as_str(), uri)?;
        }
        if let Some(reach) = pass.reach() {
            match (self.doors.board(), route) {
                (Some(board), _) => reach.check_board(board)?,
                (None, Some(route)) => {
                    Box::pin(reach.check_route(&*self.app.engine, method, uri, route.as_str())).await?;
                }
                (None, None) => {}
            }
            request.extensions_mut().insert(reach);
        }
        if let Some(signer) = pass.signer() {
            request.extensions_mut().insert(signer);
        }
        Ok(pass)
    }

    /// Answers a request that is let in.
    async fn answer(
        &self,
        pass: Admission,
        request: Request,
        route: Option<&MatchedPath>,
        id: &HeaderValue,
        next: Next,
    ) -> Response {
        let route = route.map(MatchedPath::as_str);
        let id = id.to_str().unwrap_or_default();
        let Some(asked) = self.audited.asked_for(&request, route, (&pass, id)) else {
            let handled = pin!(self.handled(route, request, next));
            return pass.answer(&self.app, handled).await;
        };
        Box::pin(self.answer_change(pass, asked, request, route, next)).await
    }

    /// The same for a change, which is logged before and after.
    async fn answer_change(
        &self,
        pass: Admission,
        asked: AskedChange,
        request: Request,
        route: Option<&str>,
        next: Next,
    ) -> Response {
        match Change::begin(&self.app, asked).await {
            Ok(change) => {
                let handled = pin!(self.handled(route, request, next));
                let answer = pin!(pass.answer(&self.app, handled));
                change.end(even_if_it_panics(answer).await).await
            }
            Err(problem) => problem.into_response(),
        }
    }

    /// The answer of a request's handler.
    async fn handled(&self, route: Option<&str>, request: Request, next: Next) -> Response {
        let route = route.filter(|route| archive::need_archive(route));
        match route.is_some_and(|route| self.known.has(request.method(), route)) {
            true => Box::pin(archive::answer(&self.app, request, next)).await,
            false => next.run(request).await,
        }
    }
}

/// Handles one request.
pub(crate) async fn handle(State(middleware): State<Arc<Middleware>>, mut request: Request, next: Next) -> Response {
    let counting = Counting::begin(&mut request);
    let id = request_id(request.headers());
    if middleware.doors.need_keys() {
        request.extensions_mut().insert(KeysNeeded);
    }
    if let Some(trusted) = &middleware.app.trusted_header {
        trusted.take_off(&mut request);
    }
    if middleware.app.certificates_name_keys {
        Identity::note_certificate(&mut request);
    }
    let client = client_of(&request, &middleware.app);
    if let Some(client) = client {
        request.extensions_mut().insert(client);
    }
    let shown = client.map(|ClientAddress(address)| tracing::field::display(address));
    let span = tracing::debug_span!("request", id = ?id, client = shown, method = %request.method(), uri = %redact(&request.uri().to_string()));
    let mut access = middleware.app.access_log.then(|| AccessLine::of(&request, client));
    let answer = pin!(async {
        tracing::debug!("received");
        let route = request.extensions().get::<MatchedPath>().cloned();
        let (is_of_page, may_be_passed_on) = route.as_ref().map_or((false, false), |route| {
            let route = route.as_str();
            (is_page(route), archive::may_be_passed_on(route))
        });
        if is_of_page || may_be_passed_on {
            // What is asked on behalf of this request has its name.
            request.headers_mut().insert(REQUEST_ID, id.clone());
        }
        if is_of_page {
            // What the page asks of the API is signed in by its caller's session.
            request.extensions_mut().insert(OfPage);
            Box::pin(named::give_form_token(&middleware.app, &mut request)).await;
        }
        let underway = middleware.app.meters.request(request.method(), route.clone());
        let mut response = {
            let handled = pin!(async {
                let pass = match middleware.let_in(&counting, &mut request, route.as_ref(), client).await {
                    Ok(pass) => pass,
                    Err(problem) => return problem.into_response(),
                };
                if let Some(access) = &mut access {
                    access.key = pass.key().map(|key| key.id.clone());
                }
                middleware.answer(pass, request, route.as_ref(), &id, next).await
            });
            even_if_it_panics(handled).await
        };
        response = counting.answer(response);
        if middleware.app.leaving.is_cancelled() {
            // The client's next connection goes to another manager.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response.headers_mut().entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        let took = underway.answered(&response);
        tracing::debug!(status = response.status().as_u16(), ?took, "answered");
        if let Some(access) = &access {
            access.log(&id, &response, took);
        }
        response.headers_mut().insert(REQUEST_ID, id);
        response
    });
    if span.is_disabled() { answer.await } else { answer.instrument(span).await }
}

/// The address of a request's client, if it has one. One of a test comes without a connection.
fn client_of(request: &Request, app: &App) -> Option<ClientAddress> {
    let caller = request.extensions().get::<Caller>()?;
    Some(ClientAddress::of(request.headers(), caller.peer?, &app.proxies))
}

/// A line of the log about a request.
#[derive(Debug)]
struct AccessLine {
    key: Option<KeyId>,
    client: Option<IpAddr>,
    method: Method,
    path: String,
}

impl AccessLine {
    fn of(request: &Request, client: Option<ClientAddress>) -> Self {
        Self {
            key: None,
            client: client.map(|ClientAddress(address)| address),
            method: request.method().clone(),
            path: redact(request.uri().path()).into_owned(),
        }
    }

    fn log(&self, id: &HeaderValue, response: &Response, took: Duration) {
        let Self { key, client, method, path } = self;
        let key = key.as_ref().map_or("-", KeyId::as_str);
        let client = client.map(tracing::field::display);
        let (id, status) = (id.to_str().unwrap_or_default(), response.status().as_u16());
        let (bytes, took_ms) = (response.body().size_hint().exact(), took.as_secs_f64() * 1e3);
        tracing::info!(request = id, key, client, %method, path, status, bytes, took_ms, "access");
    }
}

/// What a request that came over a connection holds. One of a test comes without.
struct Counting {
    request: Option<(Caller, Busy)>,
    is_ambiguous: bool,
    /// Whether it changes nothing, so that its answer may be refused.
    is_safe: bool,
}

impl Counting {
    fn begin(request: &mut Request) -> Self {
        let is_safe = request.method().is_safe();
        let Some(caller) = request.extensions().get::<Caller>().cloned() else {
            return Self { request: None, is_ambiguous: false, is_safe };
        };
        let (busy, is_plain) = Arc::clone(&caller.connection).begin();
        let is_ambiguous = !is_plain && request.headers().contains_key(header::TRANSFER_ENCODING);
        if is_ambiguous {
            request.extensions_mut().insert(Ambiguous);
        }
        Self { request: Some((caller, busy)), is_ambiguous, is_safe }
    }

    fn admit(&self) -> Result<()> {
        let refused = |(caller, _): &(Caller, Busy)| !caller.share.grow(Kind::Request, REQUEST_BYTES);
        if self.request.as_ref().is_some_and(refused) { Err(overloaded()) } else { Ok(()) }
    }

    /// The answer, counted until it is written; a refusal if no memory is left for it.
    fn answer(self, mut response: Response) -> Response {
        // A connection whose request finds no memory left gives its own back too.
        let is_overload = response.extensions().get::<Code>() == Some(&Code::Overloaded);
        if self.is_ambiguous || is_overload {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let Some((Caller { connection, share, .. }, busy)) = self.request else { return response };
        let delivery = response.extensions_mut().remove::<Undelivered>();
        let delivery = delivery.map(|leases| Box::new(leases) as Box<dyn Delivery>);
        let size = response.body().size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let is_common = response.extensions().get::<Common>().is_some();
        if is_common || size.is_some_and(|size| size <= SMALL_ANSWER) {
            // The next flush is after the whole answer, which is handed over in this same poll.
            if let Some(delivery) = delivery {
                connection.owes(delivery);
            }
            return response;
        }
        let (size, ahead) = (size.unwrap_or(0), share.own());
        // Leases in an answer that is refused are given back. What else was changed has to be answered.
        if !ahead.grow(Kind::Payload, size) {
            if self.is_safe || delivery.is_some() {
                return overloaded().into_response();
            }
            ahead.add(size);
        }
        response.map(|body| Body::new(CountedBody::new(body, ahead, connection, busy, delivery)))
    }
}

async fn even_if_it_panics(answer: Pin<&mut impl Future<Output = Response>>) -> Response {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|panic| panicked(&*panic))
}

fn panicked(panic: &(dyn Any + Send)) -> Response {
    let message = words_of(panic).unwrap_or("no message");
    tracing::error!(message, "a request handler panicked");
    Problem::new(Code::Internal, "a defect was met; the log tells more").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered_as_a_defect() {
        let response = even_if_it_panics(pin!(async { panic!("of {}", 1) })).await;
        assert_eq!(response.status(), axum::http::StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.extensions().get::<Code>(), Some(&Code::Internal));
    }
}
