//! Dead letters: this manager's part in keeping them.
//!
//! One manager at a time keeps the archive; which one, a duty in the store says ([`keeper`]). That one moves what the
//! store's outbox holds into the archive, and sends letters again ([`sender`]); the others pass requests on to it ([`pass_on`]).
//! The duty only keeps the work in one place: should two managers believe to have it, the archive's transactions and the
//! store's receipts still make each letter arrive once and be sent once.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Extension,
    extract::{FromRequest, FromRequestParts, MatchedPath, Request},
    http::{HeaderMap, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use jobbers_api::problem::{Code, Problem};
use jobbers_archive::{Archive, Options};
use jobbers_common::{
    engine::Unreadable,
    limits::MAX_BATCH,
    name::{DutyName, HolderId},
};
use jobbers_process::telemetry::SCOPE;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use ulid::Ulid;

use self::{meters::LetterMeters, pass_on::KeeperClient, view::unavailable};
use crate::{app::App, audit::audited::PassedOn, config::Config, extract::WholeRequest};

pub(crate) mod keeper;
pub(crate) mod meters;
pub(crate) mod order;
mod pass_on;
mod patch;
mod sender;
pub(crate) mod view;

/// How long the duty is had unless claimed again: a manager that dies is followed by another within this time.
const TTL: Duration = Duration::from_secs(8);
/// How long a request waits for letters that are on their way to the archive.
const CATCH_UP: Duration = Duration::from_secs(2);
/// How long a request waits until a manager keeps the archive.
const TAKE_OVER: Duration = Duration::from_secs(2);
/// How long the manager reports that another archive was kept before.
const TOLD_FOR: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The name of the duty to keep the archive; its note says where the holder listens, as `{"url": …}`.
pub const DUTY: &str = "dead-letters";

/// The note of the duty's holder. Stored as JSON, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// Where it listens, e.g. `http://10.0.0.1:8000`.
    url: String,
    /// Which archive it keeps.
    archive: String,
    /// The other archive that was kept before, for as long as that is reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Before>,
}

/// Another archive, which was kept before this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    /// Which.
    archive: String,
    /// Where the manager that kept it listened.
    url: String,
    /// When it was kept no more, in microseconds of the store's clock.
    until: i64,
}

/// Who keeps the archive, as far as this manager knows.
#[derive(Debug, Clone)]
enum Keeper {
    /// No manager, or it is not known yet.
    Unknown,
    /// This manager, until then at least.
    Us(Instant),
    /// Another one.
    Other(Note),
}

/// The audit log, which the archive keeps beside the dead letters.
#[derive(Debug)]
struct AuditLog {
    /// How long changes are kept; `None`: for ever.
    retention: Option<Duration>,
    /// How many are kept at most; `None`: all.
    max_entries: Option<u64>,
}

/// This manager's part in keeping dead letters.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    /// `None`: this manager keeps no archive.
    path: Option<PathBuf>,
    options: Options,
    /// How long letters are kept; `None`: until they are deleted.
    retention: Option<Duration>,
    /// How many are kept at most; `None`: all.
    max_letters: Option<u64>,
    log: AuditLog,
    url: String,
    holder: HolderId,
    pub(crate) meters: LetterMeters,
    keeper: Mutex<Keeper>,
    client: KeeperClient,
    /// While this manager keeps the archive: the other one that was kept before.
    before: Mutex<Option<Before>>,
    archive: Mutex<Option<Arc<Archive>>>,
    /// Why the archive can't be used, or the outbox not emptied.
    trouble: Mutex<Option<Trouble>>,
    /// Copies on the outbox that can't be read; they block no others.
    unreadable: Mutex<Vec<Unreadable>>,
    /// Notified when the keeper of the archive was looked up again.
    found: Notify,
    /// Notified when an operation must begin, or a request waits for a letter.
    begun: Notify,
    /// Notified when the outbox was emptied.
    drained: Notify,
    /// Notified when an operation has ended.
    ended: Notify,
    /// Notified when an operation is cancelled.
    cancels: watch::Sender<()>,
}

impl DeadLetters {
    /// `url` is where other managers pass requests for the archive on to.
    pub(crate) fn new(config: &Config, url: String) -> Self {
        #[expect(clippy::expect_used, reason = "letters and digits")]
        let holder = HolderId::new(Ulid::generate().to_string()).expect("a legal id");
        Self {
            path: config.dead_letter_file(),
            options: Options { max_bytes: (config.dlq_max_bytes > 0).then_some(config.dlq_max_bytes) },
            retention: Some(config.dlq_retention).filter(|age| !age.is_zero()),
            max_letters: Some(config.dlq_max_letters).filter(|most| *most > 0),
            log: AuditLog {
                retention: Some(config.audit_retention).filter(|age| !age.is_zero()),
                max_entries: Some(config.audit_max_entries).filter(|most| *most > 0),
            },
            url,
            holder,
            meters: LetterMeters::new(&opentelemetry::global::meter(SCOPE)),
            keeper: Mutex::new(Keeper::Unknown),
            client: KeeperClient::default(),
            before: Mutex::default(),
            archive: Mutex::default(),
            trouble: Mutex::default(),
            unreadable: Mutex::default(),
            found: Notify::new(),
            begun: Notify::new(),
            drained: Notify::new(),
            ended: Notify::new(),
            cancels: watch::Sender::default(),
        }
    }

    /// The archive, if this manager keeps it at the moment.
    fn held(&self) -> Option<Arc<Archive>> {
        let is_ours = matches!(*self.keeper.lock(), Keeper::Us(until) if until > Instant::now());
        self.archive.lock().clone().filter(|_| is_ours)
    }

    /// Whether some manager keeps, or is to keep, an archive.
    pub(crate) fn are_kept(&self) -> bool {
        self.path.is_some() || matches!(*self.keeper.lock(), Keeper::Other(_))
    }

    /// What an operator should hear: `outbox` is how many letters wait in the store.
    pub(crate) fn warnings(&self, outbox: u64) -> Vec<String> {
        let unreadable = self.unreadable.lock();
        let damage = unreadable.first().map(|first| {
            let Unreadable { id, revision, why } = first;
            let count = unreadable.len();
            format!("{count} dead letters in the store can't be read, that of task {id} ({revision}) first: {why}")
        });
        let is_unknown = matches!(*self.keeper.lock(), Keeper::Unknown) && outbox > 0;
        let waiting = match self.trouble.lock().as_ref() {
            Some(trouble) => Some(format!("{trouble}; {outbox} dead letters wait in the store")),
            None if is_unknown => {
                Some(format!("no manager keeps the archive; {outbox} dead letters wait in the store"))
            }
            None => None,
        };
        let elsewhere = self.before.lock().as_ref().map(|Before { archive, url, .. }| {
            format!(
                "another archive ({archive}) was kept before by the manager at {url}: dead letters in that file are not seen \
                 here; give managers that are to follow one another one file"
            )
        });
        waiting.into_iter().chain(damage).chain(elsewhere).collect()
    }

    /// Notifies the keeper of work.
    pub(crate) fn begin(&self) {
        self.begun.notify_one();
    }

    /// Notifies the senders that an operation must stop.
    pub(crate) fn cancel(&self) {
        self.cancels.send_replace(());
        self.begun.notify_one();
    }

    /// Notified when an operation has ended.
    pub(crate) fn ended(&self) -> &Notify {
        &self.ended
    }
}

/// Why letters are not moved from the store to the archive.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Store(#[from] jobbers_common::engine::Error),
    #[error(transparent)]
    Archive(#[from] jobbers_archive::Error),
}

impl Trouble {
    /// Whether the archive refused a write because it is read-only.
    const fn is_read_only_archive(&self) -> bool {
        matches!(self, Self::Archive(jobbers_archive::Error::ReadOnly(_)))
    }
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Store(error) => error.into(),
            Trouble::Archive(error) => view::problem_of(&error),
        }
    }
}

/// A duty's name as the store knows it.
fn duty() -> DutyName {
    #[expect(clippy::expect_used, reason = "a constant that is legal")]
    DutyName::new(DUTY).expect("a legal name")
}

/// Runs a call of the archive where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    archive: &Arc<Archive>,
    call: impl FnOnce(&Archive) -> jobbers_archive::Result<T> + Send + 'static,
) -> jobbers_archive::Result<T> {
    let archive = Arc::clone(archive);
    match tokio::task::spawn_blocking(move || call(&archive)).await {
        Ok(answer) => answer,
        Err(error) => Err(jobbers_archive::Error::Unavailable(error.to_string())),
    }
}

/// The same for a handler, which answers an error as a problem.
pub(crate) async fn ask<T: Send + 'static>(
    archive: &Arc<Archive>,
    call: impl FnOnce(&Archive) -> jobbers_archive::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    blocking(archive, call).await.map_err(|error| view::problem_of(&error))
}

/// How the paths of the operations on dead letters begin: a manager that does not keep the archive passes them on.
const OPERATIONS: &str = "/dead-letter-queue";

/// The path of the audit log, which is in the same archive.
const AUDIT_LOG: &str = "/audit";

/// Whether the operations of a route are carried out where the archive is.
pub(crate) fn need_archive(route: &str) -> bool {
    route.starts_with(OPERATIONS) || route == AUDIT_LOG
}

/// The operation that may need a dead letter.
const RESUBMIT: &str = "/tasks/{id}/resubmit";

/// Whether another manager passed a request on, as one does only for dead letters. A page of another site can't send the header.
pub(crate) fn is_passed_on(headers: &HeaderMap, route: Option<&MatchedPath>) -> bool {
    let of_letters = |route: &MatchedPath| need_archive(route.as_str()) || route.as_str() == RESUBMIT;
    headers.contains_key(pass_on::PASSED_ON) && route.is_some_and(of_letters)
}

/// The archive, for a handler of an operation on dead letters.
#[derive(Debug, Clone)]
pub(crate) struct LocalArchive(pub(crate) Arc<Archive>);

impl FromRequestParts<Arc<App>> for LocalArchive {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Problem> {
        let found = parts.extensions.get().cloned();
        found.ok_or_else(|| Problem::new(Code::Internal, "the archive was not looked for"))
    }
}

/// Answers a request for one of [`OPERATIONS`] where the dead letters are kept: it goes on to its handler with the archive, or to
/// another manager.
pub(crate) async fn answer(app: &Arc<App>, mut request: Request, next: Next) -> Response {
    match held_up_to_date(app).await {
        Ok(archive) => {
            request.extensions_mut().insert(LocalArchive(archive));
            next.run(request).await
        }
        Err(elsewhere) => match WholeRequest::from_request(request, app).await {
            Ok(request) => elsewhere.answer(app, request).await,
            Err(problem) => problem.into_response(),
        },
    }
}

/// Where the archive is, if it is not held by this manager.
#[derive(Debug)]
pub(crate) enum NotHere {
    /// At the manager with this address.
    At(String),
    /// It is not known, or can't be used.
    Nowhere(Box<Problem>),
}

impl NotHere {
    /// The answer to a request for it.
    pub(crate) async fn answer(self, app: &App, request: WholeRequest) -> Response {
        match self {
            Self::Nowhere(problem) => problem.into_response(),
            Self::At(_) if request.parts.headers.contains_key(pass_on::PASSED_ON) => unavailable(
                "another manager passed this request on, and the archive has just changed hands; send it again",
            )
            .into_response(),
            Self::At(url) => {
                let WholeRequest { parts, body } = request;
                let passed_on = Box::pin(app.dead_letters.client.pass_on(&url, parts, body)).await;
                match passed_on {
                    Ok(answer) => (Extension(PassedOn), answer).into_response(),
                    Err(problem) => problem.into_response(),
                }
            }
        }
    }
}

/// Makes the keeper empty the outbox first, so that a client that saw a task fail finds its letter. A file that can't be
/// written does not block requests for long.
async fn catch_up(app: &App) {
    let deadline = tokio::time::Instant::now() + CATCH_UP;
    loop {
        let drained = app.dead_letters.drained.notified();
        tokio::pin!(drained);
        drained.as_mut().enable();
        // Behind what can't be read, there may be more.
        let limit = (app.dead_letters.unreadable.lock().len() + 1).min(MAX_BATCH);
        if app.engine.dead_letters(0, limit).await.map_or(true, |outbox| outbox.copies.is_empty()) {
            return;
        }
        app.dead_letters.begin();
        if tokio::time::timeout_at(deadline, drained).await.is_err() {
            return;
        }
    }
}

/// The archive with all that has failed so far.
pub(crate) async fn held_up_to_date(app: &App) -> Result<Arc<Archive>, NotHere> {
    let archive = held(app).await?;
    catch_up(app).await;
    Ok(archive)
}

/// Who keeps the archive, where that is another manager: what is known may be a tick old, and whom it names may have ended.
async fn keeper_now(app: &App) -> Keeper {
    let letters = &app.dead_letters;
    let known = letters.keeper.lock().clone();
    if !matches!(known, Keeper::Other(_)) {
        return known;
    }
    match app.engine.duty(&duty()).await {
        Ok(Some(had)) if had.holder != letters.holder => keeper::other(&had.note),
        Ok(_) => {
            letters.begin();
            Keeper::Unknown
        }
        Err(_) => known,
    }
}

/// The archive. Just after a start, and when the keeper has ended, this manager is about to take the archive over, and that
/// is waited for.
async fn held(app: &App) -> Result<Arc<Archive>, NotHere> {
    let letters = &app.dead_letters;
    let deadline = tokio::time::Instant::now() + TAKE_OVER;
    loop {
        let found = letters.found.notified();
        tokio::pin!(found);
        found.as_mut().enable();
        if let Some(archive) = letters.held() {
            return Ok(archive);
        }
        if let Keeper::Other(Note { url, .. }) = keeper_now(app).await {
            return Err(elsewhere(letters, url));
        }
        let is_about_to = letters.path.is_some() && letters.trouble.lock().is_none() && !app.drain.is_cancelled();
        if !is_about_to || tokio::time::timeout_at(deadline, found).await.is_err() {
            return Err(NotHere::Nowhere(Box::new(no_keeper(letters))));
        }
    }
}

/// At the manager at `url`, unless that is the address of this one.
fn elsewhere(letters: &DeadLetters, url: String) -> NotHere {
    if url.trim_end_matches('/') != letters.url.trim_end_matches('/') {
        return NotHere::At(url);
    }
    NotHere::Nowhere(Box::new(unavailable(&format!(
        "the manager that has kept the archive says it is at {url}, where this one is: either it has just ended, \
         and another follows within seconds, or two managers have one advertise_url"
    ))))
}

fn no_keeper(letters: &DeadLetters) -> Problem {
    if let Some(trouble) = letters.trouble.lock().clone() {
        return trouble.into();
    }
    unavailable(match &letters.path {
        None => "this manager keeps no archive of dead letters, and no other manager does at the moment",
        Some(_) => "no manager keeps the archive of dead letters at the moment; one will within seconds",
    })
}
