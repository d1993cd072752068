//! What a benchmark found: one object, as JSON for programs and as rows for people.

use serde::Serialize;

use super::{
    figures::{Rate, Span, Spread, rounded},
    phases::Round,
    profile::BuildProfile,
    steady::Steady,
    watching::Watching,
};
use crate::terminal::output::thousands;

/// Submission by the typed client to an idle worker, until the task's first line runs. Each is the middle of the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IdleLatency {
    /// Half of the submissions without a queue are faster.
    pub p50_ms: f64,
    /// All but a hundredth of these are faster.
    pub p99_ms: f64,
    /// Half of the submissions that name their queue are faster.
    pub named_p50_ms: f64,
    /// One bare exchange with the store, just as idle before: `PING`, or a commit of one row.
    pub round_trip_ms: f64,
    /// The same, one right after the other.
    pub busy_round_trip_ms: f64,
}

/// Processor time per task, in microseconds; the middle of the rounds.
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
pub struct BenchReport {
    /// `sqlite` or `redis`.
    pub engine: String,
    /// How the program was built.
    pub build: BuildProfile,
    /// How many rounds each rate is the middle of.
    pub rounds: usize,
    /// How many tasks the worker runs at a time.
    pub concurrency: u32,
    /// One client, one task a call, each call awaited.
    pub submit_one: Rate,
    /// Sixteen such clients at once; the limit is that of one client, so the ratio says what sharing commits brings.
    pub submit_16: Rate,
    /// Four clients, 100 tasks a call.
    pub submit_batch: Rate,
    /// A full queue through one worker, until nothing is left; nothing is pruned.
    pub drain: Rate,
    /// How many tasks a claim brought meanwhile.
    pub tasks_per_call: Spread,
    /// Submitting in batches while the worker drains, from the first submission to the last completion.
    pub both: Rate,
    /// With retention as it ships, and the costs of that.
    pub steady: Steady,
    /// `POST /tasks`, one task a request, beside an empty handler of the same server.
    pub http_one: Rate,
    /// `POST /tasks` in batches of 100; in tasks, beside `submit_batch`.
    pub http_batch: Rate,
    /// How long an idle system takes.
    pub idle_latency: IdleLatency,
    /// What a waiting task weighs in the store.
    pub bytes_per_queued_task: f64,
    /// Where the time goes.
    pub cpu_us_per_task: CpuPerTask,
    /// What metrics and traces cost the drain.
    pub watching: Watching,
}

/// A line of the table.
#[derive(Debug)]
pub struct Row {
    /// What is measured.
    pub name: String,
    /// What the limit is, if there is one.
    pub limit_is: &'static str,
    /// What was measured.
    pub figure: String,
    /// The limit.
    pub limit: String,
    /// The first by the second, with its smallest and largest value.
    pub ratio: String,
}

impl BenchReport {
    pub(super) fn new(engine: String, concurrency: u32, rounds: &[Round], steady: Steady, watching: Watching) -> Self {
        let rate = |pair: fn(&Round) -> (f64, f64)| Rate::of(rounds.iter().map(pair));
        let spread = |figure: fn(&Round) -> f64, digits| Spread::of(rounds.iter().map(figure).collect(), digits);
        let middle = |figure, digits| spread(figure, digits).median;
        Self {
            engine,
            build: BuildProfile::own(),
            rounds: rounds.len(),
            concurrency,
            submit_one: rate(|round| (round.submit_one, round.limits.submit_one)),
            submit_16: rate(|round| (round.submit_16, round.limits.submit_one)),
            submit_batch: rate(|round| (round.fill.rate, round.limits.submit_batch)),
            drain: rate(|round| (round.drain.rate, round.limits.drain)),
            tasks_per_call: spread(|round| round.drain.tasks_per_call, 0),
            both: rate(|round| (round.both, round.limits.both)),
            steady,
            http_one: rate(|round| (round.http.one, round.http.empty)),
            http_batch: rate(|round| (round.http.batch, round.fill.rate)),
            idle_latency: IdleLatency {
                p50_ms: middle(|round| round.idle.p50, 3),
                p99_ms: middle(|round| round.idle.p99, 3),
                named_p50_ms: middle(|round| round.idle.named_p50, 3),
                round_trip_ms: middle(|round| round.idle.round_trip, 3),
                busy_round_trip_ms: middle(|round| round.limits.round_trip, 3),
            },
            bytes_per_queued_task: middle(|round| round.fill.bytes_per_task, 0),
            cpu_us_per_task: CpuPerTask {
                client: middle(|round| round.fill.client_us, 2),
                worker: middle(|round| round.drain.worker_us, 2),
                store: middle(|round| round.fill.store_us + round.drain.store_us, 2),
            },
            watching,
        }
    }

    /// The line above the table: what was measured, and how.
    #[must_use]
    pub fn heading(&self) -> String {
        let Self { engine, build, rounds, concurrency, .. } = self;
        heading(engine, build, &format!("{concurrency} slots, no-op tasks of 100 bytes"), *rounds)
    }

    /// The table.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        [self.rates(), self.latencies(), self.costs(), self.telemetry()].into_iter().flatten().collect()
    }

    fn rates(&self) -> Vec<Row> {
        let [one, many, moved, both] = match self.engine.as_str() {
            "redis" => [
                "bare LPUSH, each awaited",
                "bare LPUSH, 100 in a pipeline",
                "a script that moves 100 between lists",
                "the same LPUSH and moves, at once",
            ],
            _ => [
                "bare inserts, each committed",
                "bare inserts, 100 in a commit",
                "a commit that takes 100 rows, deletes 100",
                "the same inserts and takes, in turn",
            ],
        };
        vec![
            rate("submit one by one, 1 client", one, self.submit_one),
            rate("submit one by one, 16 clients", "the same of 1 client: what sharing brings", self.submit_16),
            rate("submit in batches of 100", many, self.submit_batch),
            rate("drain through a worker", moved, self.drain),
            rate("both at once", both, self.both),
            rate("drain, retention full", "the same with nothing pruned", self.steady.retained_drain),
            rate("drain, default slots", "the same with 256 slots", self.steady.slots_drain),
            rate("POST /tasks, one a request", "GET /health/live of the same manager", self.http_one),
            rate("POST /tasks, 100 a request", "the same batches without HTTP", self.http_batch),
        ]
    }

    fn latencies(&self) -> Vec<Row> {
        let idle = self.idle_latency;
        let beside = |name, limit_is, figure: f64, limit: f64| Row {
            limit: millis(limit),
            limit_is,
            ratio: format!("{:.2}", figure / limit),
            ..fact(name, millis(figure))
        };
        vec![
            beside("idle latency p50, typed client", "the same with the queue named", idle.p50_ms, idle.named_p50_ms),
            beside(
                "idle latency p99, typed client",
                "a bare exchange, as idle before",
                idle.p99_ms,
                idle.round_trip_ms,
            ),
            fact("bare exchange, busy", millis(idle.busy_round_trip_ms)),
        ]
    }

    fn costs(&self) -> Vec<Row> {
        let (steady, cpu) = (&self.steady, self.cpu_us_per_task);
        let Spread { median, min, max } = self.tasks_per_call;
        let unbatched = Row {
            limit: steady.ping_us.map(|ping| micros(ping, 1)).unwrap_or_default(),
            limit_is: if steady.ping_us.is_some() { "a bare PING" } else { "" },
            ..fact("store CPU, one task unbatched", micros(steady.store_us_unbatched, 1))
        };
        vec![
            fact("tasks per claim", with_range(format!("{median:.0}"), min, max, 0)),
            fact("bytes per queued task", format!("{:.0}", self.bytes_per_queued_task)),
            fact("bytes per finished task", format!("{:.0}", steady.bytes_per_finished_task)),
            fact("client CPU per task", micros(cpu.client, 1)),
            fact("worker CPU per task", micros(cpu.worker, 1)),
            fact("store CPU per task", micros(cpu.store, 1)),
            fact(
                format!("the same, {} finished kept", thousands(steady.finished_kept)),
                micros(steady.store_us_per_task, 1),
            ),
            fact("store CPU per pruned task", micros(steady.store_us_per_pruned_task, 2)),
            unbatched,
            fact(format!("most kept beyond {}", thousands(steady.retention_count)), thousands(steady.unpruned_backlog)),
        ]
    }

    fn telemetry(&self) -> Vec<Row> {
        let watching = self.watching;
        let watched = watching.worker_cpu_us_per_task;
        let unwatched = "the drain without telemetry";
        let share =
            |name, limit_is, ratio: f64| Row { limit_is, ratio: format!("{ratio:.2}"), ..fact(name, String::new()) };
        vec![
            fact("drain without telemetry", per_second(watching.unwatched_tasks_per_s)),
            share("the same with metrics", unwatched, watching.metrics_ratio),
            share("with metrics and 1 % of traces", unwatched, watching.traced_ratio),
            share("these to a frozen collector", "these to one that answers", watching.frozen_collector_ratio),
            fact("worker CPU without telemetry", micros(watched.unwatched, 2)),
            fact("the same with metrics", micros(watched.metrics, 2)),
            fact("with metrics and 1 % of traces", micros(watched.traced, 2)),
            fact("these to a frozen collector", micros(watched.frozen_collector, 2)),
        ]
    }
}

/// What was measured, by which program, and how often.
pub(super) fn heading(engine: &str, build: &BuildProfile, what: &str, rounds: usize) -> String {
    let BuildProfile { name, opt_level, .. } = build;
    let rounds = if rounds == 1 { "one round".to_owned() } else { format!("median of {rounds} rounds (min..max)") };
    format!("{engine}, {name} build (opt-level {opt_level}), {what}; {rounds}")
}

pub(super) fn rate(name: &'static str, limit_is: &'static str, rate: Rate) -> Row {
    let Rate { ratio, ratio_min, ratio_max, .. } = rate;
    Row {
        limit: per_second(rate.limit_per_s),
        limit_is,
        ratio: with_range(format!("{ratio:.2}"), ratio_min, ratio_max, 2),
        ..fact(name, per_second(rate.tasks_per_s))
    }
}

pub(super) fn span(name: &'static str, limit_is: &'static str, span: Span) -> Row {
    let Span { ratio, ratio_min, ratio_max, .. } = span;
    // What takes less than a tenth of a millisecond is read more easily in microseconds.
    let short = |ms: f64| if ms < 0.1 { micros(ms * 1e3, 1) } else { millis(ms) };
    Row {
        limit: short(span.limit_ms),
        limit_is,
        ratio: with_range(format!("{ratio:.2}"), ratio_min, ratio_max, 2),
        ..fact(name, short(span.ms))
    }
}

/// A figure with its range, unless there was one round only.
pub(super) fn with_range(figure: String, min: f64, max: f64, digits: usize) -> String {
    if min < max { format!("{figure} ({min:.digits$}..{max:.digits$})") } else { figure }
}

pub(super) fn fact(name: impl Into<String>, figure: String) -> Row {
    Row { name: name.into(), limit_is: "", figure, limit: String::new(), ratio: String::new() }
}

fn millis(value: f64) -> String {
    format!("{:.3} ms", rounded(value, 3))
}

pub(super) fn micros(value: f64, digits: usize) -> String {
    format!("{value:.digits$} us")
}

fn per_second(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate, far from the bounds")]
    let whole = value.max(0.0) as u64;
    thousands(whole) + "/s"
}
