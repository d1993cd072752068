//! What every handler shares.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_api::problem::{Code, Problem};
use jobbers_common::{
    engine::{self, Engine, boards::Boards},
    queue::{Config, Retention},
    submission::draft::TaskDraft,
    task::NewTask,
    time::Timestamp,
};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use jobbers_process::{
    server::{
        memory::{ClientMemory, Kind, MemoryShare},
        networks::Networks,
        tls::{Tls, Validity},
    },
    shutdown::Shutdown,
    telemetry::SCOPE,
};

use crate::{
    background::long::LongWork,
    config::Config as ManagerConfig,
    credentials::{failures::Failures, last_use::LastUse},
    dead_letters::holding::{DeadLetters, KeeperContext},
    leases::Leases,
    listening::{identity::TrustedHeader, listeners::Exposure},
    snapshots::{
        definitions::Definitions,
        known_tasks::{Known, KnownTasks},
        live_config::LiveConfig,
        overview::Overview,
        total_history::TotalHistory,
    },
    submissions::ids::IdGenerator,
    telemetry::{
        gauges::{Gauges, Observed},
        meters::Meters,
    },
};

/// What a caller that waits counts, besides its request.
const WAITING_BYTES: usize = 8 * 1024;

/// The state of a running manager: a store, and caches that may be lost at any time.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) boards: Arc<dyn Boards>,
    pub(crate) live: LiveConfig,
    pub(crate) known: KnownTasks,
    pub(crate) leases: Arc<Leases>,
    pub(crate) ids: IdGenerator,
    pub(crate) dead_letters: Arc<DeadLetters>,
    pub(crate) max_payload_bytes: usize,
    pub(crate) max_body_bytes: usize,
    pub(crate) body_timeout: Duration,
    /// Whether each request is written to the log.
    pub(crate) access_log: bool,
    /// The address of a trace, with `{trace_id}` in the place of its id; empty for none.
    pub(crate) trace_url: String,
    pub(crate) memory: Arc<ClientMemory>,
    pub(crate) long_work: LongWork,
    /// Places for clients that follow a task: half of the connections, because followers hold them for long.
    pub(crate) followers: Arc<Semaphore>,
    /// The listeners, and why they may have their addresses.
    pub(crate) exposures: Vec<Exposure>,
    /// The networks of proxies, which are believed whom they ask for.
    pub(crate) proxies: Networks,
    /// The header in which proxies name the people whom they signed in, if one is trusted.
    pub(crate) trusted_header: Option<TrustedHeader>,
    /// Whether the name of a client's certificate is that of its key.
    pub(crate) certificates_name_keys: bool,
    pub(crate) failures: Failures,
    pub(crate) last_use: LastUse,
    /// The identities of the listeners that speak TLS.
    pub(crate) identities: Vec<Arc<Tls>>,
    /// Cancelled when the manager is about to stop: it is no longer ready then.
    pub(crate) leaving: CancellationToken,
    /// Cancelled when the manager begins to stop: long polls then answer at once.
    pub(crate) drain: CancellationToken,
    pub(crate) started: Instant,
    /// Notified when a schedule was changed here.
    pub(crate) schedules_changed: Notify,
    /// Told when a workflow was changed here.
    pub(crate) workflows_changed: Notify,
    pub(crate) definitions: Definitions,
    pub(crate) workflow_retention: Retention,
    pub(crate) meters: Meters,
    pub(crate) gauges: Gauges,
    pub(crate) history: TotalHistory,
    pub(crate) overview: Overview,
}

impl App {
    pub(crate) fn new(config: &ManagerConfig, engine: Arc<dyn Engine>, url: String, shutdown: &Shutdown) -> Self {
        Self {
            live: LiveConfig::new(Arc::clone(&engine)),
            known: KnownTasks::new(Arc::clone(&engine)),
            leases: Arc::new(Leases::new(Arc::clone(&engine))),
            boards: Arc::clone(&engine).boards(),
            dead_letters: Arc::new(DeadLetters::new(config, Arc::clone(&engine), url, shutdown.drain.clone())),
            engine,
            ids: IdGenerator::default(),
            max_payload_bytes: config.max_payload_bytes,
            max_body_bytes: config.max_body_bytes,
            body_timeout: config.body_timeout,
            access_log: config.access_log,
            trace_url: config.trace_url.clone(),
            memory: ClientMemory::new(config.max_client_memory),
            long_work: LongWork::default(),
            followers: Arc::new(Semaphore::new(config.max_connections.div_ceil(2).min(Semaphore::MAX_PERMITS))),
            exposures: Vec::new(),
            proxies: config.behind_proxy.clone(),
            trusted_header: TrustedHeader::of(config),
            certificates_name_keys: config.tls_client_keys,
            failures: Failures::default(),
            last_use: LastUse::default(),
            identities: Vec::new(),
            leaving: shutdown.leaving.clone(),
            drain: shutdown.drain.clone(),
            started: Instant::now(),
            schedules_changed: Notify::new(),
            workflows_changed: Notify::new(),
            definitions: Definitions::default(),
            workflow_retention: Retention { age: config.workflow_age, count: config.workflow_count },
            meters: Meters::new(&opentelemetry::global::meter(SCOPE)),
            gauges: Gauges::default(),
            history: TotalHistory::default(),
            overview: Overview::default(),
        }
    }

    /// What an operator should know of this manager's listeners: who is let in, and a certificate that ends.
    pub(crate) fn listener_warnings(&self) -> impl Iterator<Item = String> {
        let has_keys = self.has_keys();
        let certificate = self.certificate().and_then(|validity| validity.warning(jiff::Timestamp::now()));
        self.exposures.iter().filter_map(move |exposure| exposure.warning(has_keys)).chain(certificate)
    }

    /// The warnings of listeners that serve other machines unprotected.
    pub(crate) fn insecure(&self) -> Vec<String> {
        let has_keys = self.has_keys();
        let insecure = self.exposures.iter().filter(|exposure| exposure.is_insecure());
        insecure.filter_map(|exposure| exposure.warning(has_keys)).collect()
    }

    /// Whether clients of the native API come over TLS.
    pub(crate) fn speaks_tls(&self) -> bool {
        !self.identities.is_empty()
    }

    /// Whether the store has access keys, as far as is known.
    fn has_keys(&self) -> bool {
        self.live.snapshot().is_some_and(|config| !config.keys.is_empty())
    }

    /// Counts a caller that waits, for as long as the share is kept.
    ///
    /// # Errors
    /// [`Code::Overloaded`] when as many wait as memory allows.
    pub(crate) fn wait_share(&self) -> Result<MemoryShare, Problem> {
        self.memory.take(Kind::Waiting, WAITING_BYTES).ok_or_else(overloaded)
    }

    /// The task that a draft becomes by this configuration. If a live worker has registered it, it gets its author's policy
    /// for crashes, and is sensitive if its author calls it so.
    pub(crate) fn make_task_by(&self, config: &Config, known: Option<&Known>, mut draft: TaskDraft) -> NewTask {
        let registered = known.and_then(|known| known.find(&draft.name, draft.version)?.described.as_deref());
        if let Some(described) = registered {
            draft.on_crash = described.spec.on_crash;
            draft.metadata.sensitive_in_code |= described.spec.sensitive;
        }
        self.live.make_task(config, draft)
    }

    /// The same by what this manager knows now, for a task that was checked before or is refused by the store.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn make_task(&self, draft: TaskDraft) -> engine::Result<NewTask> {
        Ok(self.make_task_by(&*self.live.current().await?, self.known.current_or_first().await.as_deref(), draft))
    }

    /// The store's time: ages are computed with the clock that set the times they are counted from.
    pub(crate) async fn now(&self) -> Result<Timestamp, Problem> {
        Ok(self.engine.health().await?.now)
    }
}

impl KeeperContext for App {
    fn letters(&self) -> &DeadLetters {
        &self.dead_letters
    }

    fn live(&self) -> &LiveConfig {
        &self.live
    }

    fn known(&self) -> &KnownTasks {
        &self.known
    }

    fn long_work(&self) -> &LongWork {
        &self.long_work
    }

    fn max_payload_bytes(&self) -> usize {
        self.max_payload_bytes
    }
}

impl Observed for App {
    fn live(&self) -> &LiveConfig {
        &self.live
    }

    fn known(&self) -> &KnownTasks {
        &self.known
    }

    fn gauges(&self) -> &Gauges {
        &self.gauges
    }

    fn certificate(&self) -> Option<Validity> {
        self.identities.iter().map(|identity| identity.validity()).min_by_key(|validity| validity.ends_at)
    }
}

/// The refusal of a request for which no memory is left.
pub(crate) fn overloaded() -> Problem {
    let detail = "what is held for all clients is over max_client_memory; nothing was changed";
    Problem::new(Code::Overloaded, detail).after(Duration::from_secs(1))
}
