//! The example of a nightly pipeline: a worker that declares its schedule in code, and a manager that fires it.

use std::{fs, path::Path, time::Duration};

use jobbers_test_support::{program::Program, wait::until};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

const LONG: Duration = Duration::from_secs(60);
const SCHEDULE: &str = "/schedules/task%3Anightly";

on_both_engines!(a_nightly_pipeline_declares_its_schedule_and_runs_by_it);

/// The worker of the pipeline.
fn start(stack: &Stack, sales: &Path) -> Program {
    let environment = [("ENGINE_URL", stack.url()), ("SALES", sales.to_str().unwrap())];
    Program::start::<&str>("examples/nightly", stack.folder(), &[], &environment)
}

/// The schedule, once it has this expression.
async fn declared(manager: &Manager, cron: &str) -> Value {
    until(LONG, "the schedule is declared", async || {
        let answer = manager.api.get(SCHEDULE).await;
        (answer.body["cron"] == cron).then_some(answer.body)
    })
    .await
}

/// Waits for the report, and takes it away.
async fn take_report(sales: &Path) -> String {
    let file = sales.join("report.txt");
    let report = until(LONG, "the report is written", async || fs::read_to_string(&file).ok()).await;
    fs::remove_file(&file).unwrap();
    report
}

async fn a_nightly_pipeline_declares_its_schedule_and_runs_by_it(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let sales = stack.folder().join("sales");
    fs::create_dir(&sales).unwrap();
    fs::write(sales.join("north.sales"), "250\n1050\n").unwrap();
    fs::write(sales.join("south.sales"), "300\n").unwrap();
    let mut worker = start(&stack, &sales);
    let schedule = declared(&manager, "0 2 * * *").await;
    assert_eq!((&schedule["time_zone"], &schedule["task"]["name"]), (&json!("Europe/Berlin"), &json!("nightly")));

    let run = manager.api.post(&format!("{SCHEDULE}/run"), &Value::Null).await.ok();
    assert!(run["id"].as_str().unwrap().starts_with("schedule:task:nightly:run:"), "{run}");
    assert_eq!(take_report(&sales).await, "2 shops sold for 1600 cents\n");

    // By its slots, with other settings for a while.
    let each_second = json!({"cron": "* * * * * *", "overlap": "skip", "task": {"name": "nightly"}});
    manager.api.put(SCHEDULE, &each_second).await.ok();
    assert_eq!(take_report(&sales).await, "2 shops sold for 1600 cents\n");
    let paused = manager.api.post(&format!("{SCHEDULE}/pause"), &Value::Null).await.ok();
    assert!(paused["last_slot"].is_string(), "{paused}");

    // What the code declares comes back with the next worker; the rest stays as it was put.
    worker.kill().await;
    let _worker = start(&stack, &sales);
    let again = declared(&manager, "0 2 * * *").await;
    assert_eq!((&again["overlap"], &again["paused"]), (&json!("skip"), &json!(true)));
    assert_eq!(again["created_at"], schedule["created_at"]);
}
