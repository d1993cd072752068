//! A long while of crashes at random: workers, managers and the store itself, under load. Part of `./check --all`.
//! `mixed` kills workers alone, under tasks of every kind, and keeps books.
//!
//! `TEST_SEED` repeats a run's choices; their timing is the machine's.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use jobbers_test_support::{program::Program, redis_server::Persistence, wait::until};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack, all_ids},
};

mod ledger;
mod mixed;

const CRASHES: usize = 300;
const BATCH: usize = 25;
/// So many workers are frozen at a time.
const FROZEN: usize = 2;

mod on_sqlite {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: minutes of crashes"]
    async fn nothing_acknowledged_is_lost_or_left_over() {
        super::nothing_acknowledged_is_lost_or_left_over(super::Kind::Sqlite).await;
    }
}

mod on_redis {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: minutes of crashes"]
    async fn nothing_acknowledged_is_lost_or_left_over() {
        super::nothing_acknowledged_is_lost_or_left_over(super::Kind::Redis).await;
    }
}

/// What runs while the storm lasts.
struct Fleet {
    stack: Stack,
    managers: Vec<Manager>,
    workers: Vec<Program>,
    /// The latest last; thawed when there are more than a few.
    frozen: VecDeque<Program>,
    random: StdRng,
}

impl Fleet {
    async fn new(kind: Kind, seed: u64) -> Self {
        let stack = match kind {
            Kind::Sqlite => Stack::on(kind).await,
            Kind::Redis => Stack::on_redis(Persistence::Always).await,
        };
        let managers = vec![stack.manager().await, stack.manager().await];
        let workers = vec![stack.worker().await, stack.worker().await, stack.worker().await];
        Self { stack, managers, workers, frozen: VecDeque::new(), random: StdRng::seed_from_u64(seed) }
    }

    /// Something dies, and something takes its place.
    async fn crash(&mut self) {
        match self.random.random_range(0..10) {
            0..5 => {
                let victim = self.random.random_range(0..self.workers.len());
                self.workers[victim].kill().await;
                self.workers[victim] = self.stack.worker().await;
            }
            5 => self.freeze().await,
            6..9 => {
                let victim = self.random.random_range(0..self.managers.len());
                self.managers[victim].program.kill().await;
                self.managers[victim] = self.stack.manager().await;
            }
            _ => self.stack.crash_store().await,
        }
    }

    /// A worker stops in the middle of its work: its tasks must come back without its help. One that stopped long ago
    /// goes on, with tasks that are no longer its own.
    async fn freeze(&mut self) {
        let victim = self.random.random_range(0..self.workers.len());
        if self.stack.freeze(&self.workers[victim], &self.managers[0]).await {
            let replacement = self.stack.worker().await;
            self.frozen.push_back(std::mem::replace(&mut self.workers[victim], replacement));
        }
        if self.frozen.len() > FROZEN {
            self.thaw().await;
        }
    }

    async fn thaw(&mut self) {
        if let Some(mut worker) = self.frozen.pop_front() {
            Stack::thaw(&mut worker).await;
        }
    }

    /// Submits a batch; answers its ids when that was acknowledged.
    async fn submit(&self, n: usize) -> Option<Vec<String>> {
        let ids: Vec<String> = (0..BATCH).map(|task| format!("b{n}-{task}")).collect();
        let tasks: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "nap"})).collect();
        let api = &self.managers[n % self.managers.len()].api;
        let body = json!({"tasks": tasks});
        let answer = api.send(reqwest::Method::POST, "/tasks", &[], Some(&body)).await;
        answer.is_ok_and(|answer| answer.status.is_success()).then_some(ids)
    }
}

async fn nothing_acknowledged_is_lost_or_left_over(kind: Kind) {
    let seed = std::env::var("TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    let mut fleet = Fleet::new(kind, seed).await;
    let mut acknowledged = BTreeSet::new();
    for n in 0..CRASHES {
        let (before, after) = tokio::join!(fleet.submit(3 * n), fleet.submit(3 * n + 1));
        fleet.crash().await;
        let later = fleet.submit(3 * n + 2).await;
        acknowledged.extend([before, after, later].into_iter().flatten().flatten());
    }
    while !fleet.frozen.is_empty() {
        fleet.thaw().await;
    }
    let api = &fleet.managers[0].api;
    until(Duration::from_secs(120), &format!("every task is over (seed {seed})"), async || {
        let queue = api.get("/queues/default").await.ok();
        let live = ["submitted", "scheduled", "started"].iter().filter_map(|status| queue["tasks"][*status].as_u64());
        (live.sum::<u64>() == 0).then_some(())
    })
    .await;
    let completed = all_ids(api, "/tasks?status=completed").await;
    let lost: Vec<_> = acknowledged.difference(&completed).collect();
    assert!(lost.is_empty(), "seed {seed}: acknowledged and not completed: {lost:?}");
    let executed = fleet.stack.effects.count("done");
    let skipped: Vec<_> = completed.iter().filter(|id| !executed.contains_key(*id)).collect();
    assert!(skipped.is_empty(), "seed {seed}: completed and never executed: {skipped:?}");
    fleet.stack.examined().await;
}
