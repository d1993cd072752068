//! Random operations on an engine and on the model, every answer compared.
//!
//! Revisions and fences differ between engines, so they are compared by what they do: each lease is remembered as the
//! pair of both stores' claims, and settled, extended or settled too late on both.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jobbers_common::{
    dependency::{
        Dependency, DependencyPolicy,
        signal::{AwaitedSignal, OnTimeout},
    },
    engine::{
        ClaimRequest, Claims, Cycle, CycleReply, DeadKey, DeadTask, Engine, Error, Extension, Heartbeat, Letters,
        ListRequest, OnConflict, Outcome, PruneRequest, PruneScope, PutMode, QueueClaim, QueueStats, Queues, Reclaimed,
        Refusal, Resubmit, Settlement, Submit, TaskFilter, Tasks, Upkeep,
        dependencies::{AddRefusal, NewDependency},
        reads::first_queues,
    },
    history::{Counts, Grain, Slot},
    lifecycle::Status,
    name::{SignalName, TaskId, TaskName},
    payload::Payload,
    policy::{DeadLetter, Exhausted, PolicyOverrides, error_kind::ErrorKind},
    queue::{
        QueueConfig, Retention,
        gate::{ConcurrencyKey, GateLimits},
        rate::RateLimit,
    },
    task::{
        ClaimedTask, FailureKind, Fence, Lease, NewTask, Priority, Progress, Start, Task,
        unique::{OnDuplicate, Unique, UniqueKey},
    },
    time::{Clock, Timestamp},
    worker::task_kind::TaskKind,
};

use super::{Fixture, LEASE, audit::assert_sound, failure, id, queue, random::Random, seconds, task_in, worker};
use crate::model::ModelEngine;

/// Operations in the case that every run of the suite includes.
const STEPS: u32 = 1_500;
const POOL: u64 = 14;
const SIGNALS: [&str; 2] = ["approved", "reviewed"];
const BUSY: ErrorKind = ErrorKind::checked("busy");
/// The last has no limits by key or by task; claims refuse kinds of its tasks.
const QUEUES: [&str; 3] = ["default", "mail", "own"];

pub async fn random_operations_answer_as_the_model_does(f: Fixture) {
    run(&f, 0x0bad_5eed, STEPS).await;
}

/// Runs `steps` random operations; the same seed gives the same ones.
///
/// # Panics
/// At the first answer that differs from the model's, naming seed and step.
pub async fn run(f: &Fixture, seed: u64, steps: u32) {
    let model = ModelEngine::new(Arc::clone(&f.clock) as Arc<dyn Clock>);
    let mut pair =
        Pair { f, model, random: Random::new(seed), leases: Vec::new(), archive: Vec::new(), at: String::new() };
    for name in [&pair.model as &dyn Engine, &*f.engine] {
        for added in &QUEUES[1..] {
            name.put_queue(QueueConfig::new(queue(added)), PutMode::Upsert).await.unwrap();
        }
    }
    for step in 0..steps {
        pair.at = format!("seed {seed:#x}, step {step}");
        pair.step().await;
    }
    pair.compare_everything().await;
    assert_sound(f, 7, false).await;
}

struct Pair<'a> {
    f: &'a Fixture,
    model: ModelEngine,
    random: Random,
    /// Leases as (model's claim, engine's claim): held, and lost ones too, for the zombies.
    leases: Vec<(ClaimedTask, ClaimedTask)>,
    /// Dead letters as (model's copy, engine's copy), as an archive would keep them.
    archive: Vec<(DeadTask, DeadTask)>,
    at: String,
}

impl Pair<'_> {
    async fn step(&mut self) {
        match self.random.below(100) {
            0..25 => self.submit().await,
            25..60 => self.cycle().await,
            60..70 => self.extend().await,
            70..78 => {
                let by = Duration::from_millis(self.random.below(6_000));
                self.f.clock.advance(by);
            }
            78..81 => self.cancel().await,
            81 => self.reschedule().await,
            82 => self.add_edges().await,
            83 => self.signal().await,
            84..87 => {
                let (a, b) = (self.model.promote_due(1_000).await, self.f.engine.promote_due(1_000).await);
                assert_eq!(a, b, "promoted, {}", self.at);
            }
            87..90 => {
                let (a, b) = (self.model.reclaim_expired(1_000).await, self.f.engine.reclaim_expired(1_000).await);
                assert_eq!(a.map(plain_reclaimed), b.map(plain_reclaimed), "reclaimed, {}", self.at);
            }
            90..92 => self.configure().await,
            92..94 => self.prune().await,
            94 if self.random.chance(50) => self.purge().await,
            94 => self.move_tasks().await,
            95..97 => self.resubmit().await,
            97..98 => self.drain_outbox().await,
            _ => self.compare_everything().await,
        }
    }

    async fn submit(&mut self) {
        let mut names = BTreeSet::new();
        for _ in 0..=self.random.below(4) {
            names.insert(self.random.below(POOL));
        }
        let mut tasks: Vec<NewTask> = names.into_iter().map(|n| self.new_task(n)).collect();
        if self.random.chance(15) && tasks.iter().all(|task| task.unique.is_none()) {
            self.add_signals(&mut tasks);
        }
        if self.random.chance(35) {
            self.add_dependencies(&mut tasks);
        }
        let on_conflict = self.random.one_of(&[OnConflict::Fail, OnConflict::Skip, OnConflict::Replace]);
        let batch = Submit { tasks, on_conflict };
        let (a, b) = (self.model.submit(batch.clone()).await, self.f.engine.submit(batch.clone()).await);
        assert_eq!(a, b, "submitted {batch:?}, {}", self.at);
    }

    fn new_task(&mut self, n: u64) -> NewTask {
        let into = if self.random.chance(2) { "nowhere" } else { self.random.one_of(&QUEUES) };
        let mut start = Start::Now;
        if self.random.chance(25) {
            let delay = seconds(self.random.below(10));
            start =
                if self.random.chance(50) { Start::After(delay) } else { Start::At(self.f.clock.now().after(delay)) };
        }
        let max_tries = self.random.one_of(&[None, None, None, Some(1), Some(3)]);
        let overrides = PolicyOverrides {
            expires_in: self.random.one_of(&[None, None, Some(seconds(2)), Some(seconds(7))]),
            max_crashes: self.random.one_of(&[None, None, Some(1), Some(2)]),
            max_tries,
            exhausted: self.random.one_of(&[None, Some(Exhausted::Aborted)]).filter(|_| max_tries.is_some()),
            dead_letter: self.random.one_of(&[None, Some(DeadLetter::Save)]),
            ..PolicyOverrides::default()
        };
        let parameters = if self.random.chance(20) { Payload::json(vec![b'7'; 2_000]) } else { Payload::json("7") };
        let concurrency_key = self.random.one_of(&[None, Some("acme"), Some("bolt")]);
        let unique = self.random.chance(30).then(|| Box::new(self.unique()));
        NewTask {
            name: TaskName::new(self.random.one_of(&["echo", "echo", "email"])).unwrap(),
            concurrency_key: concurrency_key.map(|key| ConcurrencyKey::new(key).unwrap()),
            unique,
            id_is_chosen: self.random.chance(40),
            version: 1 + u32::try_from(self.random.below(2)).unwrap(),
            priority: Priority::new(self.random.one_of(&[0, 5, 5, 9])).unwrap(),
            start,
            overrides,
            parameters,
            ..task_in(&format!("t{n:02}"), into)
        }
    }

    /// Gives tasks of a batch edges, to others of the batch, and to any that may be stored. Such a batch has no unique keys.
    fn add_dependencies(&mut self, tasks: &mut [NewTask]) {
        for task in tasks {
            task.unique = None;
            let mut on = BTreeSet::new();
            for _ in 0..self.random.below(4) {
                let pool = POOL + u64::from(self.random.chance(5));
                on.insert(id(&format!("t{:02}", self.random.below(pool))));
            }
            on.remove(&task.id);
            let edges = on.into_iter().map(|on| Dependency { on, policy: self.random.one_of(&DependencyPolicy::ALL) });
            task.depends_on = edges.collect();
            if self.random.chance(20) {
                (task.is_spontaneous, task.start) = (true, Start::Now);
            }
        }
    }

    fn unique(&mut self) -> Unique {
        let key = UniqueKey::new(self.random.one_of(&["k1", "k2", "k3"])).unwrap();
        let mut unique = Unique::new(key).on_duplicate(self.random.one_of(&OnDuplicate::ALL));
        unique.span = self.random.one_of(&[None, Some(seconds(4)), Some(seconds(20))]);
        if self.random.chance(20) {
            unique.statuses = [Status::Submitted, Status::Completed].into_iter().collect();
        }
        unique
    }

    fn outcome(&mut self) -> Outcome {
        let delay = self.random.one_of(&[Duration::ZERO, seconds(3), seconds(9)]);
        match self.random.below(10) {
            0 | 1 => Outcome::Completed { result: self.random.one_of(&[None, Some(Payload::json("[1]"))]) },
            2 => Outcome::Retry { delay, failure: failure("boom").of(self.random.one_of(&[None, Some(BUSY)])) },
            3 => Outcome::Failed { failure: failure("over"), dead_letter: self.random.chance(50) },
            4 => Outcome::Cancelled,
            5 => Outcome::Stalled { failure: failure("silent"), dead_letter: self.random.chance(50) },
            6 => Outcome::Aborted { failure: failure("void") },
            7 => Outcome::Unknown {
                delay,
                patience: self.random.one_of(&[Duration::ZERO, seconds(5), seconds(20)]),
                failure: failure("unknown"),
                dead_letter: self.random.chance(50),
            },
            8 => Outcome::Unstarted { delay },
            _ => Outcome::Released { delay },
        }
    }

    /// Two cycles that mean the same: each with its own store's fences.
    fn twin_cycles(&mut self) -> (Cycle, Cycle) {
        let name = worker(self.random.one_of(&["w1", "w2", "w3"]));
        let (mut for_model, mut for_engine) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        for _ in 0..self.random.below(4) {
            if self.leases.is_empty() {
                break;
            }
            let at = usize::try_from(self.random.below(self.leases.len() as u64)).unwrap();
            let (a, b) = self.leases[at].clone();
            if !seen.insert(a.id.clone()) {
                continue;
            }
            let outcome = self.outcome();
            let span: Option<Box<str>> = self.random.chance(30).then(|| {
                format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{:016x}-01", 1 + self.random.below(1_000_000)).into()
            });
            let heartbeat = if self.random.chance(30) { self.heartbeat() } else { None };
            for (settlements, lease) in [(&mut for_model, a), (&mut for_engine, b)] {
                let plain = Settlement::new(lease.id, lease.fence, outcome.clone());
                settlements.push(Settlement { span: span.clone(), heartbeat: heartbeat.clone(), ..plain });
            }
            if self.random.chance(70) {
                self.leases.remove(at);
            }
        }
        let mut order = QUEUES.to_vec();
        if self.random.chance(50) {
            order.reverse();
        }
        let queues = order
            .into_iter()
            .map(|name| QueueClaim { queue: queue(name), limit: usize::try_from(self.random.below(4)).unwrap() })
            .collect();
        let limit = usize::try_from(self.random.below(5)).unwrap();
        let refused = if self.random.chance(40) { self.refusals() } else { Vec::new() };
        let claim = self.random.chance(80).then_some(ClaimRequest { queues, limit, refused, lease: LEASE });
        (
            Cycle { worker: name.clone(), settlements: for_model, claim: claim.clone() },
            Cycle { worker: name, settlements: for_engine, claim },
        )
    }

    /// Some kinds of tasks of the last queue.
    fn refusals(&mut self) -> Vec<Refusal> {
        let kinds = ["echo", "email"].into_iter().flat_map(|name| [1, 2].map(|version| (name, version)));
        let refused = kinds.filter(|_| self.random.chance(50)).map(|(name, version)| Refusal {
            queue: queue(QUEUES[2]),
            kind: TaskKind { name: TaskName::new(name).unwrap(), version },
        });
        refused.collect()
    }

    async fn cycle(&mut self) {
        let (for_model, for_engine) = self.twin_cycles();
        let said = format!("{for_engine:?}, {}", self.at);
        let a = self.model.cycle(for_model).await.unwrap();
        let b = self.f.engine.cycle(for_engine).await.unwrap();
        self.leases.extend(a.claimed.iter().cloned().zip(b.claimed.iter().cloned()));
        assert_eq!(plain_reply(a), plain_reply(b), "{said}");
    }

    fn heartbeat(&mut self) -> Option<Heartbeat> {
        self.random.chance(50).then(|| Heartbeat {
            progress: self.random.chance(50).then(|| Progress { fraction: 0.5, message: "half".to_owned() }),
            checkpoint: self.random.chance(50).then(|| Payload::json("{\"at\":3}")),
        })
    }

    async fn extend(&mut self) {
        let heartbeat = self.heartbeat();
        let mut held = self.leases.clone();
        held.truncate(3);
        let extension =
            |task: &ClaimedTask| Extension { id: task.id.clone(), fence: task.fence, heartbeat: heartbeat.clone() };
        let for_model = held.iter().map(|(a, _)| extension(a)).collect();
        let for_engine = held.iter().map(|(_, b)| extension(b)).collect();
        let by = worker(self.random.one_of(&["w1", "w1", "w2", "w3"]));
        let a = self.model.extend(&by, LEASE, for_model).await;
        let b = self.f.engine.extend(&by, LEASE, for_engine).await;
        assert_eq!(a, b, "extended {held:?}, {}", self.at);
    }

    async fn cancel(&mut self) {
        let ids: BTreeSet<TaskId> =
            (0..=self.random.below(2)).map(|_| id(&format!("t{:02}", self.random.below(POOL + 1)))).collect();
        let ids: Vec<TaskId> = ids.into_iter().collect();
        let (a, b) = (self.model.cancel(&ids).await, self.f.engine.cancel(&ids).await);
        assert_eq!(a, b, "cancelled {ids:?}, {}", self.at);
    }

    async fn reschedule(&mut self) {
        let ids: Vec<TaskId> = (0..6).map(|_| id(&format!("t{:02}", self.random.below(POOL + 1)))).collect();
        let soon = seconds(self.random.below(12));
        let start = self.random.one_of(&[Start::Now, Start::After(soon), Start::At(self.f.clock.now().after(soon))]);
        let (a, b) = (self.model.reschedule(&ids, start).await, self.f.engine.reschedule(&ids, start).await);
        assert_eq!(a, b, "rescheduled {ids:?} {start:?}, {}", self.at);
    }

    /// Edges between stored tasks. Which way leads in a circle is not compared: there may be several.
    async fn add_edges(&mut self) {
        let mut edges = BTreeMap::new();
        for _ in 0..=self.random.below(3) {
            let (run, after) = (self.random.below(POOL), self.random.below(POOL));
            if run != after {
                edges.insert((run, after), self.random.one_of(&DependencyPolicy::ALL));
            }
        }
        let name = |n| id(&format!("t{n:02}"));
        let edges: Vec<NewDependency> = edges
            .into_iter()
            .map(|((run, after), policy)| NewDependency { run: name(run), after: name(after), policy })
            .collect();
        let plain = |answer: Result<Vec<bool>, Error>| match answer {
            Err(Error::DependencyRefused(it)) if matches!(it.why, AddRefusal::Circle(_)) => Err(it.kind().to_owned()),
            answer => answer.map_err(|error| error.to_string()),
        };
        let a = self.model.add_dependencies(&edges).await;
        let b = self.f.engine.add_dependencies(&edges).await;
        assert_eq!(plain(a), plain(b), "added {edges:?}, {}", self.at);
    }

    async fn signal(&mut self) {
        for _ in 0..3 {
            let target = id(&format!("t{:02}", self.random.below(POOL + 1)));
            let name = SignalName::new(self.random.one_of(&SIGNALS)).unwrap();
            let keep = self.random.one_of(&[None, None, Some(seconds(5))]);
            let a = self.model.signal(&target, &name, keep).await;
            let b = self.f.engine.signal(&target, &name, keep).await;
            assert_eq!(a, b, "signalled {target} {name}, {}", self.at);
        }
    }

    /// Lets some tasks wait for signals from outside.
    fn add_signals(&mut self, tasks: &mut [NewTask]) {
        for task in tasks.iter_mut().filter(|task| task.unique.is_none()) {
            let names = SIGNALS.into_iter().filter(|_| self.random.chance(40)).collect::<Vec<_>>();
            let mut awaited = Vec::new();
            for name in names {
                awaited.push(AwaitedSignal {
                    name: SignalName::new(name).unwrap(),
                    timeout: self.random.one_of(&[None, Some(seconds(2)), Some(seconds(12))]),
                    on_timeout: self.random.one_of(&OnTimeout::ALL),
                });
            }
            task.signals = awaited;
        }
    }

    async fn resubmit(&mut self) {
        let queue = self.random.one_of(&[None, None, Some(queue("mail")), Some(queue("nowhere"))]);
        let parameters = self.random.one_of(&[None, Some(Payload::json("8")), Some(Payload::json(vec![b'8'; 2_000]))]);
        let reset_attempts = self.random.chance(70);
        let alter = |wish| Resubmit { queue: queue.clone(), parameters: parameters.clone(), reset_attempts, ..wish };
        let (for_model, for_engine) = if self.archive.is_empty() || self.random.chance(40) {
            let name = id(&format!("t{:02}", self.random.below(POOL + 1)));
            (Resubmit::of_store(name.clone()), Resubmit::of_store(name))
        } else {
            let at = usize::try_from(self.random.below(self.archive.len() as u64)).unwrap();
            let (a, b) = self.archive[at].clone();
            (Resubmit::of_archive(a), Resubmit::of_archive(b))
        };
        let said = format!("{:?}, {}", for_engine.id, self.at);
        let a = self.model.resubmit(vec![alter(for_model)]).await;
        let b = self.f.engine.resubmit(vec![alter(for_engine)]).await;
        assert_eq!(a, b, "sent again {said}");
    }

    /// About half of the archive's keys, as either store knows them.
    fn some_keys(&mut self) -> (Vec<DeadKey>, Vec<DeadKey>) {
        let some = self.archive.iter().filter(|_| self.random.chance(50));
        some.map(|(a, b)| (a.key(), b.key())).unzip()
    }

    /// Copies go to the archive; some, and some receipts, are forgotten.
    async fn drain_outbox(&mut self) {
        let all: Vec<_> = (0..POOL).map(|n| id(&format!("t{n:02}"))).collect();
        let (a, b) = (self.model.times(&all).await.unwrap(), self.f.engine.times(&all).await.unwrap());
        assert_eq!(a, b, "times, {}", self.at);
        let a = self.model.dead_letters(0, 1_000).await.unwrap().copies;
        let b = self.f.engine.dead_letters(0, 1_000).await.unwrap().copies;
        self.archive.retain(|(dead, _)| a.iter().all(|fresh| fresh.key() != dead.key()));
        self.archive.extend(a.into_iter().zip(b));
        let (for_model, for_engine) = self.some_keys();
        self.model.forget_dead_letters(&for_model).await.unwrap();
        self.f.engine.forget_dead_letters(&for_engine).await.unwrap();
        let (for_model, for_engine) = self.some_keys();
        self.model.forget_receipts(&for_model).await.unwrap();
        self.f.engine.forget_receipts(&for_engine).await.unwrap();
        if self.archive.len() > 40 {
            self.archive.drain(..20);
        }
    }

    async fn configure(&mut self) {
        let limited = self.random.one_of(&QUEUES);
        let gate = GateLimits {
            max_concurrent: self.random.one_of(&[None, Some(1), Some(2)]),
            rate_limit: self.random.one_of(&[None, Some(RateLimit { tasks: 2, per: seconds(5), burst: Some(2) })]),
        };
        // One sort of gate in each queue: where a task waits for two, the engines may hand it out a call later.
        let (by_key, by_task) = match QUEUES.iter().position(|name| *name == limited) {
            Some(0) => (gate, GateLimits::default()),
            Some(1) => (GateLimits::default(), gate),
            _ => Default::default(),
        };
        let by_task = (!by_task.is_empty()).then(|| (TaskName::new("email").unwrap(), by_task));
        let config = QueueConfig {
            max_concurrent_per_key: by_key.max_concurrent,
            rate_limit_per_key: by_key.rate_limit,
            task_limits: by_task.into_iter().collect(),
            paused: self.random.chance(30),
            max_concurrent: self.random.one_of(&[None, None, Some(1), Some(3)]),
            rate_limit: self.random.one_of(&[
                None,
                None,
                Some(RateLimit { tasks: 3, per: seconds(2), burst: None }),
                Some(RateLimit { tasks: 7, per: seconds(9), burst: Some(4) }),
            ]),
            submit_rate_limit: self.random.one_of(&[
                None,
                None,
                Some(RateLimit { tasks: 3, per: seconds(2), burst: Some(3) }),
            ]),
            max_length: self.random.one_of(&[None, None, Some(2), Some(5)]),
            max_bytes: self.random.one_of(&[None, None, Some(3), Some(4_000)]),
            keep_parameters: self.random.one_of(&[2_048, 2_048, 0, 1, 4_000]),
            retention: Retention { age: seconds(5 + self.random.below(20)), count: self.random.below(8) },
            ..QueueConfig::new(queue(limited))
        };
        for engine in [&self.model as &dyn Engine, &*self.f.engine] {
            engine.put_queue(config.clone(), PutMode::Replace).await.unwrap();
            // The tasks that it held when it got a max_bytes are counted by then.
            engine.promote_due(1_000).await.unwrap();
        }
    }

    async fn prune(&mut self) {
        let scope = if self.random.chance(50) {
            PruneScope::Retention
        } else {
            let statuses = self.random.one_of(&[vec![], vec![Status::Completed], vec![Status::Failed]]);
            let before = self.f.clock.now().before(seconds(self.random.below(10)));
            PruneScope::Matching {
                filter: TaskFilter { statuses, ..TaskFilter::default() },
                finished_before: Some(before),
                larger_than: None,
            }
        };
        let limit = 1 + usize::try_from(self.random.below(5)).unwrap();
        let dry_run = self.random.chance(20);
        let mut removed = [0, 0];
        for (engine, removed) in [&self.model as &dyn Engine, &*self.f.engine].into_iter().zip(&mut removed) {
            let mut request = PruneRequest { scope: scope.clone(), limit, dry_run, cursor: None };
            loop {
                let pruned = engine.prune(request.clone()).await.unwrap();
                *removed += pruned.removed;
                request.cursor = pruned.next;
                if request.cursor.is_none() {
                    break;
                }
            }
        }
        assert_eq!(removed[0], removed[1], "pruned {scope:?}, {}", self.at);
    }

    async fn purge(&mut self) {
        let name = queue(self.random.one_of(&QUEUES));
        let (a, b) = (self.model.purge_queue(&name, 1_000).await, self.f.engine.purge_queue(&name, 1_000).await);
        assert_eq!(a, b, "purged {name}, {}", self.at);
    }

    async fn move_tasks(&mut self) {
        let limit = 1 + usize::try_from(self.random.below(4)).unwrap();
        let at = usize::try_from(self.random.below(3)).unwrap();
        let (from, to) = (QUEUES[at], QUEUES[(at + 1 + usize::from(self.random.chance(50))) % 3]);
        let (from, to) = (queue(from), queue(to));
        let a = self.model.move_tasks(&from, &to, limit).await;
        assert_eq!(a, self.f.engine.move_tasks(&from, &to, limit).await, "moved from {from}, {}", self.at);
    }

    async fn compare_everything(&mut self) {
        for n in 0..POOL {
            let name = id(&format!("t{n:02}"));
            let (a, b) = (self.model.get(&name).await.unwrap(), self.f.engine.get(&name).await.unwrap());
            assert_eq!(a.map(plain_task), b.map(plain_task), "task {name}, {}", self.at);
        }
        let a = self.model.dead_letters(0, 1_000).await.unwrap().copies;
        let b = self.f.engine.dead_letters(0, 1_000).await.unwrap().copies;
        let plain =
            |copies: Vec<DeadTask>| copies.into_iter().map(|it| (plain_task(it.task), it.fingerprint)).collect();
        let (a, b): (Vec<_>, Vec<_>) = (plain(a), plain(b));
        assert_eq!(a, b, "outbox, {}", self.at);
        let stats: [Vec<QueueStats>; 2] =
            [first_queues(&self.model, usize::MAX).await.unwrap(), self.f.all_stats().await];
        assert_eq!(stats[0], stats[1], "stats, {}", self.at);
        for by in [Grain::Minute, Grain::Hour] {
            let (a, b) = (history(&self.model, by).await, history(&*self.f.engine, by).await);
            assert_eq!(a, b, "history by {by:?}, {}", self.at);
        }
        let filter = TaskFilter {
            statuses: self.random.one_of(&[vec![], vec![Status::Submitted, Status::Completed]]),
            queue: self.random.one_of(&[None, Some(queue("mail"))]),
            version: self.random.one_of(&[None, Some(1)]),
            ..TaskFilter::default()
        };
        let limit = 1 + usize::try_from(self.random.below(6)).unwrap();
        let a = walk(&self.model, &filter, limit).await;
        let b = walk(&*self.f.engine, &filter, limit).await;
        assert_eq!(a, b, "list {filter:?} by {limit}, {}", self.at);
    }
}

/// What happened in each queue; of the times how many tasks they count, because some stand for others.
async fn history(engine: &dyn Engine, by: Grain) -> Vec<Vec<(Timestamp, Counts, u64, u64)>> {
    let history = engine.history(&QUEUES.map(queue), by).await.unwrap();
    let plain = |slot: Slot| (slot.at, slot.counts, slot.waited.total(), slot.ran.total());
    history.queues.into_iter().map(|slots| slots.into_iter().map(plain).collect()).collect()
}

async fn walk(engine: &dyn Engine, filter: &TaskFilter, limit: usize) -> Vec<Task> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = engine.list(ListRequest { filter: filter.clone(), limit, cursor }).await.unwrap();
        all.extend(page.tasks.into_iter().map(plain_task));
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

/// Without what engines number and word for themselves.
fn plain_task(mut task: Task) -> Task {
    task.revision = 0;
    task.lease = task.lease.map(|lease| Lease { fence: Fence(0), ..lease });
    for error in task.errors.iter_mut().filter(|error| error.kind == FailureKind::Crash) {
        error.message.clear();
    }
    task
}

/// Leases that end at the same time have no order.
fn plain_reclaimed(mut reclaimed: Reclaimed) -> Reclaimed {
    reclaimed.ended.sort_by_key(|task| format!("{task:?}"));
    reclaimed
}

fn plain_reply(mut reply: CycleReply) -> CycleReply {
    reply.config_version = 0;
    reply.reclaimed = plain_reclaimed(reply.reclaimed);
    reply.cancel_requested.sort();
    if !reply.claimed.is_empty() {
        // Engines may be more careful than the model.
        (reply.more, reply.next_due) = (false, None);
    }
    for task in &mut reply.claimed {
        task.fence = Fence(0);
    }
    reply
}
