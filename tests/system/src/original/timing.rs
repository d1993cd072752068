//! Tasks that become due: promoted once, whichever process does it and whichever dies while doing so.

use jobbers_test_support::program::Program;
use serde_json::json;

use super::{all_end_as, assert_each_ran_once, submit_many};
use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

on_both_engines!(
    w11_a_task_that_is_over_is_never_dispatched_again,
    w12_a_due_task_outlives_the_managers_that_should_bring_it,
    w14_three_managers_bring_each_due_task_once,
);

async fn w11_a_task_that_is_over_is_never_dispatched_again(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let mut ids = submit_many(&manager.api, "early", 100, &json!({"name": "note", "delay": "300ms"})).await;
    all_end_as(&manager.api, &ids, "completed").await;
    // Sweeps of a second manager and of the cleaner pass over them, and over one more that is due later: when that one
    // is done, they have.
    let _second = stack.manager().await;
    let mut cleaner =
        Program::start("cleaner", stack.folder(), &["--engine-url", stack.url(), "--older-than", "1h"], &[]);
    assert!(cleaner.exit().await.success(), "{}", cleaner.said());
    let late = submit_many(&manager.api, "late", 1, &json!({"name": "note", "delay": "1500ms"})).await;
    all_end_as(&manager.api, &late, "completed").await;
    ids.extend(late);
    assert_each_ran_once(&stack, &ids);
    assert_eq!(manager.api.get("/queues/default").await.ok()["tasks"], json!({"completed": ids.len()}));
}

async fn w12_a_due_task_outlives_the_managers_that_should_bring_it(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager().await;
    // No other worker is there whose claims would promote them.
    let ids = submit_many(&manager.api, "t", 500, &json!({"name": "note", "delay": "400ms"})).await;
    for _ in 0..4 {
        // As soon as the first ones are brought, it dies, most likely amid the others.
        manager.api.standing(&ids[0], "submitted").await;
        manager.program.kill().await;
        manager = stack.manager().await;
    }
    let _worker = stack.worker().await;
    all_end_as(&manager.api, &ids, "completed").await;
    assert_each_ran_once(&stack, &ids);
}

async fn w14_three_managers_bring_each_due_task_once(kind: Kind) {
    let stack = Stack::on(kind).await;
    let managers: [Manager; 3] = [stack.manager().await, stack.manager().await, stack.manager().await];
    let _workers = [stack.worker().await, stack.worker().await, stack.worker().await];
    let mut ids = Vec::new();
    for (n, manager) in managers.iter().enumerate() {
        let task = json!({"name": "note", "delay": "500ms"});
        ids.extend(submit_many(&manager.api, &format!("m{n}-"), 300, &task).await);
    }
    all_end_as(&managers[0].api, &ids, "completed").await;
    assert_each_ran_once(&stack, &ids);
}
