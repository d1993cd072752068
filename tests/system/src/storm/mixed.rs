//! Workers killed or frozen at random, a hundred times, under tasks of every kind of ending; a server too, once.
//!
//! The tasks write down each execution, and each worker each settlement that the store accepted; [`super::ledger`]
//! compares both with the store's record of every task.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use futures_util::{StreamExt, TryStreamExt, stream};
use jobbers_test_support::{effects::now_micros, program::Program, redis_server::Persistence, wait::until};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

use super::ledger::Ledger;
use crate::{
    engines::Kind,
    executions::{Executions, Killed, LOG, Record},
    stack::{Manager, Stack},
};

const KILLS: usize = 100;
const WORKERS: usize = 4;
/// For so many batches a worker is frozen: longer than its leases last.
const FROZEN_FOR: usize = 12;
/// Above this, the promise of a quick recovery is broken.
const P99_RECOVERY: Duration = Duration::from_secs(10);

/// A kind of task, and how each of them must end.
pub(super) struct Share {
    pub(super) kind: &'static str,
    /// How many of 200.
    of_200: usize,
    pub(super) status: &'static str,
    /// The attempts that count: neither lost leases nor give-backs do.
    pub(super) attempts: u64,
    /// The attempts that its history names as failed.
    pub(super) failed: &'static [u64],
}

/// What the storm is made of.
pub(super) const MIX: [Share; 8] = [
    Share { kind: "quick", of_200: 80, status: "completed", attempts: 1, failed: &[] },
    Share { kind: "sleeping", of_200: 40, status: "completed", attempts: 1, failed: &[] },
    Share { kind: "retrying", of_200: 24, status: "completed", attempts: 3, failed: &[1, 2] },
    Share { kind: "failing", of_200: 14, status: "failed", attempts: 1, failed: &[1] },
    Share { kind: "scheduled", of_200: 12, status: "completed", attempts: 1, failed: &[] },
    Share { kind: "cancelled", of_200: 12, status: "cancelled", attempts: 1, failed: &[] },
    Share { kind: "panicking", of_200: 10, status: "failed", attempts: 2, failed: &[1, 2] },
    Share { kind: "stalled", of_200: 8, status: "stalled", attempts: 1, failed: &[1] },
];

mod on_sqlite {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: minutes of crashes"]
    async fn a_hundred_kills_under_20000_mixed_tasks() {
        super::a_hundred_kills_under_20000_mixed_tasks(super::Kind::Sqlite).await;
    }
}

mod on_redis {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: minutes of crashes"]
    async fn a_hundred_kills_under_20000_mixed_tasks() {
        super::a_hundred_kills_under_20000_mixed_tasks(super::Kind::Redis).await;
    }
}

fn task(kind: &str, id: &str) -> Value {
    let mut task = match kind {
        "quick" => json!({"name": "note"}),
        "sleeping" => json!({"name": "nap"}),
        "retrying" => json!({"name": "flaky", "max_retries": 2, "retry_delay": "100ms"}),
        "failing" => json!({"name": "doomed", "dead_letter": "save"}),
        "scheduled" => json!({"name": "nap", "delay": "1s"}),
        "cancelled" => json!({"name": "hold"}),
        "panicking" => {
            json!({"name": "panicky", "max_retries": 1, "retry_delay": "100ms", "dead_letter": "save"})
        }
        "stalled" => {
            json!({"name": "hold", "max_heartbeat_interval": "500ms", "on_stall": "stall", "dead_letter": "save"})
        }
        other => panic!("{other} is no kind"),
    };
    task["id"] = json!(id);
    task
}

/// The ids of a batch by their kind.
fn ids_of(share: &Share, batch: usize) -> Vec<String> {
    (0..share.of_200).map(|n| format!("{}.{batch}.{n}", share.kind)).collect()
}

/// The ids of all these batches.
fn submitted(batches: usize) -> BTreeSet<String> {
    (0..batches).flat_map(|batch| MIX.iter().flat_map(move |share| ids_of(share, batch))).collect()
}

struct Storm {
    manager: Manager,
    workers: Vec<Program>,
    dead: Vec<Program>,
    /// With the batch under which each was frozen.
    frozen: VecDeque<(usize, Program)>,
    killed: Vec<Killed>,
    random: StdRng,
    stack: Stack,
}

impl Storm {
    async fn new(stack: Stack, seed: u64) -> Self {
        let manager = stack.manager().await;
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            workers.push(stack.worker_with(&LOG).await);
        }
        let random = StdRng::seed_from_u64(seed);
        Self { manager, workers, dead: Vec::new(), frozen: VecDeque::new(), killed: Vec::new(), random, stack }
    }

    /// Submits 200 tasks, kills a worker among them, and cancels those of the batch that are to be cancelled.
    async fn cycle(&mut self, batch: usize) {
        let ids: BTreeMap<&str, Vec<String>> = MIX.iter().map(|share| (share.kind, ids_of(share, batch))).collect();
        let tasks: Vec<Value> = ids.iter().flat_map(|(kind, ids)| ids.iter().map(|id| task(kind, id))).collect();
        let api = self.manager.api.clone();
        api.post("/tasks", &json!({"tasks": tasks})).await.ok();
        // The blow falls at once, or when one of them is over: in all phases of the work.
        let kind = ["now", "quick", "sleeping", "retrying"].choose(&mut self.random).copied().unwrap_or("now");
        if let Some(id) = ids.get(kind).and_then(|ids| ids.choose(&mut self.random)) {
            api.finished(id).await;
        }
        let victim = self.random.random_range(0..self.workers.len());
        let cancel = json!({"ids": ids["cancelled"]});
        let freezes = self.random.random_range(0..4) == 0;
        let (pid, at) = (self.workers[victim].pid(), now_micros());
        let is_frozen = freezes && self.stack.freeze(&self.workers[victim], &self.manager).await;
        let (replacement, cancelled) = tokio::join!(self.stack.worker_with(&LOG), async {
            if !is_frozen {
                self.workers[victim].kill().await;
            }
            api.post("/tasks/cancel", &cancel).await
        });
        cancelled.ok();
        self.killed.push(Killed { pid, at });
        let victim = std::mem::replace(&mut self.workers[victim], replacement);
        if is_frozen {
            self.frozen.push_back((batch, victim));
        } else {
            self.dead.push(victim);
        }
        self.thaw_before(batch.saturating_sub(FROZEN_FOR)).await;
        // A second of work lies between two blows, longer when the blow hit this one.
        api.finished(&ids["scheduled"][0]).await;
    }

    /// Lets those go on that were frozen under an earlier batch. What they held is others' by now.
    async fn thaw_before(&mut self, batch: usize) {
        while let Some((_, mut worker)) = self.frozen.pop_front_if(|(since, _)| *since < batch) {
            Stack::thaw(&mut worker).await;
            self.dead.push(worker);
        }
    }

    /// The server dies and comes back with what it wrote down.
    async fn crash_store(&mut self) {
        self.stack.crash_store().await;
        until(Duration::from_secs(30), "the manager is back", async || {
            let answer = self.manager.api.get("/queues/default").await;
            answer.status.is_success().then_some(())
        })
        .await;
    }

    async fn end(&self) {
        until(Duration::from_secs(180), "every task is over", async || {
            let queue = self.manager.api.get("/queues/default").await.ok();
            let live = ["waiting", "submitted", "scheduled", "started"].iter();
            (live.filter_map(|status| queue["tasks"][*status].as_u64()).sum::<u64>() == 0).then_some(())
        })
        .await;
    }

    /// The store's record of every task; it must list each once, in its one status.
    async fn records(&self) -> BTreeMap<String, Record> {
        let mut records = BTreeMap::new();
        let statuses: BTreeSet<&str> = MIX.iter().map(|share| share.status).collect();
        for status in statuses {
            let mut cursor = String::new();
            loop {
                let path = format!("/tasks?status={status}&limit=1000{cursor}");
                let page = self.manager.api.get(&path).await.ok();
                for task in page["tasks"].as_array().unwrap() {
                    let record = Record::of(task);
                    assert_eq!(record.status, status);
                    let id = task["id"].as_str().unwrap().to_owned();
                    assert!(records.insert(id, record).is_none(), "in two states at once: {task}");
                }
                let Some(next) = page["next_cursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
        }
        self.with_histories(records).await
    }

    /// Adds which attempts failed, of the kinds that have such: lists leave that out.
    async fn with_histories(&self, mut records: BTreeMap<String, Record>) -> BTreeMap<String, Record> {
        const AT_ONCE: usize = 8;
        let api = &self.manager.api;
        let fails = |id: &String| MIX.iter().any(|share| id.starts_with(share.kind) && !share.failed.is_empty());
        let ids: Vec<String> = records.keys().filter(|id| fails(id)).cloned().collect();
        let histories = stream::iter(ids).map(|id| async move {
            let task = api.task(&id).await;
            // A lost lease is in the history too, and is not a failure.
            let failures = task["errors"].as_array()?.iter().filter(|error| error["kind"] != "crash");
            let attempts = failures.map(|error| error["attempt"].as_u64().unwrap()).collect();
            Some((id, attempts))
        });
        let histories: Vec<(String, Vec<u64>)> =
            histories.buffer_unordered(AT_ONCE).map(|history| history.ok_or("no errors")).try_collect().await.unwrap();
        for (id, failed) in histories {
            records.get_mut(&id).unwrap().failed = failed;
        }
        records
    }

    /// The books as they are now.
    async fn ledger(&self) -> Ledger {
        let logs: Vec<String> = self.dead.iter().chain(&self.workers).map(Program::said).collect();
        let executions = Executions::new(&self.stack.effects.all(), &logs, &self.killed);
        Ledger { records: self.records().await, executions }
    }

    /// Waits until the archive has as many letters as tasks failed for good, and answers how many that are.
    async fn archived(&self) -> u64 {
        let is_dead = |share: &&Share| ["failed", "stalled"].contains(&share.status);
        let expected: usize = MIX.iter().filter(is_dead).map(|share| share.of_200 * KILLS).sum();
        until(Duration::from_secs(60), &format!("{expected} dead letters"), async || {
            let stats = self.manager.api.get("/dead-letter-queue/stats").await.ok();
            (stats["total"] == expected).then_some(expected as u64)
        })
        .await
    }
}

async fn a_hundred_kills_under_20000_mixed_tasks(kind: Kind) {
    let seed = std::env::var("TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    let began = std::time::Instant::now();
    let stack = match kind {
        Kind::Sqlite => Stack::on(kind).await,
        Kind::Redis => Stack::on_redis(Persistence::Always).await,
    };
    let mut storm = Storm::new(stack, seed).await;
    for batch in 0..KILLS {
        if batch == KILLS / 2 {
            storm.crash_store().await;
        }
        storm.cycle(batch).await;
    }
    storm.thaw_before(usize::MAX).await;
    storm.end().await;
    let blown = began.elapsed();
    let queue = storm.manager.api.get("/queues/default").await.ok();
    let letters = storm.archived().await;
    let ledger = storm.ledger().await;
    let report = ledger.report(&format!("{kind:?}, seed {seed}, {blown:.0?}, {letters} dead letters"));
    println!("{report}{}", storm.stack.examined().await);

    let submitted = submitted(KILLS);
    assert_eq!(submitted.len(), 200 * KILLS);
    assert_eq!(ledger.complaints(&submitted), Vec::<String>::new(), "{report}");
    assert_eq!(queue["accepted"], submitted.len(), "{queue}");
    assert!(ledger.executions.refused > 0, "no frozen worker came back with something to settle: {report}");
    let recoveries = ledger.recoveries();
    assert!(recoveries.len() >= KILLS, "the blows hit nothing: {report}");
    assert!(recoveries.quantile(0.99) <= P99_RECOVERY, "{report}");
}

/// The books must not balance when a promise is broken: here by a server that writes nothing down, and dies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgets_is_noticed_in_the_books() {
    let mut storm = Storm::new(Stack::on_redis(Persistence::None).await, 7).await;
    storm.cycle(0).await;
    storm.thaw_before(usize::MAX).await;
    storm.end().await;
    assert_eq!(storm.ledger().await.complaints(&submitted(1)), Vec::<String>::new());
    storm.crash_store().await;
    let complaints = storm.ledger().await.complaints(&submitted(1));
    assert_eq!(complaints.iter().filter(|it| it.ends_with("is lost")).count(), 200, "{complaints:?}");
}
