//! A task that fails for good is kept, whichever process dies between its end and its archiving. More of it: `dead_letters.rs`.

use std::time::Duration;

use jobbers_test_support::{api::Api, wait::until};
use serde_json::json;

use super::{all_end_as, submit_many};
use crate::{engines::Kind, stack::Stack};

on_both_engines!(w07_an_end_and_its_dead_letter_are_one_step,);

/// Waits until the archive holds `count` dead letters that are not handled yet.
async fn archived(api: &Api, count: usize) {
    until(Duration::from_secs(60), &format!("{count} dead letters are archived"), async || {
        let answer = api.get("/dead-letter-queue/stats").await;
        (answer.status.is_success() && answer.body["total"] == json!(count)).then_some(())
    })
    .await;
}

async fn w07_an_end_and_its_dead_letter_are_one_step(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager().await;
    let mut worker = stack.worker().await;
    let task = json!({"name": "fail-until-open", "dead_letter": "save", "max_retries": 0, "max_crashes": 100});
    let mut ids = Vec::new();
    for round in 0..5 {
        ids.extend(submit_many(&manager.api, &format!("r{round}-"), 400, &task).await);
        // Both die somewhere between the first end of a round and the last.
        let failed = async || manager.api.get("/queues/default").await.ok()["tasks"]["failed"].as_u64().unwrap_or(0);
        until(Duration::from_secs(30), "some have failed", async || (failed().await > round * 400).then_some(())).await;
        worker.kill().await;
        manager.program.kill().await;
        (manager, worker) = (stack.manager().await, stack.worker().await);
    }
    all_end_as(&manager.api, &ids, "failed").await;
    archived(&manager.api, ids.len()).await;
}
