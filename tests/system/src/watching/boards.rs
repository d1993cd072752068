//! Boards as an operator sees them, with real processes.

use std::time::Duration;

use jobbers_test_support::{program::Program, wait::until};
use reqwest::Method;
use serde_json::json;

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
    watching::telemetry::{scrape, value},
};

on_both_engines!(the_gauge_of_masstasker_follows_its_groups, a_cleaner_deletes_what_is_past_its_rule_and_no_held_task);

/// How long anything may take on a busy machine. A bound.
const LAG: Duration = Duration::from_secs(60);

async fn the_gauge_of_masstasker_follows_its_groups(kind: Kind) {
    let stack = Stack::on(kind).await;
    let front = [("MASSTASKER_LISTEN_RPC", "127.0.0.1:0"), ("MASSTASKER_BOOTSTRAP_TASK_GROUP", "boot \"strap\"")];
    let manager = stack.manager_with(&front).await;
    let shows = async |series: &str, tasks: f64| {
        until(LAG, series, async || {
            let lines = scrape(manager.address).await;
            (value(&lines, series) == Some(tasks)).then_some(())
        })
        .await;
    };
    let gauge = r#"masstasker_num_tasks{group="boot \"strap\""}"#;
    shows(gauge, 1.0).await;
    shows(r#"jobbers_board_tasks{board="masstasker",group="boot \"strap\""}"#, 1.0).await;
    shows(r#"jobbers_board_revisions_total{board="masstasker"}"#, 1.0).await;
    shows(r#"jobbers_board_calls_total{board="masstasker",call="commit",outcome="done"}"#, 1.0).await;
    let group = "/boards/masstasker/tasks?group=boot%20%22strap%22";
    let removed = manager.api.send(Method::DELETE, group, &[], None).await.unwrap().ok();
    assert_eq!(removed["removed"], 1, "{removed}");
    shows(gauge, 0.0).await;
}

/// A client of TaskStore adds three tasks and holds one; a cleaner works beside it.
async fn a_cleaner_deletes_what_is_past_its_rule_and_no_held_task(kind: Kind) {
    let stack = Stack::on(kind).await;
    let Manager { api, program: _manager, .. } = stack.manager().await;
    let adds = vec![json!({"group": "dead", "data": "x"}); 3];
    api.post("/taskstore/update", &json!({"clientid": 1, "adds": adds})).await.ok();
    let claim = json!({"clientid": 2, "group": "dead", "duration": 3_600_000});
    let held = api.post("/taskstore/claim", &claim).await.ok()["tasks"][0]["id"].clone();

    let asked =
        ["--engine-url", stack.url(), "--board", "taskstore", "--group", "dead", "--older-than", "0s", "--json"];
    let mut counts = Program::start("cleaner", stack.folder(), &[&asked[..], &["--dry-run"]].concat(), &[]);
    counts.line("\"removed\":2").await;
    assert!(counts.exit().await.success());
    let file = stack.folder().join("cleaner.toml");
    std::fs::write(&file, "[[boards]]\nboard = \"taskstore\"\nmax_age = \"0s\"\n").unwrap();
    let watch = ["--engine-url", stack.url(), "--config", file.to_str().unwrap(), "--watch", "1s", "--json"];
    let cleaner = Program::start("cleaner", stack.folder(), &watch, &[]);
    cleaner.line("\"removed\":2").await;
    let left = api.get("/boards/taskstore/tasks?group=dead").await.ok();
    assert_eq!((&left["total"], &left["tasks"][0]["revision"]), (&json!(1), &held), "{left}");
}
