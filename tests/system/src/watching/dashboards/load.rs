//! A mixed load: success, retry, failure, time-out, stall, cancel, schedules, dead letters, and a few things that are
//! wrong on purpose.

use jobbers_test_support::{
    api::Api,
    wait::{until, until_none},
};
use nix::sys::signal::Signal;
use reqwest::Method;
use serde_json::{Value, json};

use super::{COUNTED, LAG, alerts, counts, site::Site};

/// How often the mixture is sent. Each wave is over, and seen, before the next: then every counter has a point before
/// its last steps, however seldom a busy machine lets Prometheus scrape.
const WAVES: usize = 4;

/// So many tasks a wave are cancelled while they run.
const UNWANTED: usize = 40;

/// Runs it all, and answers when every task of the counted queues is over.
pub(super) async fn run(site: &Site) {
    let api = &site.api;
    let held = api.submit(&json!({"name": "sleep", "queue": "fragile", "parameters": {"seconds": 300}})).await;
    api.standing(&held, "started").await;
    go_wrong(site).await;
    let pulse = json!({"name": "pulse", "every": "1s", "task": {"name": "echo", "queue": "swept"}});
    api.post("/schedules", &pulse).await.ok();
    api.submit(&json!({"name": "echo", "queue": "stuck", "depends_on": ["twice"]})).await;
    // Until its lease has ended and was taken back; then it learns that it lost the lease, and claims the task again.
    site.fragile.signal(Signal::SIGSTOP);
    // A picture wants a few minutes to show.
    let waves = if std::env::var_os("PICTURES").is_some() { 5 * WAVES } else { WAVES };
    for wave in 0..waves {
        send(api, wave).await;
        boards(api).await;
        workflows(api).await;
        over(api).await;
        seen(site).await;
        tend_dead_letters(api, wave).await;
    }
    api.standing(&held, "submitted").await;
    site.fragile.signal(Signal::SIGCONT);
    until(LAG, "the frozen worker is seen to have lost its lease", async || {
        let lost =
            site.prometheus.number("sum(jobbers_leases_lost_total) and sum(jobbers_tasks_recovered_total)").await;
        lost.filter(|lost| *lost > 0.0)
    })
    .await;
}

/// Troubles, each with an alert of its own.
async fn go_wrong(site: &Site) {
    let api = &site.api;
    for task in [
        json!({"name": "echo", "queue": "stuck"}),
        json!({"name": "echo", "queue": "off"}),
        json!({"name": "nobody.knows", "queue": "swept"}),
    ] {
        api.submit(&task).await;
    }
    alerts::lose_control(site).await;
    let refused = api.post("/tasks", &json!({"name": "echo", "queue": "nowhere"})).await;
    assert_eq!(refused.code(), "unknown_queue");
    let twice = json!({"id": "twice", "name": "echo", "queue": "stuck"});
    for expected in [true, false] {
        assert_eq!(api.post("/tasks", &twice).await.ok()["created"], expected);
    }
    let other = api.post("/tasks", &json!({"id": "twice", "name": "echo", "queue": "stuck", "priority": 9})).await;
    assert_eq!(other.code(), "task_exists");
}

/// Clients of TaskStore: one adds, one takes what it can get, and one changes what is gone.
async fn boards(api: &Api) {
    let adds = vec![json!({"group": "mail", "data": "x"}); 20];
    api.post("/taskstore/update", &json!({"clientid": 1, "adds": adds})).await.ok();
    for group in ["mail", "mail", "none"] {
        api.post("/taskstore/claim", &json!({"clientid": 2, "group": group, "duration": 60_000})).await.ok();
    }
    let refused = api.post("/taskstore/update", &json!({"clientid": 1, "deletes": [1_000_000]})).await.ok();
    assert!(!refused["error"].is_null(), "{refused}");
}

/// A chord that completes, and a run with a node that fails.
async fn workflows(api: &Api) {
    let node = |id: &str, task: &str, after: &[&str]| {
        let parameters = json!({"kind": "fatal"});
        json!({"id": id, "name": task, "queue": "swept", "parameters": parameters, "depends_on": after})
    };
    let chord = [node("a", "echo", &[]), node("b", "echo", &[]), node("collect", "echo", &["a", "b"])];
    let fails = [node("a", "fail", &[]), node("b", "echo", &["a"])];
    for (name, nodes) in [("chord", &chord[..]), ("fails", &fails)] {
        api.post("/workflows", &json!({"name": name, "nodes": nodes})).await.ok();
    }
}

/// One wave of the mixture: 1,250 tasks, and some that the cleaner sweeps.
async fn send(api: &Api, wave: usize) {
    let many = |count: usize, task: Value| vec![task; count];
    let sleep = json!({"name": "sleep", "parameters": {"seconds": 300}, "max_retries": 0});
    let and = |more: Value| {
        let mut task = sleep.clone();
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    let tasks = [
        many(700, json!({"name": "echo", "parameters": {"hello": "world"}})),
        many(200, json!({"name": "echo", "queue": "mail", "parameters": {"to": "somebody"}})),
        many(100, json!({"name": "fail", "parameters": {"times": 3}, "max_retries": 5, "retry_delay": "50ms"})),
        many(60, json!({"name": "fail", "queue": "mail", "parameters": {"kind": "fatal", "message": "no such host"}})),
        many(20, json!({"name": "fail", "parameters": {"kind": "panic"}, "max_retries": 0})),
        many(20, and(json!({"timeout": "100ms"}))),
        many(100, json!({"name": "echo", "delay": "800ms"})),
        many(10, and(json!({"queue": "mail", "max_heartbeat_interval": "200ms", "on_stall": "stall"}))),
        // Not of the counted queues.
        many(5, json!({"name": "echo", "queue": "swept"})),
        many(3, json!({"name": "fail", "queue": "swept", "parameters": {"kind": "fatal"}})),
    ]
    .concat();
    for batch in tasks.chunks(1_000) {
        api.post("/tasks", &json!({"tasks": batch})).await.ok();
    }
    let unwanted: Vec<String> = (0..UNWANTED).map(|number| format!("unwanted-{wave}-{number}")).collect();
    for id in &unwanted {
        api.submit(&and(json!({"id": id, "parameters": {"seconds": 300, "heartbeat_every": 0.05}}))).await;
    }
    // Cancelled while they run, so that their start and their end are the worker's to count. A worker counts a start when
    // the function begins, which may be later than the claim: progress shows it.
    for id in &unwanted {
        until(LAG, "the task has begun", async || (!api.task(id).await["progress"].is_null()).then_some(())).await;
    }
    api.post("/tasks/cancel", &json!({"ids": unwanted})).await.ok();
}

/// Waits until every task of the counted queues is over.
async fn over(api: &Api) {
    until_none(LAG, "every counted task is over", async || {
        let mut left = Vec::new();
        for queue in COUNTED {
            let tasks = api.get(&format!("/queues/{queue}")).await.ok()["tasks"].clone();
            let live = ["waiting", "scheduled", "submitted", "started"];
            if live.iter().any(|status| tasks[*status].as_u64().unwrap_or_default() > 0) {
                left.push(format!("{queue}: {tasks}"));
            }
        }
        left
    })
    .await;
}

/// Waits until Prometheus has seen every accepted task and its outcome.
async fn seen(site: &Site) {
    until_none(LAG, "the wave is seen", async || {
        let (said, scraped) = (counts::ended(&site.api).await, counts::scraped_by(&site.prometheus).await);
        said.into_iter().filter(|(row, count)| scraped.get(row) != Some(count)).map(|row| format!("{row:?}")).collect()
    })
    .await;
}

/// What an operator does with dead letters: sends some again, and deletes others. Those of a queue that is not counted.
async fn tend_dead_letters(api: &Api, wave: usize) {
    let all = "/dead-letter-queue/stats?queue=swept";
    until(LAG, "the wave's dead letters are archived", async || {
        let letters = api.get(all).await.ok()["total"].as_u64().unwrap();
        (letters > 0).then_some(())
    })
    .await;
    if wave.is_multiple_of(2) {
        let again = json!({"queue": "swept", "limit": 2});
        let operation = api.post("/dead-letter-queue/resubmit", &again).await.ok();
        assert!(operation["total"].as_u64().unwrap() > 0, "{operation}");
    } else {
        let old = json!({"queue": "swept", "limit": 1});
        let change = api.send(Method::DELETE, "/dead-letter-queue", &[], Some(&old)).await.unwrap().ok();
        assert_eq!(change["changed"], 1, "{change}");
    }
}
