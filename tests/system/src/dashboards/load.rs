//! A mixed load: success, retry, failure, stall, cancel, schedules, and a few things that are wrong on purpose.

use std::time::Duration;

use jobbers_test_support::{api::Api, program::Program, prometheus::Prometheus, wait::until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{COUNTED, LAG};

/// How often the mixture is sent, a few scrapes apart.
const WAVES: usize = 4;

/// Queues and roles: two that are served, one that the cleaner sweeps, one nobody serves, one that is paused, and one for
/// a worker that will be frozen.
pub(super) async fn arrange(api: &Api) {
    for queue in [
        json!({"name": "mail", "max_per_worker": 50}),
        json!({"name": "swept"}),
        json!({"name": "stuck"}),
        json!({"name": "off", "paused": true}),
        json!({"name": "fragile"}),
    ] {
        api.post("/queues", &queue).await.ok();
    }
    api.put("/roles/default", &json!({"queues": ["default", "mail", "swept"]})).await.ok();
    api.put("/roles/fragile", &json!({"queues": ["fragile"]})).await.ok();
}

/// Runs it all, and answers when every task of the counted queues is over.
pub(super) async fn run(api: &Api, fragile: &Program, prometheus: &Prometheus) {
    let held = api.submit(&json!({"name": "sleep", "queue": "fragile", "parameters": {"seconds": 120}})).await;
    api.standing(&held, "started").await;
    go_wrong(api).await;
    // Until its lease has ended and was taken back; then it learns that it has lost it, and takes the task anew.
    fragile.signal(Signal::SIGSTOP);
    for wave in 0..WAVES {
        send(api, wave).await;
        seen(api, prometheus).await;
    }
    api.standing(&held, "submitted").await;
    fragile.signal(Signal::SIGCONT);
    until(LAG, "the frozen worker is seen to have lost its lease", async || {
        let lost = prometheus.number("sum(jobbers_leases_lost_total) and sum(jobbers_tasks_recovered_total)").await;
        lost.filter(|lost| *lost > 0.0)
    })
    .await;
    over(api).await;
}

/// Things that nobody wants, each with an alert of its own.
async fn go_wrong(api: &Api) {
    for task in [
        json!({"name": "echo", "queue": "stuck"}),
        json!({"name": "echo", "queue": "off"}),
        json!({"name": "nobody.knows", "queue": "swept"}),
        // Silent, and does not end.
        json!({"name": "sleep", "queue": "swept", "parameters": {"seconds": 90, "ignore_cancel": true},
               "max_heartbeat_interval": "200ms"}),
    ] {
        api.submit(&task).await;
    }
    let refused = api.post("/tasks", &json!({"name": "echo", "queue": "nowhere"})).await;
    assert_eq!(refused.code(), "unknown_queue");
    let twice = json!({"id": "twice", "name": "echo"});
    for expected in [true, false] {
        assert_eq!(api.post("/tasks", &twice).await.ok()["created"], expected);
    }
    let other = api.post("/tasks", &json!({"id": "twice", "name": "echo", "priority": 9})).await;
    assert_eq!(other.code(), "task_exists");
}

/// One wave of the mixture.
async fn send(api: &Api, wave: usize) {
    let many = |count: usize, task: Value| vec![task; count];
    let tasks = [
        many(30, json!({"name": "echo", "parameters": {"hello": "world"}})),
        many(10, json!({"name": "echo", "queue": "mail", "parameters": {"to": "somebody"}})),
        many(5, json!({"name": "echo", "queue": "swept"})),
        many(8, json!({"name": "fail", "parameters": {"times": 3}, "max_retries": 5, "retry_delay": "50ms"})),
        many(4, json!({"name": "fail", "queue": "mail", "parameters": {"kind": "fatal", "message": "no such host"}})),
        many(2, json!({"name": "fail", "parameters": {"kind": "panic"}, "max_retries": 0})),
        many(2, json!({"name": "sleep", "parameters": {"seconds": 60}, "timeout": "100ms", "max_retries": 0})),
        many(3, json!({"name": "echo", "delay": "800ms"})),
        many(
            1,
            json!({"name": "sleep", "queue": "mail", "parameters": {"seconds": 60}, "max_retries": 0,
                       "max_heartbeat_interval": "200ms", "on_stall": "stall"}),
        ),
    ]
    .concat();
    api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    let unwanted = format!("unwanted-{wave}");
    api.submit(&json!({"id": unwanted, "name": "sleep", "parameters": {"seconds": 60}})).await;
    // Cancelled while it runs, so that its end is the worker's to count.
    api.standing(&unwanted, "started").await;
    api.post(&format!("/tasks/{unwanted}/cancel"), &json!({})).await.ok();
}

/// Waits until Prometheus has seen what the queues took in, so that the next wave is a later point of every line.
async fn seen(api: &Api, prometheus: &Prometheus) {
    let accepted = api.get("/queues/default").await.ok()["accepted"].as_f64();
    until(LAG, "the wave is seen", async || {
        let seen = prometheus.number("max(jobbers_queue_accepted_total{queue=\"default\"})").await;
        (seen == accepted).then_some(())
    })
    .await;
}

/// Waits until every task of the counted queues is over.
async fn over(api: &Api) {
    until(Duration::from_secs(60), "every counted task is over", async || {
        for queue in COUNTED {
            let tasks = api.get(&format!("/queues/{queue}")).await.ok()["tasks"].clone();
            let live = ["waiting", "scheduled", "submitted", "started"];
            if live.iter().any(|status| tasks[*status].as_u64().unwrap_or_default() > 0) {
                return None;
            }
        }
        Some(())
    })
    .await;
}
