//! Where tasks go, arranged from the terminal: roles, and the rules of routing.

use crate::{
    client::answering,
    jobbers::{Up, run},
};

/// Where a task goes that names no queue.
fn queue_of(up: &Up, submission: &[&str]) -> String {
    let submission = [&["submit"], submission, &["--json"]].concat();
    up.jobbers(&submission).ok().json()["queue"].as_str().unwrap().to_owned()
}

#[test]
fn a_role_is_set_shown_followed_and_deleted() {
    let up = Up::start();
    up.jobbers(&["queues", "create", "mail"]).ok();
    let parked = queue_of(&up, &["echo", "--queue", "mail", "--id", "parked"]);
    assert_eq!(parked, "mail");
    assert_eq!(up.jobbers(&["roles", "set", "default", "default", "mail=3"]).ok().out, "role default set\n");
    assert!(up.jobbers(&["status", "parked", "--wait"]).ok().out.contains("completed"), "its workers follow");
    let shown = up.jobbers(&["roles", "show", "default"]).ok().out;
    assert!(shown.contains("weighted") && shown.contains("default=1, mail=3"), "{shown}");
    up.jobbers(&["roles", "set", "web", "mail", "default"]).ok();
    let listed = up.jobbers(&["roles"]).ok().out;
    let web = listed.lines().find(|line| line.starts_with("web")).unwrap();
    assert!(web.contains("strict") && web.ends_with("mail, default"), "{listed}");
    assert!(up.jobbers(&["roles", "refresh", "web", "--json"]).ok().json()["refresh_tag"].is_string());
    up.jobbers(&["roles", "delete", "web"]).fails(2, "--yes");
    up.jobbers(&["roles", "delete", "web", "--yes"]).ok();
    up.jobbers(&["roles", "show", "web"]).fails(1, "unknown_role");
}

#[test]
fn a_role_with_a_pattern_shows_what_was_written_and_what_it_serves() {
    let up = Up::start();
    up.jobbers(&["roles", "set", "default", "default", "tenant-*"]).ok();
    up.jobbers(&["queues", "create", "tenant-7"]).ok();
    up.jobbers(&["submit", "echo", "--queue", "tenant-7", "--wait"]).ok();
    let shown = up.jobbers(&["roles", "show", "default"]).ok().out;
    assert!(shown.contains("default, tenant-*") && shown.contains("default, tenant-7"), "{shown}");
    let listed = up.jobbers(&["roles"]).ok().out;
    assert!(listed.contains("default, tenant-*") && !listed.contains("tenant-7"), "{listed}");
    up.jobbers(&["roles", "set", "default", "default", "tenant-**"]).fails(2, "tenant-**");
    up.jobbers(&["queues", "delete", "tenant-7", "--yes"]).ok();
}

#[test]
fn a_role_that_workers_serve_is_deleted_by_force_and_served_again_when_it_is_back() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "--wait"]).ok();
    up.jobbers(&["roles", "delete", "default", "--yes"]).fails(1, "role_in_use");
    assert_eq!(up.jobbers(&["roles", "delete", "default", "--yes", "--force"]).ok().out, "role default deleted\n");
    up.jobbers(&["submit", "echo", "--id", "parked"]).ok();
    up.jobbers(&["roles", "set", "default", "default"]).ok();
    assert!(up.jobbers(&["status", "parked", "--wait"]).ok().out.contains("completed"));
}

#[test]
fn a_role_of_what_does_not_exist_is_refused() {
    let up = Up::start();
    up.jobbers(&["roles", "set", "web", "nowhere"]).fails(1, "unknown_queue");
    up.jobbers(&["roles", "set", "web"]).ends_with(2);
    up.jobbers(&["roles", "set", "web", "default=0"]).ends_with(2);
    up.jobbers(&["roles", "set", "web", "default=1000001"]).ends_with(1);
}

#[test]
fn rules_are_set_shown_followed_and_deleted() {
    let up = Up::start();
    assert!(up.jobbers(&["routes"]).ok().err.contains("no rules"));
    for queue in ["gpu", "canary"] {
        up.jobbers(&["queues", "create", queue]).ok();
    }
    up.jobbers(&["routes", "set", "echo@2-5", "gpu", "--forbid-explicit"]).ok();
    up.jobbers(&["routes", "set", "echo", "default", "canary", "--by", "customer"]).ok();
    up.jobbers(&["routes", "set", "sleep", "gpu=9", "canary"]).ok();
    assert_eq!(queue_of(&up, &["echo", "--task-version", "3"]), "gpu");
    up.jobbers(&["submit", "echo", "--task-version", "3", "--queue", "canary"]).fails(1, "queue_forbidden");
    let listed = up.jobbers(&["routes"]).ok().out;
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [
        &["echo", "*", "default,", "canary", "by", "customer", "allow"][..],
        &["echo", "2-5", "gpu", "forbid"],
        &["sleep", "*", "gpu=9,", "canary=1", "allow"],
    ] {
        assert!(rows.iter().any(|shown| shown == row), "{row:?} in {listed}");
    }
    up.jobbers(&["routes", "set", "echo@4-9", "canary"]).fails(1, "rules_overlap");
    for told in ["rule of echo@2-5 deleted\n", "rule of echo@2-5 did not exist\n"] {
        assert_eq!(up.jobbers(&["routes", "delete", "echo@2-5"]).ok().out, told);
    }
    up.jobbers(&["routes", "set", "echo", "default"]).ok();
    assert_eq!(queue_of(&up, &["echo", "--task-version", "3"]), "default");
    up.jobbers(&["routes", "set", "echo", "gpu=2", "canary", "--round-robin"]).fails(2, "weights");
}

#[test]
fn an_answer_that_names_another_address_is_no_manager_s() {
    let elsewhere = "307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/dead-letter-queue".to_owned();
    let url = answering(vec![Some((elsewhere, String::new()))]);
    run(&["dlq", "list", "--manager", &url]).fails(69, "not as a manager does: it answers 307");
}
