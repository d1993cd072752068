//! Dashboards and alerts against a real Prometheus that scrapes real processes under a real, mixed load: every panel has
//! data, every rule can be evaluated, and what PromQL counts is what the API says.

mod load;
mod panels;
mod pictures;

use std::{collections::BTreeMap, net::SocketAddr, path::Path, time::Duration};

use jobbers_test_support::{api::Api, program::Program, prometheus::Prometheus, wait::until};
use serde_json::Value;

use crate::{engines::Kind, stack::Stack};

on_both_engines!(every_panel_and_rule_has_data_and_the_counts_are_the_api_s);

/// How long Prometheus may lag behind the processes: scrapes, and the manager's look at the queues, on a busy machine.
const LAG: Duration = Duration::from_secs(30);

/// Queues whose tasks all end in the processes that are counted; in the others something is wrong on purpose.
const COUNTED: [&str; 2] = ["default", "mail"];

/// Panels that may have no data in this run, by a word of their title or their expression, and why.
const WITHOUT_DATA: &[(&str, &str)] = &[
    ("Duration of shutdowns", "a worker that has ended is not scraped any more; its last points leave by OTLP"),
    ("Overdue heartbeats", "the series are there only between a silence and its end, which a scrape may miss"),
    ("dead_letter", "nothing is sent again or deleted in this run, and letters are counted every ten seconds only"),
];

/// Alerts whose trouble this run brings about. The others are seen to fire in the rules' own tests.
const PROVOKED: [&str; 7] = [
    "JobbersQueueNotServed",
    "JobbersQueuePausedWithWork",
    "JobbersTasksFail",
    "JobbersRetryStorm",
    "JobbersTasksStall",
    "JobbersTasksUnknown",
    "JobbersLeasesLost",
];

/// The processes of a small installation, all of them scraped.
struct Site {
    api: Api,
    /// Ended with the site.
    _programs: Vec<Program>,
    /// A worker of a role of its own, to be frozen.
    fragile: Program,
    prometheus: Prometheus,
}

/// Where a program serves `/metrics`.
async fn metrics_of(program: &Program) -> SocketAddr {
    let line = program.line("serving /metrics").await;
    let words = line.split(|c: char| c.is_whitespace() || matches!(c, '=' | '/' | '"'));
    words.filter_map(|word| word.parse().ok()).next().unwrap_or_else(|| panic!("no address in {line:?}"))
}

async fn worker(stack: &Stack, role: &str) -> Program {
    let environment = [("ENGINE_URL", stack.url()), ("WORKER_ROLE", role), ("METRICS_LISTEN", "127.0.0.1:0")];
    let worker = Program::start::<&str>("worker", stack.folder(), &[], &environment);
    worker.line("worker started").await;
    worker
}

/// Starts a manager, three workers and a cleaner, and a Prometheus that has seen all of them.
async fn site(stack: &Stack) -> Site {
    let manager = stack.manager().await;
    load::arrange(&manager.api).await;
    let workers = [worker(stack, "default").await, worker(stack, "default").await];
    let fragile = worker(stack, "fragile").await;
    let chores = ["--engine-url", stack.url(), "--queue", "swept", "--older-than", "500ms", "--watch", "1s"];
    let cleaner = Program::start("cleaner", stack.folder(), &chores, &[("METRICS_LISTEN", "127.0.0.1:0")]);
    let mut targets = vec![manager.address, metrics_of(&fragile).await, metrics_of(&cleaner).await];
    for worker in &workers {
        targets.push(metrics_of(worker).await);
    }
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboards/alerts/jobbers.rules.yaml");
    let prometheus = Prometheus::start(&targets, &rules).await;
    // Counters begin at 0: what is not seen there can't be seen to grow.
    until(LAG, "all processes are scraped", async || (prometheus.number("sum(up)").await == Some(5.0)).then_some(()))
        .await;
    let [first, second] = workers;
    Site { api: manager.api, _programs: vec![manager.program, first, second, cleaner], fragile, prometheus }
}

async fn every_panel_and_rule_has_data_and_the_counts_are_the_api_s(kind: Kind) {
    let begun = std::time::SystemTime::now();
    let stack = Stack::on(kind).await;
    let site = site(&stack).await;
    load::run(&site.api, &site.fragile, &site.prometheus).await;

    let said = said_by_the_api(&site.api).await;
    until(LAG, &format!("Prometheus counts what the API says: {said:?}"), async || {
        (counted(&site.prometheus).await == said).then_some(())
    })
    .await;
    every_rule_is_evaluated(&site.prometheus, begun).await;

    if kind == Kind::Redis {
        pictures::draw(&site.prometheus, begun).await;
    }
    let mut empty = Vec::new();
    for panel in panels::all() {
        let excused = WITHOUT_DATA.iter().any(|(word, _)| panel.place.contains(word) || panel.expr.contains(word));
        let series = site.prometheus.range(&panel.expr, begun).await;
        if series.iter().all(|series| series.points.is_empty()) && !excused {
            empty.push(format!("{}: {}", panel.place, panel.expr));
        }
    }
    assert!(empty.is_empty(), "without data:\n{}", empty.join("\n"));
}

async fn every_rule_is_evaluated(prometheus: &Prometheus, begun: std::time::SystemTime) {
    until(LAG, "every alert that was provoked is pending or fires", async || {
        let alerts = prometheus.range("count by (alertname) (ALERTS)", begun).await;
        let seen = |name: &&str| alerts.iter().any(|alert| alert.label("alertname") == *name);
        PROVOKED.iter().all(seen).then_some(())
    })
    .await;
    let groups = prometheus.api("rules", &[]).await;
    let rules: Vec<&Value> =
        groups["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap()).collect();
    assert!(rules.len() > 20, "only {} rules were read", rules.len());
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{}: {}", rule["name"], rule["lastError"]);
    }
}

/// What is compared, by a word for it.
type Counts = BTreeMap<String, u64>;

/// The numbers by the manager's API.
async fn said_by_the_api(api: &Api) -> Counts {
    let mut said = Counts::new();
    for queue in COUNTED {
        let numbers = api.get(&format!("/queues/{queue}")).await.ok();
        for (status, count) in numbers["tasks"].as_object().unwrap() {
            *said.entry(format!("processed {status}")).or_default() += count.as_u64().unwrap();
        }
        said.insert(format!("accepted {queue}"), numbers["accepted"].as_u64().unwrap());
        let tasks = api.get(&format!("/tasks?queue={queue}&limit=1000")).await.ok();
        for task in tasks["tasks"].as_array().unwrap() {
            let attempts = task["attempt"].as_u64().unwrap();
            for what in ["selected", "waits", "runs"] {
                *said.entry(what.to_owned()).or_default() += attempts;
            }
            *said.entry("retried".to_owned()).or_default() += attempts - 1;
            *said.entry("lived".to_owned()).or_default() += 1;
        }
    }
    said.retain(|_, count| *count > 0);
    said
}

/// The same by PromQL.
async fn counted(prometheus: &Prometheus) -> Counts {
    let queues = COUNTED.join("|");
    let mut counted = Counts::new();
    let mut ask = async |word: &str, label: &str, expr: String| {
        for series in prometheus.query(&expr).await {
            let word = format!("{word} {}", series.label(label));
            let value = series.points.first().map_or(0.0, |(_, value)| *value);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small and whole")]
            counted.insert(word.trim_end().to_owned(), value as u64);
        }
    };
    let of = |metric: &str| format!("sum({metric}{{queue=~\"{queues}\"}})");
    ask("processed", "status", format!("sum by (status) (tasks_processed_total{{queue=~\"{queues}\"}})")).await;
    ask("accepted", "queue", format!("max by (queue) (jobbers_queue_accepted_total{{queue=~\"{queues}\"}})")).await;
    ask("selected", "", of("tasks_selected_total")).await;
    ask("waits", "", of("time_in_queue_milliseconds_count")).await;
    ask("runs", "", of("execution_time_milliseconds_count")).await;
    ask("lived", "", of("end_to_end_latency_milliseconds_count")).await;
    ask("retried", "", of("tasks_retried_total")).await;
    counted.retain(|_, count| *count > 0);
    counted
}
