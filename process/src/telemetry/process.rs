//! Metrics about the process itself: its identity and its use of resources.

use std::time::Instant;

use jobbers_common::metrics::catalogue::{BUILD_INFO, PROCESS_CPU_TIME, PROCESS_MEMORY, PROCESS_UPTIME};
use opentelemetry::{KeyValue, metrics::Meter};
use procfs::process::{Process, Stat};

/// Registers the gauges.
pub(super) fn observe(meter: &Meter, service: &'static str, version: &'static str) {
    let build = [KeyValue::new("service", service), KeyValue::new("version", version)];
    BUILD_INFO.gauge(meter, move |gauge| gauge.observe(1.0, &build));
    let own = [KeyValue::new("service", service)];
    let who = own.clone();
    PROCESS_CPU_TIME.observed_counter(meter, move |counter| {
        if let Some(stat) = stat() {
            let ticks = (stat.utime + stat.stime) as f64;
            counter.observe(ticks / procfs::ticks_per_second() as f64, &who);
        }
    });
    let (began, who) = (Instant::now(), own.clone());
    PROCESS_UPTIME.gauge(meter, move |gauge| gauge.observe(began.elapsed().as_secs_f64(), &who));
    PROCESS_MEMORY.gauge(meter, move |gauge| {
        if let Some(stat) = stat() {
            gauge.observe(stat.rss as f64 * procfs::page_size() as f64, &own);
        }
    });
}

fn stat() -> Option<Stat> {
    Process::myself().and_then(|process| process.stat()).ok()
}
