//! Gauges read from a running worker. They hold weak references, so a worker that has ended reports nothing.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_common::{
    metrics::catalogue::{
        CANCELS_OVERDUE, CONFIG_VERSION, HEARTBEATS_OVERDUE, WORKER_SLOTS_LIMIT, WORKER_SLOTS_USED,
        WORKER_THREADS_HUNG, WORKER_THREADS_HUNG_AGE, WORKER_UNSETTLED,
    },
    name::RoleName,
};
use opentelemetry::{
    KeyValue,
    metrics::{AsyncInstrument, Meter},
};

use super::role_of;
use crate::{
    attempt::{Attempt, SharedState},
    leases::Leases,
};

/// The figures that the fetcher writes after each round.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    running: AtomicU64,
    unsettled: AtomicU64,
    config_version: AtomicU64,
}

impl Figures {
    pub(crate) fn set(&self, running: usize, unsettled: usize, config_version: u64) {
        self.running.store(running as u64, Ordering::Relaxed);
        self.unsettled.store(unsettled as u64, Ordering::Relaxed);
        self.config_version.store(config_version, Ordering::Relaxed);
    }
}

/// Registers the gauges of a worker.
pub(crate) fn observe(meter: &Meter, role: &RoleName, slots: u32, figures: &Arc<Figures>, leases: &Arc<Leases>) {
    let by_role = [role_of(role)];
    let read = |of: fn(&Figures) -> &AtomicU64, attributes: &[KeyValue]| {
        let (figures, attributes) = (Arc::downgrade(figures), attributes.to_vec());
        move |gauge: &dyn AsyncInstrument<f64>| {
            if let Some(figures) = figures.upgrade() {
                gauge.observe(of(&figures).load(Ordering::Relaxed) as f64, &attributes);
            }
        }
    };
    WORKER_SLOTS_USED.gauge(meter, read(|figures| &figures.running, &by_role));
    WORKER_UNSETTLED.gauge(meter, read(|figures| &figures.unsettled, &by_role));
    CONFIG_VERSION.gauge(meter, read(|figures| &figures.config_version, &[KeyValue::new("service", "worker")]));
    let alive = Arc::downgrade(figures);
    WORKER_SLOTS_LIMIT.gauge(meter, move |gauge| {
        if alive.strong_count() > 0 {
            gauge.observe(f64::from(slots), &by_role);
        }
    });
    let pairs = |of: fn(&Attempt, Instant) -> Option<bool>| {
        let leases = Arc::downgrade(leases);
        move |gauge: &dyn AsyncInstrument<f64>| {
            for ((queue, task), attempts) in count(&leases, of) {
                gauge.observe(attempts, &[KeyValue::new("queue", queue), KeyValue::new("task", task)]);
            }
        }
    };
    HEARTBEATS_OVERDUE.gauge(
        meter,
        pairs(|attempt, now| {
            let interval = attempt.policy.max_heartbeat_interval?;
            Some(!attempt.has_ended() && attempt.last_beat() + interval < now)
        }),
    );
    CANCELS_OVERDUE.gauge(meter, pairs(|attempt, now| Some(attempt.ignores_cancel(now))));
}

/// Registers the gauges of threads that blocking tasks hold although their attempts are over.
pub(crate) fn observe_hung_threads(meter: &Meter, shared: &Arc<SharedState>) {
    let read = |of: fn((usize, Duration)) -> f64| {
        let shared = Arc::downgrade(shared);
        move |gauge: &dyn AsyncInstrument<f64>| {
            let Some(shared) = shared.upgrade() else { return };
            for ((queue, task), held) in shared.hung.by_pair() {
                gauge.observe(
                    of(held),
                    &[KeyValue::new("queue", queue.to_string()), KeyValue::new("task", task.to_string())],
                );
            }
        }
    };
    WORKER_THREADS_HUNG.gauge(meter, read(|(count, _)| count as f64));
    WORKER_THREADS_HUNG_AGE.gauge(meter, read(|(_, longest)| longest.as_secs_f64()));
}

/// Running attempts that match, per queue and task. A pair without matches is reported as 0, so that a gauge falls
/// again; a pair for which `of` returns `None` is not reported.
fn count(leases: &Weak<Leases>, of: fn(&Attempt, Instant) -> Option<bool>) -> BTreeMap<(String, String), f64> {
    let mut found = BTreeMap::new();
    let Some(leases) = leases.upgrade() else { return found };
    let now = Instant::now();
    for attempt in leases.all() {
        let Some(is) = of(&attempt, now) else { continue };
        let pair = (attempt.task.queue.to_string(), attempt.task.name.to_string());
        *found.entry(pair).or_default() += f64::from(u8::from(is));
    }
    found
}
