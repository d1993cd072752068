//! Gauges read from a running worker. They hold weak references, so a worker that has ended reports nothing.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_common::{
    metrics::catalogue::{
        CANCELS_OVERDUE, CONFIG_VERSION, HEARTBEATS_OVERDUE, WORKER_SLOTS_LIMIT, WORKER_SLOTS_USED,
        WORKER_THREADS_BUSY, WORKER_THREADS_BUSY_AGE, WORKER_THREADS_FULL_AGE, WORKER_THREADS_HUNG,
        WORKER_THREADS_HUNG_AGE, WORKER_THREADS_LIMIT, WORKER_THREADS_WAITING, WORKER_UNSETTLED,
    },
    name::RoleName,
};
use opentelemetry::{
    KeyValue,
    metrics::{AsyncInstrument, Meter},
};

use super::role_of;
use crate::attempts::{
    attempt::{Attempt, SharedState},
    leases::HeldLeases,
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
pub(crate) fn observe(meter: &Meter, role: &RoleName, slots: u32, figures: &Arc<Figures>, leases: &Arc<HeldLeases>) {
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
    HEARTBEATS_OVERDUE.gauge(
        meter,
        counted(leases, |attempt, now| {
            let interval = attempt.policy.max_heartbeat_interval?;
            Some(!attempt.has_ended() && attempt.last_beat() + interval < now)
        }),
    );
    CANCELS_OVERDUE.gauge(meter, counted(leases, |attempt, now| Some(attempt.ignores_cancel(now))));
}

/// Registers the gauges of the threads for blocking tasks, `width` in number.
pub(crate) fn observe_threads(meter: &Meter, role: &RoleName, width: usize, leases: &Arc<HeldLeases>) {
    let (by_role, alive) = ([role_of(role)], Arc::downgrade(leases));
    WORKER_THREADS_LIMIT.gauge(meter, move |gauge| {
        if alive.strong_count() > 0 {
            gauge.observe(width as f64, &by_role);
        }
    });
    let is_blocking = |attempt: &Attempt, is: bool| attempt.is_blocking().then_some(is);
    WORKER_THREADS_BUSY.gauge(meter, counted(leases, move |attempt, _| is_blocking(attempt, attempt.holds_thread())));
    WORKER_THREADS_WAITING
        .gauge(meter, counted(leases, move |attempt, _| is_blocking(attempt, attempt.waits_for_thread())));
    let age = |attempt: &Attempt, _| {
        let held_for = || if attempt.holds_thread() { attempt.runs_for() } else { Duration::ZERO };
        attempt.is_blocking().then(held_for).map(|age| age.as_secs_f64())
    };
    WORKER_THREADS_BUSY_AGE.gauge(meter, by_pair(leases, age, f64::max));
    let (by_role, leases) = ([role_of(role)], Arc::downgrade(leases));
    WORKER_THREADS_FULL_AGE.gauge(meter, move |gauge| {
        let Some((held, waiting)) = leases.upgrade().map(|leases| leases.threads()) else { return };
        let latest = held.iter().map(|thread| thread.held_for).min().filter(|_| held.len() >= width && waiting > 0);
        gauge.observe(latest.unwrap_or_default().as_secs_f64(), &by_role);
    });
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

/// How many running attempts match, per queue and task. A pair without matches is reported as 0, so that a gauge falls
/// again; a pair for which `of` returns `None` is not reported.
fn counted(
    leases: &Arc<HeldLeases>,
    of: impl Fn(&Attempt, Instant) -> Option<bool> + Send + Sync + 'static,
) -> impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static {
    by_pair(leases, move |attempt, now| of(attempt, now).map(|is| f64::from(u8::from(is))), |a, b| a + b)
}

/// A figure of the running attempts, folded per queue and task.
fn by_pair(
    leases: &Arc<HeldLeases>,
    of: impl Fn(&Attempt, Instant) -> Option<f64> + Send + Sync + 'static,
    fold: fn(f64, f64) -> f64,
) -> impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static {
    let leases = Arc::downgrade(leases);
    move |gauge| {
        let Some(leases) = leases.upgrade() else { return };
        let (mut found, now) = (BTreeMap::new(), Instant::now());
        for attempt in leases.all() {
            let Some(figure) = of(&attempt, now) else { continue };
            let pair = (attempt.task.queue.to_string(), attempt.task.name.to_string());
            found.entry(pair).and_modify(|known| *known = fold(*known, figure)).or_insert(figure);
        }
        for ((queue, task), figure) in found {
            gauge.observe(figure, &[KeyValue::new("queue", queue), KeyValue::new("task", task)]);
        }
    }
}
