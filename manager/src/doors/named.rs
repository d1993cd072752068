//! Keys by their names: a person whom a trusted proxy names, or a client that shows a certificate ([`Identity`]), may do what the key
//! of that name may.
//!
//! So a person's role, scopes, restrictions and end are those of a key, and a revocation holds for them as for a client that sends
//! the key. Two valid keys of one name would leave open which counts, so neither does.
//!
//! A manager names the client of a request that it passes on. It is believed if its own certificate names a key that may do everything,
//! so no client gains by the same headers what it could not do by itself.
//!
//! A browser lets the proxy name its person with each request, also with one that a page of another site has it send. So a form of a page
//! needs a token, as with a session, and a change by a call of the API needs the mark of a browser that it comes from a page of
//! this manager: [`crate::listening::guard`] has refused the mark of any other. Programs show certificates too and send no such mark, so
//! a client with a certificate needs none.

use std::{sync::Arc, time::SystemTime};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method},
};
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::{
    access::{AccessKey, Scope},
    queue::Config,
    time::Timestamp,
};
use jobbers_process::server::tls::CertificateName;
use sha2::{Digest as _, Sha256};

use crate::{
    app::App,
    credentials::key_text::random_text,
    listening::{guard::is_of_browser, identity::Identity},
    pages::FORM_TOKEN,
};

/// How many bytes of a digest are a token.
const TOKEN_BYTES: usize = 16;

/// The key of a client.
///
/// # Errors
/// [`Code::IdentityRefused`] for a client without a name, or one that another manager may not name; [`Code::IdentityUnknown`] for a
/// name that no valid key has, or several.
pub(super) fn find(config: &Config, identity: &Identity, now: Timestamp) -> Result<Arc<AccessKey>> {
    let refused = |why: String| Problem::new(Code::IdentityRefused, why);
    if let Some(manager) = identity.passed_on_by() {
        check_manager(config, manager, now).map_err(refused)?;
    }
    let name = identity.name().map_err(refused)?;
    let unknown = |why: String| Problem::new(Code::IdentityUnknown, format!("{}, and {why}", identity.introduce(name)));
    let mut keys = valid_keys(config, name, now);
    match (keys.next(), keys.next()) {
        (Some(key), None) => Ok(Arc::clone(key)),
        (None, _) => {
            Err(unknown("no valid key has this name; `jobbers keys create NAME --role viewer` makes one".to_owned()))
        }
        (Some(one), Some(other)) => Err(unknown(format!(
            "more than one valid key has this name ({}, {}); `jobbers keys revoke ID` ends one",
            one.id, other.id
        ))),
    }
}

fn valid_keys<'a>(config: &'a Config, name: &'a str, now: Timestamp) -> impl Iterator<Item = &'a Arc<AccessKey>> {
    config.keys.values().filter(move |key| key.name == name && key.valid_secrets(now).next().is_some())
}

/// Whether a manager with a certificate of this name may name the client of a request: its key may do everything.
fn check_manager(config: &Config, manager: &CertificateName, now: Timestamp) -> Result<(), String> {
    let may_do_all = |key: &AccessKey| !key.is_restricted() && Scope::all().all(|scope| key.grants(scope));
    let name = manager.as_deref().unwrap_or_default();
    let mut keys = valid_keys(config, name, now);
    match (keys.next(), keys.next()) {
        (Some(key), None) if may_do_all(key) => Ok(()),
        _ => Err(format!(
            "another manager passed this request on, and its certificate names no key with every scope (its name: {name:?}): create \
             one with `jobbers keys create NAME --role admin`, or send a key with the request"
        )),
    }
}

/// Refuses a change that a page of another site may have a browser send. A form of a page has shown its token by now, and no page of
/// another site can mark a request as passed on.
pub(super) fn check_origin(
    identity: &Identity,
    method: &Method,
    headers: &HeaderMap,
    takes_sessions: bool,
) -> Result<()> {
    if method.is_safe() || takes_sessions || is_of_browser(headers) || identity.is_of_certificate() {
        return Ok(());
    }
    let detail = "a proxy signed you in, and the request does not show that a page of this manager sent it: programs send a key of \
                  their own, with `Authorization: Bearer KEY`";
    Err(Problem::new(Code::ForeignOrigin, detail))
}

/// Gives a page the token of the forms of a person whom a proxy signed in. It follows from the stored secret of their key, so every
/// manager gives the same, and nothing is stored for it.
pub(crate) async fn give_form_token(app: &App, request: &mut Request) {
    request.headers_mut().remove(FORM_TOKEN);
    let Some(identity) = request.extensions().get::<Identity>().cloned() else { return };
    let config = app.live.current().await.ok();
    if config.as_ref().is_some_and(|config| config.keys.is_empty()) {
        return;
    }
    let now = SystemTime::now().into();
    let key = config.and_then(|config| find(&config, &identity, now).ok());
    let text = key.and_then(|key| form_token(&key, now));
    // Without a key nothing can be changed, and the refusal is not shown to another person.
    let token = text.unwrap_or_else(|| random_text(2 * TOKEN_BYTES));
    request.headers_mut().extend(HeaderValue::try_from(token).ok().map(|token| (FORM_TOKEN, token)));
}

fn form_token(key: &AccessKey, now: Timestamp) -> Option<String> {
    let secret = key.valid_secrets(now).next()?;
    let digest = Sha256::new().chain_update("form:").chain_update(secret.digest.0).finalize();
    Some(digest.iter().take(TOKEN_BYTES).map(|byte| format!("{byte:02x}")).collect())
}
