//! Metrics about the process itself: its identity and its use of resources.

use std::time::Instant;

use jobbers_common::metrics::catalogue::{BUILD_INFO, PROCESS_CPU_TIME, PROCESS_MEMORY, PROCESS_UPTIME};
use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        time::{TimeVal, TimeValLike as _},
    },
    unistd::{SysconfVar, sysconf},
};
use opentelemetry::{KeyValue, metrics::Meter};

/// Registers the gauges.
pub(super) fn observe(meter: &Meter, service: &'static str, version: &'static str) {
    let build = [KeyValue::new("service", service), KeyValue::new("version", version)];
    BUILD_INFO.gauge(meter, move |gauge| gauge.observe(1.0, &build));
    let own = [KeyValue::new("service", service)];
    let who = own.clone();
    PROCESS_CPU_TIME.observed_counter(meter, move |counter| {
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            let micros = |time: TimeVal| time.num_microseconds() as f64;
            counter.observe((micros(usage.user_time()) + micros(usage.system_time())) / 1e6, &who);
        }
    });
    let (began, who) = (Instant::now(), own.clone());
    PROCESS_UPTIME.gauge(meter, move |gauge| gauge.observe(began.elapsed().as_secs_f64(), &who));
    PROCESS_MEMORY.gauge(meter, move |gauge| {
        if let Some(bytes) = resident_bytes() {
            gauge.observe(bytes, &own);
        }
    });
}

/// The memory of the process that is in RAM: the second number of `statm`, in pages (proc(5)).
fn resident_bytes() -> Option<f64> {
    let pages: u32 = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    let page_size = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    Some(f64::from(pages) * page_size as f64)
}
