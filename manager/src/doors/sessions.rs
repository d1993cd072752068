//! Sessions: people sign in at the pages with an access key, and their browser keeps a cookie in its place.
//!
//! The cookie is a random text, whose digest the store keeps with the key and the secret that it was begun with. So a session
//! ends with either, and with [`LASTS`], at every manager; and the store alone lets no one in.
//!
//! A browser sends its cookie with each request, also with one that a page of another site has it send. So it signs in pages, and requests that another
//! manager passed on, and no other call of the API. [`jobbers_pages`] asks for a token in each form besides.

use std::{sync::Arc, time::Duration};

use axum::http::{HeaderMap, HeaderValue};
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::{
    access::{AccessKey, Digest, Session},
    engine::Engine,
    queue::Config,
    time::Timestamp,
};
use sha2::{Digest as _, Sha256};

use crate::credentials::key_text::{KeyText, is_same, random_text};

/// How long a session lasts.
pub(crate) const LASTS: Duration = Duration::from_hours(12);

/// The cookie over TLS. A browser takes one with this prefix over TLS alone, and for this very host.
const SECURE: &str = "__Host-jobbers";
/// The cookie of a manager on loopback without TLS.
const PLAIN: &str = "jobbers";
/// How many characters its text has: 260 random bits.
const TEXT_LENGTH: usize = 52;

/// Marks a request of a page, which a session may sign in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfPage;

/// Begins a session with a key that is valid. Returns the cookie.
pub(crate) async fn begin(
    engine: &dyn Engine,
    key: &KeyText,
    headers: &HeaderMap,
    is_tls: bool,
) -> Result<HeaderValue> {
    let text = random_text(TEXT_LENGTH);
    let session = Session { key: key.id().clone(), secret: key.digest() };
    engine.put_session(&digest(&text), &session, LASTS).await?;
    cookie(&text, LASTS, is_secure(headers, is_tls))
}

/// Ends the session of a request, if it has one. Returns the cookie that takes the place of the browser's.
pub(crate) async fn end(engine: &dyn Engine, headers: &HeaderMap, is_tls: bool) -> Result<HeaderValue> {
    for text in texts(headers) {
        engine.end_session(&digest(text)).await?;
    }
    cookie("", Duration::ZERO, is_secure(headers, is_tls))
}

/// The key of the session of a request, and the secret that it was begun with.
pub(super) async fn find(
    engine: &dyn Engine,
    config: &Config,
    headers: &HeaderMap,
    now: Timestamp,
) -> Result<Option<(Arc<AccessKey>, Digest)>> {
    for text in texts(headers) {
        let Some(Session { key, secret }) = engine.session(&digest(text)).await? else { continue };
        let known = config.keys.get(&key);
        if let Some(key) = known.filter(|key| key.valid_secrets(now).any(|stored| is_same(stored, &secret))) {
            return Ok(Some((Arc::clone(key), secret)));
        }
    }
    Ok(None)
}

/// The texts of the cookies of a session in a request: at most one of each name.
fn texts(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    [SECURE, PLAIN]
        .into_iter()
        .filter_map(|name| jobbers_api::wire::cookie::find(headers, name))
        .filter(|text| text.len() == TEXT_LENGTH)
}

fn digest(text: &str) -> Digest {
    Digest(Sha256::digest(text).into())
}

/// Whether the browser came over TLS: to this manager, or to a proxy in front of it. The header is believed from any client,
/// since it only decides over the client's own cookie.
fn is_secure(headers: &HeaderMap, is_tls: bool) -> bool {
    is_tls || headers.get("x-forwarded-proto").is_some_and(|scheme| scheme.as_bytes().eq_ignore_ascii_case(b"https"))
}

fn cookie(text: &str, lasts: Duration, is_secure: bool) -> Result<HeaderValue> {
    let (name, secure) = if is_secure { (SECURE, "; Secure") } else { (PLAIN, "") };
    let cookie = format!("{name}={text}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}", lasts.as_secs());
    let mut value = HeaderValue::try_from(cookie).map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    value.set_sensitive(true);
    Ok(value)
}
