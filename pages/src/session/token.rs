//! The token of a session, in each form of its pages. It is a digest of the session's cookie, so nothing is stored for it. The
//! pages of a person whom a proxy signed in have the token that comes with each of their requests ([`FORM_TOKEN`]).

use axum::http::{HeaderMap, HeaderName};
use jobbers_api::wire::cookie;
use maud::{Markup, html};
use sha2::{Digest, Sha256};

/// The field with the token.
pub(crate) const TOKEN_FIELD: &str = "csrf";
/// The names of the cookie of a session: over TLS, and without.
const COOKIES: [&str; 2] = ["__Host-jobbers", "jobbers"];
/// How many bytes of a digest are a token.
const TOKEN_BYTES: usize = 16;

/// The header with the token of a person whom a proxy signed in. The manager sets it, and takes it off what clients send.
pub const FORM_TOKEN: HeaderName = HeaderName::from_static("jobbers-form-token");

tokio::task_local! {
    /// The token of the forms of the page that is made; none without a session.
    pub(crate) static TOKEN: Option<FormToken>;
}

/// The token of the forms of a person.
#[derive(Debug, Clone)]
pub(crate) struct FormToken {
    pub(crate) text: String,
    /// Whether a proxy signed the person in, which alone signs them out.
    pub(crate) is_of_proxy: bool,
}

/// The token of the person who sent a request.
pub(crate) fn of(headers: &HeaderMap) -> Option<FormToken> {
    let of_proxy = headers.get(&FORM_TOKEN).map(|token| token.to_str().unwrap_or_default().to_owned());
    match of_proxy {
        Some(text) => Some(FormToken { text, is_of_proxy: true }),
        None => of_session(headers).map(|text| FormToken { text, is_of_proxy: false }),
    }
}

/// Whether the person who is shown the page that is made can sign out.
pub(crate) fn signs_out() -> bool {
    TOKEN.try_with(|token| token.as_ref().is_none_or(|token| !token.is_of_proxy)).unwrap_or(true)
}

fn of_session(headers: &HeaderMap) -> Option<String> {
    let session = COOKIES.iter().find_map(|name| cookie::find(headers, name))?;
    let digest = Sha256::new().chain_update("form:").chain_update(session).finalize();
    Some(digest.iter().take(TOKEN_BYTES).map(|byte| format!("{byte:02x}")).collect())
}

/// The hidden field with the token, for a form that changes something.
pub(crate) fn field() -> Markup {
    let token = TOKEN.try_with(Clone::clone).ok().flatten();
    html! { @if let Some(token) = token { input type="hidden" name=(TOKEN_FIELD) value=(token.text); } }
}
