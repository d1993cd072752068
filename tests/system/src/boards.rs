//! Boards as an operator sees them, with real processes.

use std::time::Duration;

use jobbers_test_support::wait::until;
use reqwest::Method;

use crate::{
    engines::Kind,
    stack::Stack,
    telemetry::{scrape, value},
};

on_both_engines!(the_gauge_of_masstasker_follows_its_groups);

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
