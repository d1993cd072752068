//! Dashboards and alerts against a real Prometheus that scrapes real processes under a real, mixed load of 5,000 tasks:
//! every panel has data, every rule can be evaluated, and what PromQL counts, and what a collector was sent, is what the
//! API says.
//!
//! Nothing here rests on when a scrape happens: what is to be seen as a step is sent when what came before was seen, and
//! what is looked for is asked for until it is there.

mod alerts;
mod counts;
mod load;
mod panels;
mod pictures;
mod rules;
mod site;

use std::time::{Duration, SystemTime};

use jobbers_common::metrics::catalogue::WORKER_DRAIN_DURATION;
use jobbers_test_support::{
    prometheus::Prometheus,
    wait::{until, until_none},
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use self::site::{Plan, Site};
use crate::{engines::Kind, stack::Stack};

on_both_engines!(every_panel_and_rule_has_data_and_the_counts_are_the_api_s);

/// How long anything may take on a busy machine: scrapes, the manager's look at the queues, a wave of tasks. A bound.
const LAG: Duration = Duration::from_secs(120);

/// Queues whose tasks all end in the processes that are counted; in the others something is wrong on purpose.
const COUNTED: [&str; 2] = ["default", "mail"];

/// Metrics that Prometheus can't have in this run, and why. A panel that asks for one shows another beside it.
const NOT_SCRAPED: &[(&str, &str)] = &[
    (
        "jobbers_worker_drain_duration_seconds",
        "a worker that has ended is not scraped any more; its last points leave by OTLP",
    ),
    ("jobbers_tls_certificate_remaining_seconds", "its manager does not speak TLS; that of the alert does"),
];

/// Alerts whose trouble this run brings about.
const PROVOKED: [&str; 10] = [
    "JobbersQueueNotServed",
    "JobbersQueuePausedWithWork",
    "JobbersTasksFail",
    "JobbersRetryStorm",
    "JobbersTasksStall",
    "JobbersHeartbeatsOverdue",
    "JobbersCancelsIgnored",
    "JobbersTasksUnknown",
    "JobbersLeasesLost",
    "JobbersTasksDeadLettered",
];

async fn every_panel_and_rule_has_data_and_the_counts_are_the_api_s(kind: Kind) {
    let begun = SystemTime::now();
    let stack = Stack::on(kind).await;
    let mut site = Site::on(&stack, &Plan { rules: rules::shipped(), manager_config: None }).await;
    load::run(&site).await;

    every_count_is_the_api_s(&site).await;
    every_rule_is_evaluated(&site.prometheus, begun).await;
    every_panel_has_data(&site.prometheus, begun).await;
    if kind == Kind::Redis {
        pictures::draw(&site.prometheus, begun).await;
    }
    stack.release();
    a_drain_is_seen_while_it_lasts(&site).await;
    what_a_worker_says_last_comes_by_otlp(&mut site).await;
}

/// By the manager: the worker with the tasks that can't be stopped never gets to its end.
async fn a_drain_is_seen_while_it_lasts(site: &Site) {
    site.api.post("/workers/drain", &json!({"role": "stubborn"})).await.ok();
    until(LAG, "Prometheus sees the drain", async || {
        let age = "max(jobbers_workers_drain_age_seconds{role=\"stubborn\"})";
        site.prometheus.number(age).await.filter(|age| *age > 0.0)
    })
    .await;
    let others = "max(jobbers_workers_drain_age_seconds{role!=\"stubborn\"})";
    assert_eq!(site.prometheus.number(others).await, Some(0.0));
}

/// A worker that has ended can't be scraped.
async fn what_a_worker_says_last_comes_by_otlp(site: &mut Site) {
    site.stubborn.signal(Signal::SIGTERM);
    assert!(site.stubborn.exit().await.success());
    let drained = [("role", "stubborn"), ("outcome", "done")];
    assert_eq!(site.collector.distribution(WORKER_DRAIN_DURATION.name, &drained).count, 1);
}

async fn every_count_is_the_api_s(site: &Site) {
    until_none(LAG, "all count the same", async || {
        let said = counts::said_by(&site.api).await;
        let scraped = counts::scraped_by(&site.prometheus).await;
        let received = counts::received_by(&site.collector);
        let table = counts::table(&said, &scraped, &received);
        if said == scraped && said == received {
            println!("{table}");
            return Vec::new();
        }
        vec![table]
    })
    .await;
}

async fn every_rule_is_evaluated(prometheus: &Prometheus, begun: SystemTime) {
    until_none(LAG, "every alert that was provoked is pending or fires", async || {
        let alerts = prometheus.range("count by (alertname) (ALERTS)", begun).await;
        let seen = |name: &&str| alerts.iter().any(|alert| alert.label("alertname") == *name);
        PROVOKED.iter().filter(|name| !seen(name)).map(|name| (*name).to_owned()).collect()
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

async fn every_panel_has_data(prometheus: &Prometheus, begun: SystemTime) {
    let excused = |panel: &panels::Panel| NOT_SCRAPED.iter().any(|(metric, _)| panel.expr.contains(metric));
    let (unasked, mut asked): (Vec<_>, Vec<_>) = panels::all().into_iter().partition(excused);
    for panel in unasked {
        assert!(asked.iter().any(|other| other.place == panel.place), "{} shows nothing", panel.place);
    }
    until_none(LAG, "every panel has data", async || {
        let mut empty = Vec::new();
        for panel in std::mem::take(&mut asked) {
            let series = prometheus.range(&panel.expr, begun).await;
            if series.iter().all(|series| series.points.is_empty()) {
                empty.push(panel);
            }
        }
        asked = empty;
        asked.iter().map(|panel| format!("{}: {}", panel.place, panel.expr)).collect()
    })
    .await;
}
