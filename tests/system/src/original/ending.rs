//! The ends of tasks: cancels, results and failures that race with each other, and uncaught panics.

use std::time::Duration;

use futures_util::future::join_all;
use jobbers_test_support::{program::Program, wait::until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{all_end_as, assert_each_ran_once, submit_many};
use crate::{engines::Kind, stack::Stack};

on_both_engines!(
    w09_a_cancel_is_never_undone_by_what_races_with_it,
    w09_a_cancel_reaches_a_task_whose_worker_is_dead,
    w10_an_end_is_not_overwritten_by_who_comes_late,
    w18_a_queue_with_tasks_is_not_deleted_behind_their_back,
    w19_what_goes_wrong_around_a_function_fails_its_task,
    w23_nothing_is_traced_unless_it_is_asked_for,
    w24_the_result_is_told,
);

async fn w09_a_cancel_is_never_undone_by_what_races_with_it(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _worker = stack.worker().await;
    let ids = submit_many(&manager.api, "t", 300, &json!({"name": "note"})).await;
    let cancels = ids.iter().map(|id| {
        let (api, path) = (&manager.api, format!("/tasks/{id}/cancel"));
        async move { api.post(&path, &json!({})).await }
    });
    let answers = join_all(cancels).await;
    for (id, answer) in ids.iter().zip(answers) {
        let task = manager.api.finished(id).await;
        let ran = stack.effects.count("done").contains_key(id);
        match (answer.status.as_u16(), answer.code()) {
            // It was cancelled before it began.
            (200, _) => assert!(task["status"] == "cancelled" && !ran, "{task}"),
            // It ran; whatever became of the run, the cancel counts.
            (202, _) => assert_eq!(task["status"], "cancelled", "{task}"),
            (409, "task_over") => assert!(task["status"] == "completed" && ran, "{task}"),
            other => panic!("{other:?}: {}", answer.body),
        }
    }
}

async fn w09_a_cancel_reaches_a_task_whose_worker_is_dead(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let mut worker = stack.worker().await;
    let id = manager.api.submit(&json!({"name": "hold"})).await;
    stack.effects.happened("started", &id).await;
    worker.kill().await;
    assert_eq!(manager.api.post(&format!("/tasks/{id}/cancel"), &json!({})).await.status, 202);
    let _other = stack.worker().await;
    stack.release();
    assert_eq!(manager.api.finished(&id).await["status"], "cancelled");
    assert_eq!(stack.effects.count("started")[&id], 1, "it is not begun again only to be cancelled");
}

async fn w10_an_end_is_not_overwritten_by_who_comes_late(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let zombie = stack.worker().await;
    let ids = submit_many(&manager.api, "t", 1, &json!({"name": "stubborn"})).await;
    for id in &ids {
        stack.effects.happened("started", id).await;
    }
    zombie.signal(Signal::SIGSTOP);
    let other = stack.worker().await;
    for id in &ids {
        assert_eq!(stack.effects.happened_times("started", id, 2).await.pid, other.pid());
    }
    stack.release();
    all_end_as(&manager.api, &ids, "completed").await;
    let mut over = Vec::new();
    for id in &ids {
        over.push(manager.api.task(id).await);
    }
    let mark = zombie.mark();
    // Its function ignores its cancellation: it does its work, and learns that it came too late.
    zombie.signal(Signal::SIGCONT);
    for id in &ids {
        assert_eq!(stack.effects.happened_times("done", id, 2).await.pid, zombie.pid());
    }
    zombie.line_after(mark, "lease").await;
    // What it runs next shows that its late settlement lies behind it.
    drop(other);
    let next = manager.api.submit(&json!({"name": "note"})).await;
    all_end_as(&manager.api, &[next], "completed").await;
    for (id, before) in ids.iter().zip(over) {
        assert_eq!(manager.api.task(id).await, before, "nothing changed after it was over");
    }
}

async fn w19_what_goes_wrong_around_a_function_fails_its_task(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let cases: [(Value, &str); 2] = [
        // The parameters can't be read: the function is never called.
        (json!({"name": "sleep", "parameters": {"seconds": "soon"}}), "soon"),
        (json!({"name": "fail", "parameters": {"kind": "panic", "message": "boo"}, "max_retries": 0}), "boo"),
    ];
    // No worker has registered its schemas yet: the manager would refuse the first task by them.
    let mut ids = Vec::new();
    for (task, _) in &cases {
        ids.push(manager.api.submit(task).await);
    }
    // What it asks the program for is not there: it waits for a worker that has it.
    let homeless = manager.api.submit(&json!({"name": "homeless"})).await;
    let worker = stack.worker().await;
    worker.line("gives the task back").await;
    let _stock = Program::start("worker", stack.folder(), &["--engine-url", stack.url()], &[]);
    for (id, (_, words)) in ids.iter().zip(&cases) {
        let over = manager.api.finished(id).await;
        assert_eq!(over["status"], "failed", "{over}");
        assert!(over["errors"][0]["message"].as_str().unwrap().contains(words), "{over}");
    }
    let next = manager.api.submit(&json!({"name": "note"})).await;
    manager.api.finished(&next).await;
    assert_eq!(stack.effects.happened("done", &next).await.pid, worker.pid(), "the worker lives");
    let waiting = manager.api.get(&format!("/tasks/{homeless}")).await.ok();
    assert!(["submitted", "scheduled"].contains(&waiting["status"].as_str().unwrap()), "{waiting}");
    assert_eq!(waiting["errors"], json!([]), "no attempt failed");
}

async fn w23_nothing_is_traced_unless_it_is_asked_for(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let worker = stack.worker().await;
    let ids = submit_many(&manager.api, "t", 100, &json!({"name": "note"})).await;
    all_end_as(&manager.api, &ids, "completed").await;
    for (program, said) in [("manager", manager.program.said()), ("worker", worker.said())] {
        assert!(!said.contains("DEBUG") && !said.contains("TRACE"), "{program}: {said}");
        assert!(said.lines().count() < 50, "{program} says something of each task: {said}");
    }
}

async fn w24_the_result_is_told(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _stock = Program::start("worker", stack.folder(), &["--engine-url", stack.url()], &[]);
    let parameters = json!({"number": 9_007_199_254_740_993_i64, "text": "ä\u{1F980}", "list": [1, 2.5, null]});
    let id = manager.api.submit(&json!({"name": "echo", "parameters": parameters})).await;
    assert_eq!(manager.api.finished(&id).await["result"], parameters);
    until(Duration::from_secs(5), "it is told again", async || {
        (manager.api.task(&id).await["result"] == parameters).then_some(())
    })
    .await;
}

async fn w18_a_queue_with_tasks_is_not_deleted_behind_their_back(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.post("/queues", &json!({"name": "old"})).await.ok();
    let ids = submit_many(&manager.api, "t", 5, &json!({"name": "note", "queue": "old"})).await;
    let delete = async |query: &str| {
        manager.api.send(reqwest::Method::DELETE, &format!("/queues/old{query}"), &[], None).await.unwrap()
    };
    let refused = delete("").await;
    assert_eq!(refused.status, 409, "{}", refused.body);
    for id in &ids {
        assert_eq!(manager.api.task(id).await["status"], "submitted");
    }
    // Moved, they run from where they are.
    manager.api.post("/queues", &json!({"name": "new"})).await.ok();
    assert!(delete("?move_to=new").await.status.is_success());
    assert_eq!(manager.api.get("/queues/old").await.status, 404);
    manager.api.put("/roles/default", &json!({"queues": ["new"]})).await.ok();
    let worker = stack.worker().await;
    all_end_as(&manager.api, &ids, "completed").await;
    assert_each_ran_once(&stack, &ids);
    drop(worker);
    // Said out loud, they go with it, and a new queue of that name has none of them.
    manager.api.post("/queues", &json!({"name": "old"})).await.ok();
    let ids = submit_many(&manager.api, "u", 5, &json!({"name": "note", "queue": "old"})).await;
    assert!(delete("?force=true").await.status.is_success());
    manager.api.post("/queues", &json!({"name": "old"})).await.ok();
    assert_eq!(manager.api.get("/queues/old").await.ok()["tasks"], json!({}));
    assert_eq!(manager.api.get(&format!("/tasks/{}", ids[0])).await.status, 404);
}
