//! Passes a request on to the manager that keeps the archive, and brings its answer back.
//!
//! The request goes with its caller's own key or session, or with the name that a trusted proxy or a certificate gave its caller. The
//! caller was let in here, and is let in again there: both managers read the same keys from one store. So no manager acts with rights
//! that its caller lacks, and the store holds no secret of managers, with which a process that reads it could act. The keeper's address
//! comes from the store, read just before.
//!
//! A request is passed on once. A manager that gets one and does not keep the archive refuses it, so no two managers that
//! each take the other for the keeper send it round.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use jobbers_api::{
    client::{Client, Error},
    problem::Problem,
};
use jobbers_common::limits::MAX_WAIT;
use parking_lot::Mutex;

use super::view::unavailable;
use crate::listening::{
    client_address::{ClientAddress, FORWARDED_FOR},
    idempotency::IDEMPOTENCY_KEY,
    identity::Identity,
    passed_on::PASSED_ON,
    request_id::REQUEST_ID,
};

/// Who asks, in words of HTTP.
const AGENT: &str = concat!("jobbers-manager/", env!("CARGO_PKG_VERSION"));

/// The headers that operations read.
static ASKED: [HeaderName; 7] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::CONTENT_TYPE,
    header::ACCEPT,
    header::IF_MATCH,
    IDEMPOTENCY_KEY,
    REQUEST_ID,
];
/// The headers that clients read.
static ANSWERED: [HeaderName; 5] =
    [header::CONTENT_TYPE, header::LOCATION, header::RETRY_AFTER, header::ETAG, header::WWW_AUTHENTICATE];

/// The client for the keeper that was asked last, with its address.
#[derive(Debug, Default)]
pub(crate) struct KeeperClient(Mutex<Option<(String, Client)>>);

impl KeeperClient {
    fn of(&self, url: &str) -> Result<Client, Error> {
        let mut known = self.0.lock();
        if let Some((_, client)) = known.as_ref().filter(|(address, _)| address == url) {
            return Ok(client.clone());
        }
        let client = Client::new(url, AGENT)?;
        *known = Some((url.to_owned(), client.clone()));
        Ok(client)
    }

    /// The answer of the manager at `url` to a request.
    ///
    /// # Errors
    /// [`jobbers_api::problem::Code::ArchiveUnavailable`] without an answer.
    pub(crate) async fn pass_on(&self, url: &str, asked: Parts, body: Bytes) -> Result<Response, Problem> {
        match self.exchange(url, asked, body).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                // The next call reads the files that the address names again.
                *self.0.lock() = None;
                tracing::warn!(%error, "the manager that keeps the dead letters can't be asked");
                Err(unavailable(&format!(
                    "the dead letters are kept by another manager, which can't be asked ({error}); if it has died, another \
                     follows within seconds, and what this request asks for may have been done"
                )))
            }
        }
    }

    async fn exchange(&self, url: &str, asked: Parts, body: Bytes) -> Result<Response, Error> {
        let client = self.of(url)?;
        let mut headers = chosen(&asked.headers, &ASKED);
        headers.insert(PASSED_ON, HeaderValue::from_static("1"));
        if let Some(ClientAddress(client)) = asked.extensions.get() {
            // An address is always a legal value.
            headers.extend(HeaderValue::try_from(client.to_string()).ok().map(|client| (FORWARDED_FOR, client)));
        }
        if let Some(identity) = asked.extensions.get::<Identity>() {
            headers.extend(identity.header());
        }
        let path = asked.uri.path_and_query().map_or("/", |path| path.as_str());
        let answer = client.call(asked.method, path).headers(headers).body(body).waiting(MAX_WAIT).exchange().await?;
        let (answered, body) = axum::http::Response::<_>::from(answer).into_parts();
        Ok((answered.status, chosen(&answered.headers, &ANSWERED), Body::new(body)).into_response())
    }
}

fn chosen(headers: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    let of =
        |name: &HeaderName| headers.get_all(name).iter().map(|value| (name.clone(), value.clone())).collect::<Vec<_>>();
    names.iter().flat_map(of).collect()
}
