//! Gauges read from the store: depths, ages, lags, workers, runs of workflows.
//!
//! The tick reads the store every few seconds, and only while metrics are scraped; readers see the latest values and never
//! wait for a store.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use jobbers_common::{
    engine::{Engine, Health, Result, Trouble, boards::Boards},
    metrics::{
        attribute::{MOST_NAMES, OTHER},
        catalogue::{
            AUDIT_WAITING, AUDIT_WAITING_AGE, CERTIFICATE_LIFETIME, CERTIFICATE_REMAINING, CONFIG_AGE, CONFIG_VERSION,
            DEAD_LETTERS_OUTBOX, QUEUE_LIMIT, QUEUE_PAUSED, SCHEMAS_UNCHECKED, STORE_TROUBLE, TOMBSTONES,
            WORKERS_ALIVE, WORKERS_DRAIN_AGE,
        },
    },
    queue::rate::RateLimit,
    time::Timestamp,
    worker::{RegisteredWorker, WorkerState},
};
use jobbers_process::server::tls::Validity;
use opentelemetry::{
    KeyValue,
    metrics::{AsyncInstrument, Meter},
};
use parking_lot::Mutex;

use self::{
    boards::BoardReading,
    latest::LatestLook,
    queues::{QueueReading, queue_of},
    workflows::WorkflowReading,
};
use crate::snapshots::{known_tasks::KnownTasks, live_config::LiveConfig};

mod boards;
mod latest;
mod queues;
mod workflows;

/// How often the store is read while metrics are scraped.
const EVERY: Duration = Duration::from_secs(5);
/// Without a scrape for this long, the readers are gone.
const GONE_AFTER: Duration = Duration::from_secs(120);

/// What the gauges show of a manager.
pub(crate) trait Observed: Send + Sync {
    /// The configuration.
    fn live(&self) -> &LiveConfig;
    /// The tasks that workers have registered.
    fn known(&self) -> &KnownTasks;
    /// What was read of the store.
    fn gauges(&self) -> &Gauges;
    /// For how long the certificate is valid that ends first, if the manager speaks TLS.
    fn certificate(&self) -> Option<Validity>;
}

/// The latest values, and when metrics were last scraped.
#[derive(Debug)]
pub(crate) struct Gauges {
    latest: ArcSwapOption<Reading>,
    looked_at: Mutex<Instant>,
    read_at: Mutex<Option<Instant>>,
}

impl Default for Gauges {
    fn default() -> Self {
        Self { latest: ArcSwapOption::empty(), looked_at: Mutex::new(Instant::now()), read_at: Mutex::new(None) }
    }
}

/// One reading of the store.
#[derive(Debug)]
struct Reading {
    now: Timestamp,
    outbox: u64,
    /// How many logged changes wait for the archive, and for how long the oldest has.
    changes: (u64, Duration),
    tombstones: u64,
    troubles: Vec<Trouble>,
    queues: QueueReading,
    workers: Vec<RegisteredWorker>,
    workflows: WorkflowReading,
    boards: BoardReading,
}

impl Gauges {
    /// Whether it is time to read the store again.
    pub(crate) fn is_due(&self) -> bool {
        let read_at = *self.read_at.lock();
        self.looked_at.lock().elapsed() < GONE_AFTER && read_at.is_none_or(|at| at.elapsed() >= EVERY)
    }

    /// Reads the store. What was read before is kept on a failure: better old than none, and the failure is counted.
    pub(crate) async fn read(&self, engine: &dyn Engine, boards: &dyn Boards) -> Result<()> {
        *self.read_at.lock() = Some(Instant::now());
        let Health { now, outbox, tombstones, troubles, .. } = engine.health().await?;
        let logged = engine.logged_changes(0, 1).await?;
        let changes = (logged.total, logged.changes.first().map_or(Duration::ZERO, |first| now.since(first.begun_at)));
        let queues = QueueReading::read(engine, now).await?;
        let workers = engine.workers().await?;
        let workflows = WorkflowReading::read(engine).await?;
        let before = self.latest.load_full();
        let before = before.as_deref().map(|before| &before.boards);
        // Queues are seen also when boards can't be read.
        let (boards, done) = match BoardReading::read(boards, before).await {
            Ok(boards) => (boards, Ok(())),
            Err(error) => (before.cloned().unwrap_or_default(), Err(error)),
        };
        let tombstones = tombstones.count;
        let reading = Reading { now, outbox, changes, tombstones, troubles, queues, workers, workflows, boards };
        self.latest.store(Some(Arc::new(reading)));
        done
    }

    fn look(&self) -> Option<Arc<Reading>> {
        *self.looked_at.lock() = Instant::now();
        self.latest.load_full()
    }
}

/// A rate as tasks per second.
fn per_second(rate: &RateLimit) -> f64 {
    f64::from(rate.tasks) / rate.per.as_secs_f64()
}

/// Registers the gauges. A manager that has stopped tells nothing any more.
pub(crate) fn observe(app: &Weak<dyn Observed>, meter: &Meter) {
    let whole = part(app, |reading| reading);
    queues::observe(&part(app, |reading| &reading.queues), meter);
    TOMBSTONES.gauge(meter, whole.observer(|reading, gauge| gauge.observe(reading.tombstones as f64, &[])));
    STORE_TROUBLE.gauge(
        meter,
        whole.observer(|reading, gauge| {
            for trouble in Trouble::ALL {
                let is_there = reading.troubles.contains(&trouble);
                gauge.observe(f64::from(u8::from(is_there)), &[KeyValue::new("trouble", trouble.as_str())]);
            }
        }),
    );
    DEAD_LETTERS_OUTBOX.gauge(meter, whole.observer(|reading, gauge| gauge.observe(reading.outbox as f64, &[])));
    AUDIT_WAITING.gauge(meter, whole.observer(|reading, gauge| gauge.observe(reading.changes.0 as f64, &[])));
    AUDIT_WAITING_AGE
        .gauge(meter, whole.observer(|reading, gauge| gauge.observe(reading.changes.1.as_secs_f64(), &[])));
    QUEUE_PAUSED.gauge(
        meter,
        with(app, |app, gauge| {
            let config = app.live().snapshot();
            let mut queues = config.iter().flat_map(|config| config.queues.values());
            for queue in queues.by_ref().take(MOST_NAMES - 1) {
                gauge.observe(f64::from(u8::from(queue.paused)), &[queue_of(&queue.name)]);
            }
            let rest = queues.map(|queue| queue.paused).reduce(|one, other| one || other);
            if let Some(is_any_paused) = rest {
                gauge.observe(f64::from(u8::from(is_any_paused)), &[KeyValue::new("queue", OTHER)]);
            }
        }),
    );
    QUEUE_LIMIT.gauge(
        meter,
        with(app, |app, gauge| {
            let config = app.live().snapshot();
            // The limits of many queues have no sum: those of the rest have no series.
            for queue in config.iter().flat_map(|config| config.queues.values()).take(MOST_NAMES) {
                let limits = [
                    ("max_per_worker", queue.max_per_worker.map(f64::from)),
                    ("max_concurrent", queue.max_concurrent.map(f64::from)),
                    ("max_length", queue.max_length.map(|most| most as f64)),
                    ("max_bytes", queue.max_bytes.map(|most| most as f64)),
                    ("rate_limit", queue.rate_limit.as_ref().map(per_second)),
                ];
                for (name, limit) in limits.into_iter().filter_map(|(name, limit)| Some((name, limit?))) {
                    gauge.observe(limit, &[queue_of(&queue.name), KeyValue::new("limit", name)]);
                }
            }
        }),
    );
    CONFIG_VERSION.gauge(
        meter,
        with(app, |app, gauge| {
            if let Some(config) = app.live().snapshot() {
                gauge.observe(config.version as f64, &[KeyValue::new("service", "manager")]);
            }
        }),
    );
    CONFIG_AGE.gauge(
        meter,
        with(app, |app, gauge| {
            if let Some(age) = app.live().age() {
                gauge.observe(age.as_secs_f64(), &[KeyValue::new("service", "manager")]);
            }
        }),
    );
    of_certificate(app, meter);
    of_workers(app, &whole, meter);
    workflows::observe(&part(app, |reading| &reading.workflows), meter);
    boards::observe(&part(app, |reading| &reading.boards), meter);
}

fn of_certificate(app: &Weak<dyn Observed>, meter: &Meter) {
    CERTIFICATE_REMAINING.gauge(
        meter,
        with(app, |app, gauge| {
            if let Some(validity) = app.certificate() {
                gauge.observe(validity.remaining(jiff::Timestamp::now()).as_secs_f64(), &[]);
            }
        }),
    );
    CERTIFICATE_LIFETIME.gauge(
        meter,
        with(app, |app, gauge| {
            if let Some(validity) = app.certificate() {
                gauge.observe(validity.lifetime().as_secs_f64(), &[]);
            }
        }),
    );
}

fn of_workers(app: &Weak<dyn Observed>, whole: &LatestLook<Reading>, meter: &Meter) {
    WORKERS_DRAIN_AGE.gauge(
        meter,
        whole.observer(|reading, gauge| {
            let mut longest: BTreeMap<&str, Duration> = BTreeMap::new();
            for RegisteredWorker { report, seen_at, .. } in &reading.workers {
                let age = report.draining_for.map_or(Duration::ZERO, |so_far| so_far + reading.now.since(*seen_at));
                let longest = longest.entry(report.role.as_str()).or_default();
                *longest = age.max(*longest);
            }
            for (role, age) in longest {
                gauge.observe(age.as_secs_f64(), &[KeyValue::new("role", role.to_owned())]);
            }
        }),
    );
    SCHEMAS_UNCHECKED.gauge(
        meter,
        with(app, |app, gauge| {
            if let Some(known) = app.known().current() {
                gauge.observe(known.unchecked() as f64, &[]);
            }
        }),
    );
    WORKERS_ALIVE.gauge(
        meter,
        whole.observer(|reading, gauge| {
            let mut alive: BTreeMap<(&str, &str), u32> = BTreeMap::new();
            for worker in &reading.workers {
                let state = match worker.report.state {
                    WorkerState::Running => "running",
                    WorkerState::Draining => "draining",
                };
                *alive.entry((worker.report.role.as_str(), state)).or_default() += 1;
            }
            for ((role, state), workers) in alive {
                let attributes = [KeyValue::new("role", role.to_owned()), KeyValue::new("state", state)];
                gauge.observe(f64::from(workers), &attributes);
            }
        }),
    );
}

fn with(
    app: &Weak<dyn Observed>,
    read: impl Fn(&dyn Observed, &dyn AsyncInstrument<f64>) + Send + Sync + 'static,
) -> impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static {
    let app = Weak::clone(app);
    move |instrument| {
        if let Some(app) = app.upgrade() {
            read(&*app, instrument);
        }
    }
}

/// Where the readings of one kind are, which `of` finds in a whole one.
fn part<T: 'static>(app: &Weak<dyn Observed>, of: fn(&Reading) -> &T) -> LatestLook<T> {
    let app = Weak::clone(app);
    LatestLook::new(move |look| {
        if let Some(reading) = app.upgrade().and_then(|app| app.gauges().look()) {
            look(of(&reading));
        }
    })
}
