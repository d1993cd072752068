//! The token of a session, in each form of its pages. It is a digest of the session's cookie, so nothing is stored for it.

use axum::http::HeaderMap;
use jobbers_api::wire::cookie;
use maud::{Markup, html};
use sha2::{Digest, Sha256};

/// The field with the token.
pub(in crate::pages) const TOKEN_FIELD: &str = "csrf";
/// The names of the cookie of a session: over TLS, and without.
const COOKIES: [&str; 2] = ["__Host-jobbers", "jobbers"];
/// How many bytes of a digest are a token.
const TOKEN_BYTES: usize = 16;

tokio::task_local! {
    /// The token of the forms of the page that is made; none without a session.
    pub(in crate::pages) static TOKEN: Option<String>;
}

/// The token of the session of a request.
pub(in crate::pages) fn of(headers: &HeaderMap) -> Option<String> {
    let session = COOKIES.iter().find_map(|name| cookie::find(headers, name))?;
    let digest = Sha256::new().chain_update("form:").chain_update(session).finalize();
    Some(digest.iter().take(TOKEN_BYTES).map(|byte| format!("{byte:02x}")).collect())
}

/// The hidden field with the token, for a form that changes something.
pub(in crate::pages) fn field() -> Markup {
    let token = TOKEN.try_with(Clone::clone).ok().flatten();
    html! { @if let Some(token) = token { input type="hidden" name=(TOKEN_FIELD) value=(token); } }
}
