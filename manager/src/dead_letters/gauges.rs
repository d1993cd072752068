//! The gauges of the archive, observed where it is kept.

use std::{sync::Arc, time::Duration};

use jobbers_common::metrics::catalogue::{DEAD_LETTERS_OLDEST_AGE, DEAD_LETTERS_SIZE};
use opentelemetry::{
    KeyValue,
    metrics::{AsyncInstrument, Meter},
};

use super::holding::DeadLetters;

/// Registers the gauges.
pub(crate) fn observe(letters: &Arc<DeadLetters>, meter: &Meter) {
    DEAD_LETTERS_SIZE.gauge(meter, of_each_queue(letters, |count, _| count as f64));
    DEAD_LETTERS_OLDEST_AGE.gauge(meter, of_each_queue(letters, |_, age| age.as_secs_f64()));
}

fn of_each_queue(
    letters: &Arc<DeadLetters>,
    value: impl Fn(u64, Duration) -> f64 + Send + Sync + 'static,
) -> impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static {
    let letters = Arc::downgrade(letters);
    move |gauge| {
        let Some(letters) = letters.upgrade().filter(|letters| letters.held().is_some()) else { return };
        for (queue, count, age) in letters.meters.of_queues() {
            gauge.observe(value(count, age), &[KeyValue::new("queue", queue.as_str().to_owned())]);
        }
    }
}
