//! Who is let in: clients sign in with access keys, and each operation needs scopes.
//!
//! The keys are in the live configuration ([`jobbers_common::access`]). What an operation needs is in its OpenAPI
//! description, from which [`Requirements`] is made, so the check, the document and the reference have one source. While the
//! store has no key, everything is allowed, as on a laptop; from the first key on, everything is refused that no key
//! grants, on loopback too.
//!
//! A person whom a trusted proxy signed in has the key of their name, and so has a client with a certificate where certificates name keys
//! ([`named`]). A key of the request's own, in `Authorization`, wins over the proxy's word, that over a certificate, and that over a session.
//!
//! A long poll or a stream that is under way ends when its key does, so a revocation holds within a second everywhere.
//! Clients of the fronts that have ports of their own ([`crate::Listeners`]) can't send a key. They are asked for one only where their
//! certificates name keys.
//!
//! Start reading at [`Doors::check`].

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{
    body::Body,
    http::{HeaderMap, Method, header},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use hyper::body::Body as _;
use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::{
    access::{AccessKey, Digest},
    audit_log::Way,
    queue::Config,
    time::Timestamp,
};

pub(crate) mod named;
mod operations;
mod reach;
mod requirements;
pub(crate) mod sessions;

use self::sessions::OfPage;
pub(crate) use self::{
    operations::OfOperations,
    reach::Reach,
    requirements::{OfBoards, Requirement, Requirements, SCHEME, is_page, requirement},
};
use crate::{
    app::App,
    credentials::key_text::{KeyText, is_same},
    listening::identity::Identity,
    snapshots::live_config::LiveConfig,
};

/// The doors of one listener.
#[derive(Debug)]
pub(crate) struct Doors {
    needs: Needs,
    /// Whether no client is served while the store has no key.
    needs_keys: bool,
}

/// What the requests of a listener need.
#[derive(Debug)]
enum Needs {
    /// Nothing: its clients can't send a key.
    Nothing,
    /// What their operations do.
    Operations(Requirements),
    /// What looks at a board and changes of it do.
    Board(OfBoards, &'static str),
}

/// Marks a request to a listener that serves no client while the store has no key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeysNeeded;

/// Why a request is let in.
#[derive(Debug, Clone)]
pub(crate) enum Admission {
    /// Nothing is needed for what it asks.
    Free,
    /// The store has no key.
    NoKeys(Unsigned),
    /// A key grants it.
    Key(Signed),
}

/// The key that signed a request in, in its extensions.
#[derive(Debug, Clone)]
pub(crate) struct Signer(pub(crate) Arc<AccessKey>);

/// What a request asks for, and how it may be signed in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccessRequest<'a> {
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
    /// Whom a trusted proxy signed in, or whom a certificate names.
    pub(crate) identity: Option<&'a Identity>,
    /// Whether a session signs it in: a request of a page, or one that another manager passed on.
    pub(crate) takes_sessions: bool,
}

/// By what a request is signed in, and for what.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    key: Arc<AccessKey>,
    proof: Proof,
    requirement: Requirement,
}

/// Why a request has a key.
#[derive(Debug, Clone)]
enum Proof {
    /// It, or its session, was begun with this secret.
    Secret(Digest),
    /// A trusted proxy names a person as the key is named, or a certificate a client.
    Name(Identity),
}

/// What a request sent and needs that came while the store had no key: it goes on after the first one is created if it has it.
#[derive(Debug, Clone)]
pub(crate) struct Unsigned {
    headers: HeaderMap,
    requirement: Requirement,
}

impl Doors {
    /// Those of a listener whose operations need this. With `needs_keys` it serves no client while the store has no key.
    pub(crate) const fn of(requirements: Requirements, needs_keys: bool) -> Self {
        Self { needs: Needs::Operations(requirements), needs_keys }
    }

    /// Those of a front on a port of its own, whose clients have keys only if certificates name them.
    pub(crate) fn of_front(board: &'static str, asks_for_keys: bool) -> Self {
        let needs = if asks_for_keys { Needs::Board(OfBoards::new(), board) } else { Needs::Nothing };
        Self { needs, needs_keys: false }
    }

    /// The board that all requests are about.
    pub(crate) const fn board(&self) -> Option<&'static str> {
        match self.needs {
            Needs::Board(_, board) => Some(board),
            Needs::Nothing | Needs::Operations(_) => None,
        }
    }

    /// Whether no client is served while the store has no key.
    pub(crate) const fn need_keys(&self) -> bool {
        self.needs_keys
    }

    /// Lets a request through to its route, or refuses it.
    pub(crate) async fn check(&self, app: &App, request: AccessRequest<'_>, route: Option<&str>) -> Result<Admission> {
        let requirement = match &self.needs {
            Needs::Nothing => &Requirement::Open,
            Needs::Operations(requirements) => requirements.of_request(request.method, route),
            Needs::Board(requirements, _) => requirements.of_request(request.method),
        };
        if requirement == &Requirement::Open {
            return Ok(Admission::Free);
        }
        let config = app.live.current().await?;
        let mut signed = Signed::by(app, &config, request, requirement).await;
        if let Err(problem) = &signed
            && matches!(problem.code(), Code::KeyRefused | Code::IdentityUnknown)
            && let Some(config) = Box::pin(app.live.with_new_keys()).await
        {
            signed = Signed::by(app, &config, request, requirement).await;
        }
        match signed? {
            Some(signed) => {
                app.last_use.note(&app.engine, &signed.key, SystemTime::now().into());
                Ok(Admission::Key(signed))
            }
            None if self.needs_keys => Err(Problem::new(Code::KeyRequired, NO_KEY_YET)),
            None => {
                let sent = request.headers.get_all(header::AUTHORIZATION).iter();
                let headers = sent.map(|value| (header::AUTHORIZATION, value.clone())).collect();
                Ok(Admission::NoKeys(Unsigned { headers, requirement: requirement.clone() }))
            }
        }
    }
}

impl Admission {
    /// The key that signed its client in.
    pub(crate) fn key(&self) -> Option<&AccessKey> {
        match self {
            Self::Free | Self::NoKeys(_) => None,
            Self::Key(Signed { key, .. }) => Some(key),
        }
    }

    /// By which way its client came, where that is by a name and not by a key.
    pub(crate) const fn way(&self) -> Option<Way> {
        match self {
            Self::Key(Signed { proof: Proof::Name(identity), .. }) if identity.is_of_certificate() => {
                Some(Way::Certificate)
            }
            Self::Key(Signed { proof: Proof::Name(_), .. }) => Some(Way::Header),
            Self::Free | Self::NoKeys(_) | Self::Key(_) => None,
        }
    }

    /// The key that signed its client in, for a handler.
    pub(crate) fn signer(&self) -> Option<Signer> {
        match self {
            Self::Free | Self::NoKeys(_) => None,
            Self::Key(Signed { key, .. }) => Some(Signer(Arc::clone(key))),
        }
    }

    /// What it reaches; `None` for everything.
    pub(crate) fn reach(&self) -> Option<Reach> {
        match self {
            Self::Free | Self::NoKeys(_) => None,
            Self::Key(Signed { key, .. }) => Reach::of(key),
        }
    }

    /// The answer of a handler. A long poll is cut off once its client would not be let in any more, and so is a stream.
    /// That is as safe as a client that goes away.
    pub(crate) async fn answer(self, app: &Arc<App>, handler: impl Future<Output = Response>) -> Response {
        let response = tokio::select! {
            biased;
            response = handler => response,
            () = self.end(&app.live) => {
                return refused("the key was revoked, replaced or has expired while the request was under way").into_response();
            }
        };
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        let app = Arc::clone(app);
        let end = async move { self.end(&app.live).await };
        response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))))
    }

    /// Returns when the same request would be refused.
    pub(crate) async fn end(&self, live: &LiveConfig) {
        let mut changes = live.key_changes();
        while let Some(left) = self.valid_for(live, SystemTime::now().into()) {
            let changed = match left {
                // Most keys have no end. A timer for each request would cost more than all else here.
                Duration::MAX => changes.changed().await,
                left => tokio::time::timeout(left, changes.changed()).await.unwrap_or(Ok(())),
            };
            if changed.is_err() {
                return pending().await;
            }
        }
    }

    /// For how long it is valid; `None` if it is not. Without an end that is known, for ever.
    fn valid_for(&self, live: &LiveConfig, now: Timestamp) -> Option<Duration> {
        let Some(config) = live.snapshot() else { return Some(Duration::MAX) };
        self.valid_in(&config, now)
    }

    fn valid_in(&self, config: &Config, now: Timestamp) -> Option<Duration> {
        match self {
            Self::Free => Some(Duration::MAX),
            Self::NoKeys(Unsigned { headers, requirement }) => match Signed::in_with(config, headers, requirement) {
                Ok(None) => Some(Duration::MAX),
                // What a restricted key reaches was not looked at.
                Ok(Some(signed)) if Reach::of(&signed.key).is_none() => signed.valid_for(config, now),
                Ok(Some(_)) | Err(_) => None,
            },
            Self::Key(signed) => signed.valid_for(config, now),
        }
    }
}

impl Signed {
    /// Signs a request in by what it comes with. `None` while the store has no key.
    async fn by(
        app: &App,
        config: &Config,
        request: AccessRequest<'_>,
        requirement: &Requirement,
    ) -> Result<Option<Self>> {
        let now = SystemTime::now().into();
        if let Some(identity) = request.identity.filter(|_| !config.keys.is_empty()) {
            let key = named::find(config, identity, now)?;
            named::check_origin(identity, request.method, request.headers, request.takes_sessions)?;
            return Self::for_request(key, Proof::Name(identity.clone()), requirement).map(Some);
        }
        match Self::in_with(config, request.headers, requirement) {
            Err(problem) if request.takes_sessions && problem.code() == Code::KeyRequired => {
                let found = Box::pin(sessions::find(&*app.engine, config, request.headers, now)).await?;
                let (key, digest) = found.ok_or(problem)?;
                Self::for_request(key, Proof::Secret(digest), requirement).map(Some)
            }
            signed => signed,
        }
    }

    /// Signs a request in by the key that it sent. `None` while the store has no key.
    fn in_with(config: &Config, headers: &HeaderMap, requirement: &Requirement) -> Result<Option<Self>> {
        let Some((key, digest)) = sign_in(config, headers)? else { return Ok(None) };
        Self::for_request(key, Proof::Secret(digest), requirement).map(Some)
    }

    fn for_request(key: Arc<AccessKey>, proof: Proof, requirement: &Requirement) -> Result<Self> {
        requirement.check(&key)?;
        Ok(Self { key, proof, requirement: requirement.clone() })
    }

    fn valid_for(&self, config: &Config, now: Timestamp) -> Option<Duration> {
        let key = config.keys.get(&self.key.id)?;
        let AccessKey { queues, tasks, boards, .. } = &*self.key;
        if (&key.queues, &key.tasks, &key.boards) != (queues, tasks, boards) {
            return None;
        }
        let secret = match &self.proof {
            Proof::Secret(digest) => key.valid_secrets(now).find(|secret| is_same(secret, digest)),
            Proof::Name(identity) => {
                let same = named::find(config, identity, now).ok().filter(|found| found.id == key.id);
                same.and_then(|_| key.valid_secrets(now).next())
            }
        }?;
        self.requirement.check(key).ok()?;
        let end = [secret.expires_at, key.expires_at].into_iter().flatten().min();
        Some(end.map_or(Duration::MAX, |end| end.since(now)))
    }
}

/// Who asks for an open operation, which may show more to one who is signed in.
#[derive(Debug)]
pub(crate) enum Visitor {
    /// No key is needed.
    Any,
    /// One who is not signed in.
    Anonymous,
    /// One who is.
    Key(Arc<AccessKey>),
}

impl Visitor {
    /// The one who sent these headers, or whom a trusted proxy or a certificate names.
    pub(crate) async fn of(
        app: &App,
        headers: &HeaderMap,
        identity: Option<&Identity>,
        needed: Option<KeysNeeded>,
        page: Option<OfPage>,
    ) -> Result<Self> {
        let config = app.live.current().await?;
        if let Some(identity) = identity.filter(|_| !config.keys.is_empty()) {
            return match named::find(&config, identity, SystemTime::now().into()) {
                Ok(key) => Ok(Self::Key(key)),
                // A page shows a person what is wrong with their name.
                Err(problem) if page.is_some() => Err(problem),
                Err(_) => Ok(Self::Anonymous),
            };
        }
        match sign_in(&config, headers) {
            Ok(Some((key, _))) => Ok(Self::Key(key)),
            Ok(None) => Ok(if needed.is_some() { Self::Anonymous } else { Self::Any }),
            Err(_) if page.is_some() => {
                let found = sessions::find(&*app.engine, &config, headers, SystemTime::now().into()).await?;
                Ok(found.map_or(Self::Anonymous, |(key, _)| Self::Key(key)))
            }
            Err(_) => Ok(Self::Anonymous),
        }
    }
}

/// The key that a text is valid for.
///
/// # Errors
/// [`Code::KeyRefused`].
pub(crate) fn find_by_text(config: &Config, text: &str, now: Timestamp) -> Result<(KeyText, Arc<AccessKey>)> {
    let text = KeyText::unchecked(text).map_err(|error| refused(&error.to_string()))?;
    let (key, _) = find(config, &text, now)?;
    Ok((text, key))
}

/// The key that these headers have. `None` while the store has no key.
fn sign_in(config: &Config, headers: &HeaderMap) -> Result<Option<(Arc<AccessKey>, Digest)>> {
    if config.keys.is_empty() {
        return Ok(None);
    }
    let text = KeyText::unchecked(bearer(headers)?).map_err(|error| refused(&error.to_string()))?;
    find(config, &text, SystemTime::now().into()).map(Some)
}

/// The key that a text is valid for. A wrong secret and an unknown id are answered alike.
fn find(config: &Config, text: &KeyText, now: Timestamp) -> Result<(Arc<AccessKey>, Digest)> {
    let digest = text.digest();
    let known = config.keys.get(text.id());
    match known.filter(|key| key.valid_secrets(now).any(|secret| is_same(secret, &digest))) {
        Some(key) => Ok((Arc::clone(key), digest)),
        None => {
            text.check().map_err(|error| refused(&error.to_string()))?;
            Err(refused(&format!(
                "key {} does not exist, has another secret, or was revoked, replaced or has expired; `jobbers keys` lists the keys",
                text.id()
            )))
        }
    }
}

/// What is sent after `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Result<&str> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (sent.next(), sent.next()) {
        (None, _) => return Err(Problem::new(Code::KeyRequired, HOW)),
        (Some(_), Some(_)) => return Err(refused("the header Authorization is there twice")),
        (Some(value), None) => value,
    };
    let value = value.to_str().map_err(|_| refused("the header Authorization is not text"))?;
    match value.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => Ok(key.trim()),
        // Programs make it of a login in the address.
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("basic") => {
            Err(refused("the header Authorization has a user and a password (Basic)"))
        }
        _ => Err(refused("the header Authorization has another form")),
    }
}

const NO_KEY_YET: &str = "the store has no access key yet, and this address serves other machines, so it serves no client \
                          without a key: `jobbers keys create ops --role admin` makes one, by the store's address";
const HOW: &str = "send the header `Authorization: Bearer KEY`; commands read JOBBERS_KEY or JOBBERS_KEY_FILE";

fn refused(why: &str) -> Problem {
    Problem::new(Code::KeyRefused, format!("{why}; {HOW}"))
}

#[cfg(test)]
mod tests {
    use jobbers_common::access::Scope;

    use jobbers_common::access::StoredSecret;

    use super::*;

    fn stored(text: &KeyText) -> AccessKey {
        let at = Timestamp::from_micros(0);
        AccessKey {
            id: text.id().clone(),
            name: "tests".to_owned(),
            role: Some("viewer".to_owned()),
            scopes: vec![],
            queues: vec![],
            tasks: vec![],
            boards: vec![],
            secrets: vec![StoredSecret { digest: text.digest(), created_at: at, expires_at: None }],
            created_at: at,
            created_by: "tests".to_owned(),
            last_used_at: None,
            expires_at: None,
            revoked_at: None,
        }
    }

    fn config(keys: &[AccessKey]) -> Config {
        let keys = keys.iter().map(|key| (key.id.clone(), Arc::new(key.clone()))).collect();
        Config { keys, ..Config::default() }
    }

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (header::AUTHORIZATION, value.parse().unwrap())).collect()
    }

    #[test]
    fn a_store_without_keys_asks_for_none_and_one_with_a_revoked_key_does() {
        assert!(sign_in(&config(&[]), &headers(&[])).unwrap().is_none());
        let text = KeyText::generate();
        let revoked = AccessKey { revoked_at: Some(Timestamp::from_micros(1)), ..stored(&text) };
        let problem = sign_in(&config(std::slice::from_ref(&revoked)), &headers(&[])).unwrap_err();
        assert_eq!(problem.code(), Code::KeyRequired);
        let sent = format!("Bearer {}", text.as_str());
        assert_eq!(sign_in(&config(&[revoked]), &headers(&[&sent])).unwrap_err().code(), Code::KeyRefused);
    }

    #[test]
    fn a_request_under_way_when_the_first_key_is_created_goes_on_only_with_that_key() {
        let (text, other, now) = (KeyText::generate(), KeyText::generate(), Timestamp::from_micros(0));
        let of = |text: &KeyText| format!("Bearer {}", text.as_str());
        let restricted = AccessKey { queues: vec!["mail".parse().unwrap()], ..stored(&text) };
        for (sent, key, goes_on) in [
            (vec![of(&text)], stored(&text), true),
            (vec![of(&text)], restricted, false),
            (vec![of(&other)], stored(&text), false),
            (vec![], stored(&text), false),
        ] {
            let sent: Vec<&str> = sent.iter().map(String::as_str).collect();
            let requirement = Requirement::Scopes([Scope::QueuesRead].into());
            let admission = Admission::NoKeys(Unsigned { headers: headers(&sent), requirement });
            assert!(admission.valid_in(&config(&[]), now).is_some());
            assert_eq!(admission.valid_in(&config(&[key]), now).is_some(), goes_on, "{sent:?}");
        }
    }

    #[test]
    fn only_the_very_key_signs_in_and_no_answer_repeats_it() {
        let (text, other) = (KeyText::generate(), KeyText::generate());
        let same_id = KeyText::for_id(text.id());
        let config = config(&[stored(&text)]);
        let (right, wrong) = (format!("Bearer {}", text.as_str()), format!("Bearer {}", other.as_str()));
        assert_eq!(sign_in(&config, &headers(&[&right])).unwrap().unwrap().0.id, *text.id());
        assert!(sign_in(&config, &headers(&[&right.replace("Bearer", "bearer")])).is_ok());
        for sent in [
            &[wrong.as_str()][..],
            &[&format!("Bearer {}", same_id.as_str())],
            &[&right, &right],
            &[&right.replace("Bearer", "Basic")],
            &["Bearer"],
            &["Bearer "],
            &[text.as_str()],
            &[&right[..right.len() - 1]],
            &[&format!("{right}x")],
            &[&format!("Bearer {}", "x".repeat(1_000_000))],
        ] {
            let problem = sign_in(&config, &headers(sent)).unwrap_err();
            assert_eq!(problem.code(), Code::KeyRefused, "{sent:?}");
            let secret = &text.as_str()[14..];
            assert!(!problem.detail().contains(secret) && problem.detail().len() < 500, "{}", problem.detail());
        }
    }

    #[test]
    fn a_rotated_secret_is_valid_until_its_end() {
        let (old, second) = (KeyText::generate(), Duration::from_secs(1));
        let new = KeyText::for_id(old.id());
        let end = Timestamp::from_micros(10_000_000);
        let mut key = stored(&old);
        key.secrets[0].expires_at = Some(end);
        key.secrets.insert(0, stored(&new).secrets.remove(0));
        let config = config(&[key]);
        assert!(find(&config, &old, end.before(second)).is_ok() && find(&config, &new, end.before(second)).is_ok());
        assert!(find(&config, &old, end).is_err() && find(&config, &new, end).is_ok());
    }
}
