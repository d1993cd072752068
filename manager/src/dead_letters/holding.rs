//! What a manager knows of the archive of dead letters: whether it keeps it, or which other manager does.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_api::problem::Problem;
use jobbers_archive::{Archive, Options};
use jobbers_common::{
    engine::{Engine, Unreadable},
    name::{DutyName, HolderId},
};
use jobbers_process::telemetry::SCOPE;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

use super::{meters::LetterMeters, pass_on::KeeperClient, view::problem_of};
use crate::{
    background::long::LongWork,
    config::Config,
    snapshots::{known_tasks::KnownTasks, live_config::LiveConfig},
};

/// How long the duty is had unless claimed again: a manager that dies is followed by another within this time.
pub(super) const TTL: Duration = Duration::from_secs(8);
/// How long the manager reports that another archive was kept before.
pub(super) const REPORTED_FOR: Duration = Duration::from_secs(7 * 24 * 3_600);
/// The name of the duty to keep the archive; its note says where the holder listens, as `{"url": …}`.
pub const DUTY: &str = "dead-letters";

/// The note of the duty's holder. Stored as JSON, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// Where it listens, e.g. `http://10.0.0.1:8000`.
    pub(super) url: String,
    /// Which archive it keeps.
    pub(super) archive: String,
    /// The other archive that was kept before, for as long as that is reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Before>,
}

/// Another archive, which was kept before this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Before {
    /// Which.
    pub(super) archive: String,
    /// Where the manager that kept it listened.
    pub(super) url: String,
    /// When it was kept no more, in microseconds of the store's clock.
    pub(super) until: i64,
}

/// Who keeps the archive, as far as this manager knows.
#[derive(Debug, Clone)]
pub(super) enum Keeper {
    /// No manager, or it is not known yet.
    Unknown,
    /// This manager, until then at least.
    Us(Instant),
    /// Another one.
    Other(Note),
}

impl Keeper {
    /// The manager that wrote this note.
    pub(super) fn other(note: &str) -> Self {
        serde_json::from_str(note).map_or(Self::Unknown, Self::Other)
    }
}

/// The audit log, which the archive keeps beside the dead letters.
#[derive(Debug)]
pub(super) struct AuditLog {
    /// How long changes are kept; `None`: for ever.
    pub(super) retention: Option<Duration>,
    /// How many are kept at most; `None`: all.
    pub(super) max_entries: Option<u64>,
}

/// What keeping dead letters, and sending them again, needs of its manager.
pub(crate) trait KeeperContext: Send + Sync + 'static {
    /// The dead letters.
    fn letters(&self) -> &DeadLetters;
    /// Queues, roles and routing.
    fn live(&self) -> &LiveConfig;
    /// The tasks that live workers can run.
    fn known(&self) -> &KnownTasks;
    /// Where checks of large parameters are made.
    fn long_work(&self) -> &LongWork;
    /// The largest parameters that a task may have.
    fn max_payload_bytes(&self) -> usize;
}

/// This manager's part in keeping dead letters.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    pub(super) engine: Arc<dyn Engine>,
    /// Cancelled when the manager begins to stop.
    pub(super) drain: CancellationToken,
    /// `None`: this manager keeps no archive.
    pub(super) path: Option<PathBuf>,
    pub(super) options: Options,
    /// How long letters are kept; `None`: until they are deleted.
    pub(super) retention: Option<Duration>,
    /// How many are kept at most; `None`: all.
    pub(super) max_letters: Option<u64>,
    pub(super) log: AuditLog,
    pub(super) url: String,
    pub(super) holder: HolderId,
    pub(crate) meters: LetterMeters,
    pub(super) keeper: Mutex<Keeper>,
    pub(crate) client: KeeperClient,
    /// While this manager keeps the archive: the other one that was kept before.
    pub(super) before: Mutex<Option<Before>>,
    pub(super) archive: Mutex<Option<Arc<Archive>>>,
    /// Why the archive can't be used, or the outbox not emptied.
    pub(super) trouble: Mutex<Option<MoveTrouble>>,
    /// Copies on the outbox that can't be read; they block no others.
    pub(super) unreadable: Mutex<Vec<Unreadable>>,
    /// Notified when the keeper of the archive was looked up again.
    pub(super) found: Notify,
    /// Notified when an operation must begin, or a request waits for a letter.
    pub(super) begun: Notify,
    /// Notified when the outbox was emptied.
    pub(super) drained: Notify,
    /// Notified when an operation has ended.
    pub(super) ended: Notify,
    /// Notified when an operation is cancelled.
    pub(super) cancels: watch::Sender<()>,
}

impl DeadLetters {
    /// `url` is where other managers pass requests for the archive on to.
    pub(crate) fn new(config: &Config, engine: Arc<dyn Engine>, url: String, drain: CancellationToken) -> Self {
        #[expect(clippy::expect_used, reason = "letters and digits")]
        let holder = HolderId::new(Ulid::generate().to_string()).expect("a legal id");
        Self {
            engine,
            drain,
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
    pub(super) fn held(&self) -> Option<Arc<Archive>> {
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
pub(crate) enum MoveTrouble {
    #[error(transparent)]
    Store(#[from] jobbers_common::engine::Error),
    #[error(transparent)]
    Archive(#[from] jobbers_archive::Error),
}

impl MoveTrouble {
    /// Whether the archive refused a write because it is read-only.
    pub(super) const fn is_read_only_archive(&self) -> bool {
        matches!(self, Self::Archive(jobbers_archive::Error::ReadOnly(_)))
    }
}

impl From<MoveTrouble> for Problem {
    fn from(trouble: MoveTrouble) -> Self {
        match trouble {
            MoveTrouble::Store(error) => error.into(),
            MoveTrouble::Archive(error) => problem_of(&error),
        }
    }
}

/// A duty's name as the store knows it.
pub(super) fn duty() -> DutyName {
    #[expect(clippy::expect_used, reason = "a constant that is legal")]
    DutyName::new(DUTY).expect("a legal name")
}
