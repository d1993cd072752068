//! What a benchmark found: one object, as JSON for programs and as a table for people.

use serde::Serialize;

use super::watching::Watching;
use crate::output::thousands;

/// A rate beside what the bare store does in the same run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// Tasks per second, all features included.
    pub tasks_per_s: f64,
    /// The bare store's moves per second, same run, same batch, same durability.
    pub limit_per_s: f64,
    /// The first by the second.
    pub ratio: f64,
}

impl Rate {
    pub fn new(tasks_per_s: f64, limit_per_s: f64) -> Self {
        Self {
            tasks_per_s: tasks_per_s.round(),
            limit_per_s: limit_per_s.round(),
            ratio: rounded(tasks_per_s / limit_per_s, 3),
        }
    }
}

/// Submission to an idle worker until the task's first line runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IdleLatency {
    /// Half of the samples are faster.
    pub p50_ms: f64,
    /// All but a hundredth are faster.
    pub p99_ms: f64,
    /// One bare exchange with the store, just as idle before: `PING`, or a commit of one row.
    pub round_trip_ms: f64,
    /// The same, one right after the other.
    pub busy_round_trip_ms: f64,
}

/// Processor time per task, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuPerTask {
    /// Of the submitting process, while it submits in batches.
    pub client: f64,
    /// Of the worker's process, while it drains; without the store's threads, if the store lives inside it.
    pub worker: f64,
    /// Of the store, for one task's whole life.
    pub store: f64,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// `sqlite` or `redis`.
    pub engine: String,
    /// One client, one task a call, each call awaited.
    pub submit_one: Rate,
    /// Sixteen such clients at once; the limit is that of one client, so the ratio says what sharing commits brings.
    pub submit_16: Rate,
    /// Four clients, 100 tasks a call.
    pub submit_batch: Rate,
    /// A full queue through one worker, until nothing is left.
    pub drain: Rate,
    /// Submitting in batches while the worker drains, from the first submission to the last completion.
    pub both: Rate,
    /// How long an idle system takes.
    pub idle_latency: IdleLatency,
    /// What a waiting task weighs in the store.
    pub bytes_per_queued_task: f64,
    /// Where the time goes.
    pub cpu_us_per_task: CpuPerTask,
    /// `POST /tasks`, one task a request, beside an empty handler of the same server.
    pub http_one: Rate,
    /// `POST /tasks` in batches of 100; in tasks, beside `submit_batch`.
    pub http_batch: Rate,
    /// What metrics and traces cost the drain.
    pub watching: Watching,
}

/// `value` to `digits` decimal places.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

/// The value below which `share` of the sorted samples lie.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index of a short list"
    )]
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

impl Report {
    /// The table: what is measured, its rate, the limit's, the ratio.
    pub fn rows(&self) -> Vec<[String; 4]> {
        let rate = |name: &str, rate: Rate| {
            [name.to_owned(), per_second(rate.tasks_per_s), per_second(rate.limit_per_s), format!("{:.2}", rate.ratio)]
        };
        let fact = |name: &str, value: String| [name.to_owned(), value, String::new(), String::new()];
        let cpu = self.cpu_us_per_task;
        let idle = self.idle_latency;
        let watching = self.watching;
        let watched = watching.worker_cpu_us_per_task;
        let share = |name: &str, ratio: f64| [name.to_owned(), String::new(), String::new(), format!("{ratio:.2}")];
        vec![
            rate("submit one by one, 1 client", self.submit_one),
            rate("submit one by one, 16 clients", self.submit_16),
            rate("submit in batches of 100", self.submit_batch),
            rate("drain through a worker", self.drain),
            rate("both at once", self.both),
            rate("POST /tasks, one a request", self.http_one),
            rate("POST /tasks, 100 a request", self.http_batch),
            fact("idle latency p50", format!("{:.3} ms", idle.p50_ms)),
            fact("idle latency p99", format!("{:.3} ms", idle.p99_ms)),
            fact("round trip, as idle", format!("{:.3} ms", idle.round_trip_ms)),
            fact("round trip, busy", format!("{:.3} ms", idle.busy_round_trip_ms)),
            fact("bytes per queued task", format!("{:.0}", self.bytes_per_queued_task)),
            fact("CPU per task, client", format!("{:.1} us", cpu.client)),
            fact("CPU per task, worker", format!("{:.1} us", cpu.worker)),
            fact("CPU per task, store", format!("{:.1} us", cpu.store)),
            fact("drain, unwatched", per_second(watching.unwatched_tasks_per_s)),
            share("the same with metrics", watching.metrics_ratio),
            share("with metrics and 1 % of traces", watching.traced_ratio),
            share("these to a frozen collector", watching.frozen_collector_ratio),
            fact("worker's CPU per task, unwatched", micros(watched.unwatched)),
            fact("the same with metrics", micros(watched.metrics)),
            fact("with metrics and 1 % of traces", micros(watched.traced)),
            fact("these to a frozen collector", micros(watched.frozen_collector)),
        ]
    }
}

fn micros(value: f64) -> String {
    format!("{value:.2} us")
}

fn per_second(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate, far from the bounds")]
    let whole = value.max(0.0) as u64;
    thousands(whole) + "/s"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            (percentile(&sorted, 0.5), percentile(&sorted, 0.99), percentile(&sorted, 1.0)),
            (50.0, 99.0, 100.0)
        );
        assert!(percentile(&[], 0.5).is_nan());
    }
}
