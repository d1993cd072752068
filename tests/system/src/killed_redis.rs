//! Redis is killed under load and comes back with what it wrote down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_test_support::{api::Api, redis_server::Persistence};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::stack::Stack;

const CRASHES: usize = 3;
const CLIENTS: usize = 4;
const BATCH: usize = 20;

/// How soon after the server's return a new task has been run.
const RESUMED_WITHIN: Duration = Duration::from_secs(10);

/// Submits batch after batch until a stop request, and reports each acknowledged one.
async fn submit_on_and_on(api: Api, client: usize, stop: Arc<AtomicBool>, acknowledged: UnboundedSender<String>) {
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let tasks: Vec<Value> =
            (0..BATCH).map(|task| json!({"id": format!("c{client}-b{n}-{task}"), "name": "note"})).collect();
        let answer = api.post("/tasks", &json!({"tasks": tasks})).await;
        if answer.status.is_success() {
            acknowledged.send(format!("c{client}-b{n}")).unwrap();
        } else {
            assert_eq!(answer.status, 503, "{}", answer.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_and_workers_resume_within_seconds() {
    let mut stack = Stack::on_redis(Persistence::EverySecond).await;
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let stop = Arc::new(AtomicBool::new(false));
    let (acknowledge, mut acknowledged) = unbounded_channel();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            tokio::spawn(submit_on_and_on(manager.api.clone(), client, Arc::clone(&stop), acknowledge.clone()))
        })
        .collect();
    drop(acknowledge);
    let mut batches = Vec::new();
    for crash in 0..CRASHES {
        for _ in 0..10 {
            batches.push(acknowledged.recv().await.unwrap());
        }
        stack.crash_store().await;
        let back_at = Instant::now();
        // The first batch after the crash shows that the manager is back.
        while acknowledged.try_recv().map(|batch| batches.push(batch)).is_ok() {}
        batches.push(acknowledged.recv().await.unwrap());
        let probe = manager.api.submit(&json!({"id": format!("probe-{crash}"), "name": "note", "priority": 9})).await;
        assert_eq!(manager.api.finished(&probe).await["status"], "completed");
        assert!(back_at.elapsed() < RESUMED_WITHIN, "resumed after {:?}", back_at.elapsed());
    }
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    while let Some(batch) = acknowledged.recv().await {
        batches.push(batch);
    }
    for batch in batches {
        for n in 0..BATCH {
            let id = format!("{batch}-{n}");
            let task = manager.api.finished(&id).await;
            assert_eq!(task["status"], "completed", "{task}");
        }
    }
}
