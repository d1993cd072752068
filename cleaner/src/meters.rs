//! The cleaner's metrics: passes, and what they removed. They use OpenTelemetry's global meter.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::SystemTime,
};

use jobbers_common::metrics::catalogue::{CLEANER_DURATION, CLEANER_LAST_SUCCESS, CLEANER_REMOVED, CLEANER_RUNS};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter},
};
use parking_lot::Mutex;

use crate::report::{Ending, Report};

/// The instruments.
#[derive(Debug)]
pub(crate) struct Meters {
    runs: Counter<u64>,
    duration: Histogram<f64>,
    removed: Counter<u64>,
    /// When each pass last succeeded, in seconds of Unix time.
    last_success: Arc<Mutex<BTreeMap<&'static str, f64>>>,
}

impl Meters {
    pub(crate) fn new(meter: &Meter) -> Self {
        let last_success: Arc<Mutex<BTreeMap<&'static str, f64>>> = Arc::default();
        let latest = Arc::downgrade(&last_success);
        CLEANER_LAST_SUCCESS.gauge(meter, move |gauge| {
            for (pass, at) in Weak::upgrade(&latest).iter().flat_map(|latest| latest.lock().clone()) {
                gauge.observe(at, &[KeyValue::new("pass", pass)]);
            }
        });
        Self {
            runs: CLEANER_RUNS.counter(meter),
            duration: CLEANER_DURATION.histogram(meter),
            removed: CLEANER_REMOVED.counter(meter),
            last_success,
        }
    }

    /// Counts a round.
    pub(crate) fn count(&self, report: &Report) {
        for pass in &report.passes {
            let name = KeyValue::new("pass", pass.pass);
            let outcome = KeyValue::new("outcome", pass.ending.as_str());
            self.runs.add(1, &[name.clone(), outcome]);
            self.duration.record(pass.seconds, std::slice::from_ref(&name));
            self.removed.add(if report.dry_run { 0 } else { pass.removed }, &[name]);
            if pass.ending == Ending::Done {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                self.last_success.lock().insert(pass.pass, now.as_secs_f64());
            }
        }
    }
}
