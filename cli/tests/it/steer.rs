//! Steering from the terminal: why a task does not run, what a queue allows, and workers that drain.

use serde_json::Value;

use crate::jobbers::Up;

/// The codes that `explain` gives.
fn reasons(up: &Up, id: &str) -> Vec<String> {
    let explained = up.jobbers(&["explain", id, "--json"]).ok().json();
    explained["reasons"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap().to_owned()).collect()
}

fn queue(up: &Up, name: &str) -> Value {
    up.jobbers(&["queues", "show", name, "--json"]).ok().json()
}

#[test]
fn a_task_that_does_not_run_is_explained() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "--delay", "1h", "--id", "later"]).ok();
    let told = up.jobbers(&["explain", "later"]).ok();
    assert!(told.out.starts_with("later is scheduled, in queue default\nits store is sqlite:///"), "{told:?}");
    assert!(told.out.contains("\n- its time lies ahead, until "), "{told:?}");
    assert!(told.out.ends_with("(not_due)\n"), "{told:?}");
    up.jobbers(&["queues", "pause", "default"]).ok();
    for id in ["first", "second"] {
        up.jobbers(&["submit", "echo", "--id", id]).ok();
    }
    let told = up.jobbers(&["explain", "second"]).ok();
    for words in ["second is submitted", "- queue default is paused (queue_paused)", "- 1 task comes before it"] {
        assert!(told.out.contains(words), "{words}: {told:?}");
    }
    assert_eq!(reasons(&up, "first"), ["queue_paused"]);
    up.jobbers(&["queues", "resume", "default"]).ok();
    up.jobbers(&["status", "second", "--wait"]).ok();
    assert_eq!(reasons(&up, "second"), ["over"]);
    up.jobbers(&["explain", "nobody"]).fails(1, "unknown_task");
    up.jobbers(&["explain", "no id"]).ends_with(2);
}

#[test]
fn a_limit_and_who_uses_it_up_is_explained() {
    let up = Up::start();
    up.jobbers(&["queues", "set", "default", "--max-concurrent", "1"]).ok();
    up.jobbers(&["submit", "sleep", "seconds=600", "--id", "holder"]).ok();
    while !up.jobbers(&["status", "holder"]).ok().out.contains("started") {}
    up.jobbers(&["submit", "echo", "--id", "waits"]).ok();
    let told = up.jobbers(&["explain", "waits"]).ok();
    assert!(told.out.contains("1 of at most 1 tasks of queue default run: holder (max_concurrent)"), "{told:?}");
    up.jobbers(&["queues", "set", "default", "--without", "max-concurrent"]).ok();
    assert!(up.jobbers(&["status", "waits", "--wait"]).ok().out.contains("completed"));
}

#[test]
fn limits_by_key_and_by_task_are_set_told_and_taken_away() {
    let up = Up::start();
    let limits = ["--key-parameter", "customer", "--max-concurrent-per-key", "1", "--rate-per-key", "600/1m"];
    let tasks = ["--task-limit", "sleep=3,50/1s", "--task-limit", "echo=2"];
    up.jobbers(&[&["queues", "set", "default"][..], &limits, &tasks].concat()).ok();
    let told = up.jobbers(&["queues", "show", "default"]).ok();
    for words in ["parameter customer", "at most 1 run, 600 in 1m start", "of sleep", "at most 3 run, 50 in 1s start"] {
        assert!(told.out.contains(words), "{words}: {told:?}");
    }
    up.jobbers(&["submit", "sleep", "seconds=600", "--concurrency-key", "acme", "--id", "holder"]).ok();
    while !up.jobbers(&["status", "holder"]).ok().out.contains("started") {}
    up.jobbers(&["submit", "echo", "--concurrency-key", "acme", "--id", "waits"]).ok();
    assert!(up.jobbers(&["status", "waits"]).ok().out.contains("acme"));
    let told = up.jobbers(&["explain", "waits"]).ok();
    assert!(
        told.out.contains("key acme: 1 of at most 1 run in queue default: holder (max_concurrent_per_key)"),
        "{told:?}"
    );
    up.jobbers(&["queues", "set", "default", "--task-limit", "sleep=none", "--without", "max-concurrent-per-key"]).ok();
    let changed = queue(&up, "default");
    assert_eq!(changed["task_limits"], serde_json::json!({"echo": {"max_concurrent": 2}}));
    assert_eq!((&changed["max_concurrent_per_key"], &changed["key_parameter"]), (&Value::Null, &"customer".into()));
    assert!(up.jobbers(&["status", "waits", "--wait"]).ok().out.contains("completed"));
    for bad in ["sleep", "sleep=", "sleep=x", "sleep=0", "sleep=3,1/2/3/4", "no name=3"] {
        up.jobbers(&["queues", "set", "default", "--task-limit", bad]).ends_with(2);
    }
}

#[test]
fn a_setting_that_is_not_named_stays() {
    let up = Up::start();
    let created = [
        "--strict",
        "--max-concurrent",
        "3",
        "--rate",
        "50/1s/100",
        "--max-length",
        "1000",
        "--max-bytes",
        "5000",
        "--patience",
        "2h",
    ];
    up.jobbers(&[&["queues", "create", "mail"][..], &created].concat()).ok();
    up.jobbers(&["queues", "set", "mail", "--max-concurrent", "5", "--keep-for", "1h"]).ok();
    let changed = queue(&up, "mail");
    assert_eq!((&changed["max_concurrent"], &changed["retention"]["age"]), (&5.into(), &"1h".into()), "{changed}");
    assert_eq!(
        (&changed["max_length"], &changed["patience"], &changed["strict"]),
        (&1000.into(), &"2h".into(), &true.into())
    );
    assert_eq!((&changed["rate_limit"]["tasks"], &changed["rate_limit"]["burst"]), (&50.into(), &100.into()));
    up.jobbers(&["queues", "set", "mail", "--without", "rate", "--without", "max-length"]).ok();
    let changed = queue(&up, "mail");
    assert!(changed["rate_limit"].is_null() && changed["max_length"].is_null(), "{changed}");
    assert_eq!((&changed["max_concurrent"], &changed["strict"]), (&5.into(), &true.into()), "{changed}");
    let shown = up.jobbers(&["queues", "show", "mail"]).ok();
    assert!(shown.out.contains("at most 5,000, now 0"), "{shown:?}");
    assert!(shown.out.contains("at most 5") && shown.out.contains("no limit"), "{shown:?}");
}

#[test]
fn a_queue_that_makes_no_sense_is_refused() {
    let up = Up::start();
    up.jobbers(&["queues", "set", "nowhere", "--max-concurrent", "5"]).fails(1, "unknown_queue");
    up.jobbers(&["queues", "create", "mail", "--max-concurrent", "0"]).ends_with(1);
    for rate in ["0/1s", "50", "50/soon", "many/1s", "50/1s/100/7"] {
        up.jobbers(&["queues", "create", "mail", "--rate", rate]).ends_with(2);
    }
    up.jobbers(&["queues", "set", "default", "--without", "everything"]).ends_with(2);
    up.jobbers(&["queues", "set", "default"]).ends_with(2);
    up.jobbers(&["queues", "show", "mail"]).fails(1, "unknown_queue");
}

#[test]
fn a_worker_that_drains_claims_nothing_until_it_is_resumed() {
    let up = Up::start();
    let workers = || up.jobbers(&["workers", "--json"]).ok().json()["workers"].clone();
    while workers().as_array().is_none_or(Vec::is_empty) {}
    let id = workers()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(up.jobbers(&["workers", "drain", &id]).ok().out, format!("{id}\n"));
    while workers()[0]["state"] != "draining" {}
    assert!(up.jobbers(&["workers"]).ok().out.contains("draining"));
    up.jobbers(&["submit", "echo", "--id", "waits"]).ok();
    assert_eq!(reasons(&up, "waits"), ["workers_draining"]);
    assert_eq!(up.jobbers(&["workers", "resume", &id]).ok().out, format!("{id}\n"));
    assert!(up.jobbers(&["status", "waits", "--wait"]).ok().out.contains("completed"));
}

#[test]
fn workers_are_told_by_what_they_have_in_common() {
    let up = Up::start();
    let workers = || up.jobbers(&["workers", "--json"]).ok().json()["workers"].clone();
    while workers().as_array().is_none_or(Vec::is_empty) {}
    let worker = workers()[0].clone();
    let (id, host) = (worker["id"].as_str().unwrap(), worker["host"].as_str().unwrap());
    assert_eq!(up.jobbers(&["workers", "drain", "--host", host, "--role", "default"]).ok().out, format!("{id}\n"));
    let nobody = up.jobbers(&["workers", "drain", "--host", "elsewhere"]).ends_with(1);
    assert!(nobody.out.is_empty() && nobody.err.contains("no worker that is alive fits"), "{nobody:?}");
    assert_eq!(up.jobbers(&["workers", "resume", "--role", "default"]).ok().out, format!("{id}\n"));
    up.jobbers(&["workers", "drain", "nobody"]).fails(1, "unknown_worker");
    up.jobbers(&["workers", "drain"]).ends_with(2);
    up.jobbers(&["workers", "drain", id, "--host", host]).ends_with(2);
}
