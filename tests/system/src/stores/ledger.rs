//! Clients that submit while a store moves, and a ledger of what they were acknowledged.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use jobbers_test_support::{api::Api, effects::Effect, wait::until};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::stack::{Manager, Stack};

/// A pause between two submissions of a client.
const EVERY: Duration = Duration::from_millis(5);
pub(super) const CLIENTS: usize = 2;
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// What clients were acknowledged, with the time of the answer.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) acknowledged: Mutex<BTreeMap<String, Instant>>,
    pub(super) refused: Mutex<Vec<Instant>>,
    /// Answers that no client may get.
    pub(super) strange: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

/// Submits one task after the other, each once: a task that was refused is not sent again.
async fn submit_on_and_on(api: Api, client: usize, every: Duration, ledger: Arc<Ledger>) {
    let mut pace = tokio::time::interval(every);
    for n in 0.. {
        pace.tick().await;
        if ledger.is_over.load(Ordering::SeqCst) {
            return;
        }
        let id = format!("c{client}-{n}");
        let answer = api.post("/tasks", &json!({"id": id, "name": "note"})).await;
        if answer.status.is_success() {
            ledger.acknowledged.lock().unwrap().insert(id, Instant::now());
        } else if answer.status == StatusCode::SERVICE_UNAVAILABLE && answer.retry_after.is_some() {
            ledger.refused.lock().unwrap().push(Instant::now());
        } else {
            ledger.strange.lock().unwrap().push(format!("{}: {}", answer.status, answer.body));
        }
    }
}

/// Clients that submit under load.
pub(super) struct Clients {
    ledger: Arc<Ledger>,
    clients: Vec<JoinHandle<()>>,
}

impl Clients {
    pub(super) fn of(manager: &Manager) -> Self {
        Self::at_a_pace(manager, EVERY)
    }

    pub(super) fn at_a_pace(manager: &Manager, every: Duration) -> Self {
        let ledger = Arc::new(Ledger::default());
        let submit = |client| tokio::spawn(submit_on_and_on(manager.api.clone(), client, every, Arc::clone(&ledger)));
        let clients = (0..CLIENTS).map(submit).collect();
        Self { ledger, clients }
    }

    /// Waits for so many more acknowledged tasks.
    pub(super) async fn more(&self, tasks: usize) {
        let until_now = self.ledger.acknowledged.lock().unwrap().len();
        until(PATIENCE, "tasks are acknowledged", async || {
            (self.ledger.acknowledged.lock().unwrap().len() >= until_now + tasks).then_some(())
        })
        .await;
    }

    /// Waits for so many more answers that acknowledge nothing.
    pub(super) async fn without_acknowledgement(&self, answers: usize) {
        let count = || self.ledger.refused.lock().unwrap().len() + self.ledger.strange.lock().unwrap().len();
        let until_now = count();
        until(PATIENCE, "clients are refused", async || (count() >= until_now + answers).then_some(())).await;
    }

    /// Waits for a task that is acknowledged after a time.
    pub(super) async fn acknowledged_after(&self, time: Instant) -> Instant {
        until(PATIENCE, "a task is acknowledged", async || {
            self.ledger.acknowledged.lock().unwrap().values().copied().filter(|at| *at > time).min()
        })
        .await
    }

    pub(super) async fn end(self) -> Arc<Ledger> {
        self.ledger.is_over.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.await.unwrap();
        }
        self.ledger
    }
}

/// Those of some tasks that are not there, or do not complete in time.
pub(super) async fn unfinished(manager: &Manager, tasks: &[String]) -> Option<String> {
    let mut left = tasks.to_vec();
    let all = until(2 * PATIENCE, "all tasks complete", async || {
        let mut still = Vec::new();
        for ids in left.chunks(1_000) {
            let answer = manager.api.post("/tasks/statuses", &json!({"ids": ids})).await;
            let tasks = answer.body["tasks"].as_array().into_iter().flatten();
            let completed = tasks.filter(|task| task["status"] == "completed").filter_map(|task| task["id"].as_str());
            let completed: BTreeSet<&str> = completed.collect();
            still.extend(ids.iter().filter(|id| !completed.contains(id.as_str())).cloned());
        }
        left = still;
        left.is_empty().then_some(())
    });
    let is_in_time = tokio::time::timeout(PATIENCE, all).await.is_ok();
    (!is_in_time).then(|| {
        format!("{} of {} acknowledged tasks did not complete, first {:?}", left.len(), tasks.len(), left.first())
    })
}

/// What effects show of a fence that was given twice.
pub(super) fn doubled(stack: &Stack) -> Option<String> {
    let mut runs = BTreeSet::new();
    let twice = |run: &Effect| !runs.insert((run.event.clone(), run.task.clone(), run.fence));
    stack.effects.all().into_iter().find(twice).map(|run| format!("a fence was given twice: {run:?}"))
}

/// How a task ended; `None` if it does not exist. On a busy machine Sentinels may leave a primary that is only slow, after the one
/// that the test ended: then the store is away once more.
async fn end_of(api: &Api, id: &str) -> Option<Value> {
    until(PATIENCE, "a task is over", async || {
        let answer = api.get(&format!("/tasks/{id}?wait=10s")).await;
        match answer.status {
            StatusCode::SERVICE_UNAVAILABLE => None,
            StatusCode::NOT_FOUND => Some(None),
            _ => {
                let status = answer.ok()["status"].clone();
                (status != "submitted" && status != "started").then_some(Some(status))
            }
        }
    })
    .await
}

/// Those of some tasks that are there, each of which completes.
pub(super) async fn completed(api: &Api, tasks: impl Iterator<Item = &String>, what: &str) -> BTreeSet<String> {
    let mut stored = BTreeSet::new();
    for id in tasks {
        if let Some(status) = end_of(api, id).await {
            assert_eq!(status, "completed", "{what}: {id}");
            stored.insert(id.clone());
        }
    }
    stored
}
