//! Redis is killed under load and comes back with all that it wrote to its file, or without the last of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_test_support::{api::Api, redis_server::Persistence, wait::until};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

use crate::stack::{Manager, Stack};

const CRASHES: usize = 3;
const CLIENTS: usize = 4;
const BATCH: usize = 20;

/// What a crash takes of the file of writes: some batches, with their claims.
const LOST_BYTES: u64 = 60_000;

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

/// Clients that submit under load, and what they were acknowledged.
struct Clients {
    clients: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    acknowledged: UnboundedReceiver<String>,
    batches: Vec<String>,
}

impl Clients {
    fn of(manager: &Manager) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (acknowledge, acknowledged) = unbounded_channel();
        let submit = |client| {
            tokio::spawn(submit_on_and_on(manager.api.clone(), client, Arc::clone(&stop), acknowledge.clone()))
        };
        Self { clients: (0..CLIENTS).map(submit).collect(), stop, acknowledged, batches: Vec::new() }
    }

    /// Waits for so many more acknowledged batches.
    async fn more(&mut self, batches: usize) {
        for _ in 0..batches {
            self.batches.push(self.acknowledged.recv().await.expect("the clients go on"));
        }
    }

    /// Stops them. Returns all batches that were acknowledged.
    async fn end(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.await.unwrap();
        }
        while let Some(batch) = self.acknowledged.recv().await {
            self.batches.push(batch);
        }
        self.batches
    }
}

/// Submits a task as soon as the manager takes one, and waits until it is over.
async fn assert_resumed(manager: &Manager, crash: usize) {
    let back_at = Instant::now();
    let probe = json!({"id": format!("probe-{crash}"), "name": "note", "priority": 9});
    until(RESUMED_WITHIN, "the manager takes a task", async || {
        let answer = manager.api.post("/tasks", &probe).await;
        assert!(answer.status.is_success() || answer.status == StatusCode::SERVICE_UNAVAILABLE, "{}", answer.body);
        answer.status.is_success().then_some(())
    })
    .await;
    assert_eq!(manager.api.finished(&format!("probe-{crash}")).await["status"], "completed");
    assert!(back_at.elapsed() < RESUMED_WITHIN, "resumed after {:?}", back_at.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_and_workers_resume_within_seconds() {
    let mut stack = Stack::on_redis(Persistence::Always).await;
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let mut clients = Clients::of(&manager);
    for crash in 0..CRASHES {
        clients.more(10).await;
        stack.crash_store().await;
        assert_resumed(&manager, crash).await;
    }
    for batch in clients.end().await {
        for n in 0..BATCH {
            let task = manager.api.finished(&format!("{batch}-{n}")).await;
            assert_eq!(task["status"], "completed", "{task}");
        }
    }
}

/// With `appendfsync everysec`, a slow disk delays what Redis writes: a crash may lose the last of it, claims and
/// settlements among them. The rest goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_left_of_a_store_that_lost_its_last_writes_goes_on() {
    let mut stack = Stack::on_redis(Persistence::EverySecond).await;
    let manager = stack.manager().await;
    let _workers = [stack.worker().await, stack.worker().await];
    let mut clients = Clients::of(&manager);
    for crash in 0..CRASHES {
        clients.more(20).await;
        stack.crash_store_losing(LOST_BYTES).await;
        assert_resumed(&manager, crash).await;
    }
    let mut lost = 0;
    for batch in clients.end().await {
        let mut found = 0;
        for n in 0..BATCH {
            let id = format!("{batch}-{n}");
            if manager.api.get(&format!("/tasks/{id}")).await.status == StatusCode::NOT_FOUND {
                continue;
            }
            found += 1;
            let task = manager.api.finished(&id).await;
            assert_eq!(task["status"], "completed", "{task}");
        }
        assert!(found == 0 || found == BATCH, "{found} of the {BATCH} tasks of {batch} are left");
        lost += usize::from(found == 0);
    }
    assert!(lost > 0, "no crash lost a batch");
    println!("{lost} batches were lost; {}", stack.examined().await);
}
