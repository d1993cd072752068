//! The numbers of one run, told by three: the manager's API, which reads the store and the archive; PromQL on what was
//! scraped; and what came by OTLP.

use std::{collections::BTreeMap, fmt::Write as _};

use jobbers_common::metrics::{
    Metric,
    catalogue::{
        END_TO_END_LATENCY, EXECUTION_TIME, QUEUE_ACCEPTED, TASKS_DEAD_LETTERED, TASKS_PROCESSED, TASKS_RETRIED,
        TASKS_SELECTED, TASKS_SUBMITTED, TIME_IN_QUEUE,
    },
};
use jobbers_test_support::{api::Api, collector::Collector, prometheus::Prometheus};

use super::COUNTED;
use crate::stack::all_tasks;

/// A metric, and the queue and the status it is asked for; no status where the metric has none.
type Row = (&'static str, &'static str, String);

/// A number for each row; rows of 0 are left out.
pub(super) type Counts = BTreeMap<Row, u64>;

/// What is compared: a metric by the label `status`, or whole.
const BY_STATUS: [&Metric; 3] = [&TASKS_PROCESSED, &EXECUTION_TIME, &END_TO_END_LATENCY];
const WHOLE: [&Metric; 5] = [&TASKS_SELECTED, &TIME_IN_QUEUE, &TASKS_RETRIED, &TASKS_DEAD_LETTERED, &TASKS_SUBMITTED];

/// By the API, the little that can be asked for again and again: what the queues took in, and how it ended.
pub(super) async fn ended(api: &Api) -> Counts {
    let mut ended = Counts::new();
    for queue in COUNTED {
        let numbers = api.get(&format!("/queues/{queue}")).await.ok();
        for (status, count) in numbers["tasks"].as_object().unwrap() {
            ended.insert((TASKS_PROCESSED.name, queue, status.clone()), count.as_u64().unwrap());
        }
        ended.insert((QUEUE_ACCEPTED.name, queue, String::new()), numbers["accepted"].as_u64().unwrap());
    }
    ended.retain(|_, count| *count > 0);
    ended
}

/// All from the API: a task's status, how many attempts it took, and what is in the archive.
pub(super) async fn said_by(api: &Api) -> Counts {
    let mut said = ended(api).await;
    let mut add = |metric: &Metric, queue, status: &str, count: u64| {
        *said.entry((metric.name, queue, status.to_owned())).or_default() += count;
    };
    for queue in COUNTED {
        for task in all_tasks(api, &format!("/tasks?queue={queue}")).await {
            let (status, attempts) = (task["status"].as_str().unwrap(), task["attempt"].as_u64().unwrap());
            add(&TASKS_SUBMITTED, queue, "", 1);
            add(&TASKS_SELECTED, queue, "", attempts);
            add(&TIME_IN_QUEUE, queue, "", attempts);
            add(&TASKS_RETRIED, queue, "", attempts - 1);
            add(&END_TO_END_LATENCY, queue, status, 1);
            add(&EXECUTION_TIME, queue, status, 1);
            // A backoff of nothing makes a task ready again at once; here all of them have one.
            add(&EXECUTION_TIME, queue, "scheduled", attempts - 1);
        }
        let letters = api.get(&format!("/dead-letter-queue/stats?queue={queue}")).await.ok();
        add(&TASKS_DEAD_LETTERED, queue, "", letters["total"].as_u64().unwrap());
    }
    said.retain(|_, count| *count > 0);
    said
}

/// By PromQL.
pub(super) async fn scraped_by(prometheus: &Prometheus) -> Counts {
    let mut counts = Counts::new();
    let mut ask = async |metric: &'static Metric, labels: &str| {
        let name = series_of(metric);
        let chosen = COUNTED.join("|");
        for series in prometheus.query(&format!("sum by ({labels}) ({name}{{queue=~\"{chosen}\"}})")).await {
            let queue = COUNTED.into_iter().find(|queue| *queue == series.label("queue")).unwrap();
            let value = series.points.first().map_or(0.0, |(_, value)| *value);
            counts.insert((metric.name, queue, series.label("status").to_owned()), whole(value));
        }
    };
    for metric in BY_STATUS {
        ask(metric, "queue, status").await;
    }
    for metric in WHOLE.into_iter().chain([&QUEUE_ACCEPTED]) {
        ask(metric, "queue").await;
    }
    counts.retain(|_, count| *count > 0);
    counts
}

/// By OTLP.
pub(super) fn received_by(collector: &Collector) -> Counts {
    let mut counts = Counts::new();
    for metric in BY_STATUS.into_iter().chain(WHOLE).chain([&QUEUE_ACCEPTED]) {
        for attributes in collector.series(metric.name) {
            let Some(queue) = COUNTED.into_iter().find(|queue| attributes["queue"] == **queue) else { continue };
            let status = if BY_STATUS.contains(&metric) { attributes["status"].as_str() } else { "" };
            let chosen = [("queue", queue), ("status", status)];
            let chosen = if status.is_empty() { &chosen[..1] } else { &chosen };
            let count = if metric.buckets.is_empty() {
                whole(collector.number(metric.name, chosen))
            } else {
                collector.distribution(metric.name, chosen).count
            };
            counts.insert((metric.name, queue, status.to_owned()), count);
        }
    }
    counts.retain(|_, count| *count > 0);
    counts
}

/// What Prometheus calls the count of a metric.
fn series_of(metric: &Metric) -> String {
    let name = metric.prometheus_name();
    if metric.buckets.is_empty() { name } else { format!("{name}_count") }
}

/// Counters are whole numbers.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small and whole")]
fn whole(value: f64) -> u64 {
    value as u64
}

/// All three beside each other.
pub(super) fn table(said: &Counts, scraped: &Counts, received: &Counts) -> String {
    let mut rows: Vec<&Row> = said.keys().chain(scraped.keys()).chain(received.keys()).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut table = String::from("| metric | queue | status | API | PromQL | OTLP |\n|---|---|---|---:|---:|---:|\n");
    for row @ (metric, queue, status) in rows {
        let of = |counts: &Counts| counts.get(row).copied().unwrap_or_default();
        let (api, promql, otlp) = (of(said), of(scraped), of(received));
        writeln!(table, "| `{metric}` | {queue} | {status} | {api} | {promql} | {otlp} |").unwrap();
    }
    table
}
