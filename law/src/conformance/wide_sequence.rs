//! Random fan-outs that are wider than what one step signals, on an engine and on the model: predecessors end, are sent again,
//! replaced, purged and pruned while earlier ends are still to be signalled. The model signals at once, so every successor must
//! end in the same way once the engine has signalled all.

use std::sync::Arc;

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{
        ClaimRequest, Cycle, Engine, OnConflict, Outcome, PruneRequest, PruneScope, PutMode, QueueClaim, Queues,
        Resubmit, Settlement, Submit, TaskFilter, Tasks,
    },
    limits::SIGNALS_A_STEP,
    name::TaskId,
    queue::QueueConfig,
    task::NewTask,
    time::Clock,
};

use super::{
    DONE, Fixture, LEASE, audit::assert_sound, dependencies::edge, failed, failure, id, queue, random::Random, task,
    task_in, worker,
};
use crate::model::ModelEngine;

/// Predecessors are in the queue `default`, successors in this one.
const SUCCESSORS: &str = "mail";
const PREDECESSORS: u64 = 4;
const STEPS: usize = 50;

pub async fn random_wide_fan_outs_end_as_those_of_the_model(f: Fixture) {
    run(&f, 0x51de_0f7e).await;
}

/// Runs the operations of a seed.
///
/// # Panics
/// At the first successor that differs from the model's, naming the seed.
pub async fn run(f: &Fixture, seed: u64) {
    let model = ModelEngine::new(Arc::clone(&f.clock) as Arc<dyn Clock>);
    let mut pair = Pair { f, model, random: Random::new(seed), successors: Vec::new() };
    for engine in pair.engines() {
        engine.put_queue(QueueConfig::new(queue(SUCCESSORS)), PutMode::Upsert).await.unwrap();
    }
    for step in 0..STEPS {
        pair.step(&format!("seed {seed:#x}, step {step}")).await;
    }
    pair.signal_all().await;
    for ids in pair.successors.chunks(1_000) {
        let (a, b) = (pair.model.statuses(ids).await.unwrap(), f.engine.statuses(ids).await.unwrap());
        for ((id, a), b) in ids.iter().zip(a).zip(b) {
            assert_eq!(a, b, "{id}, seed {seed:#x}");
        }
        let (a, b) = (pair.model.times(ids).await.unwrap(), f.engine.times(ids).await.unwrap());
        for ((id, a), b) in ids.iter().zip(a).zip(b) {
            assert_eq!(a, b, "times of {id}, seed {seed:#x}");
        }
    }
    assert_sound(f, 500, false).await;
}

struct Pair<'a> {
    f: &'a Fixture,
    model: ModelEngine,
    random: Random,
    successors: Vec<TaskId>,
}

impl Pair<'_> {
    fn engines(&self) -> [&dyn Engine; 2] {
        [&self.model, &*self.f.engine]
    }

    fn predecessor(&mut self) -> String {
        format!("p{}", self.random.below(PREDECESSORS))
    }

    async fn step(&mut self, at: &str) {
        match self.random.below(100) {
            0..30 => self.submit_successors(at).await,
            30..35 => self.submit_fan_in(at).await,
            35..65 => self.run_one(at).await,
            65..80 => {
                let wish = Resubmit::of_store(id(&self.predecessor()));
                let a = self.model.resubmit(vec![wish.clone()]).await;
                assert_eq!(a, self.f.engine.resubmit(vec![wish]).await, "{at}");
            }
            80..90 => self.replace(at).await,
            90..93 => {
                let ids = [id(&self.predecessor())];
                assert_eq!(self.model.cancel(&ids).await, self.f.engine.cancel(&ids).await, "{at}");
            }
            93..95 => self.cancel_successors(at).await,
            95..97 => {
                let name = queue("default");
                let a = self.model.purge_queue(&name, 1_000).await;
                assert_eq!(a, self.f.engine.purge_queue(&name, 1_000).await, "{at}");
            }
            _ => self.prune().await,
        }
    }

    /// Tasks that wait for one or two predecessors, more than a step signals.
    async fn submit_successors(&mut self, at: &str) {
        let count = u64::try_from(SIGNALS_A_STEP).unwrap() + self.random.below(300);
        let mut tasks = Vec::new();
        for _ in 0..count {
            let name = format!("s{:05}", self.successors.len() + tasks.len());
            let (first, second) = (self.random.below(PREDECESSORS), self.random.below(2 * PREDECESSORS));
            let on = [first, second].into_iter().take(if second < PREDECESSORS && second != first { 2 } else { 1 });
            let mut edges = Vec::new();
            for on in on {
                edges.push(edge(&format!("p{on}"), self.random.one_of(&DependencyPolicy::ALL)));
            }
            tasks.push(NewTask { depends_on: edges, ..task_in(&name, SUCCESSORS) });
        }
        let batch = Submit { tasks, on_conflict: OnConflict::Fail };
        let a = self.model.submit(batch.clone()).await.map(|_| ());
        let b = self.f.engine.submit(batch.clone()).await.map(|_| ());
        assert_eq!(a, b, "{at}");
        if a.is_ok() {
            self.successors.extend(batch.tasks.into_iter().map(|task| task.id));
        }
    }

    /// Ticks until the engine has signalled all ends, as the model has.
    async fn signal_all(&self) {
        for _ in 0..=(8 * self.successors.len() + 40_000) / SIGNALS_A_STEP {
            self.f.engine.promote_due(1_000).await.unwrap();
        }
    }

    async fn cancel_successors(&mut self, at: &str) {
        self.signal_all().await;
        let ids = self.some_successors(400);
        assert_eq!(self.model.cancel(&ids).await, self.f.engine.cancel(&ids).await, "{at}");
    }

    /// Up to so many of the successors, next to each other.
    fn some_successors(&mut self, most: u64) -> Vec<TaskId> {
        let from = usize::try_from(self.random.below(1 + self.successors.len() as u64)).unwrap();
        let count = usize::try_from(self.random.below(most)).unwrap();
        self.successors.iter().skip(from).take(count).cloned().collect()
    }

    /// A task that waits for more successors than a step links, if there are so many.
    async fn submit_fan_in(&mut self, at: &str) {
        let policies =
            [DependencyPolicy::RunWithFailures, DependencyPolicy::RunWithFailures, DependencyPolicy::RunOnError];
        let policy = self.random.one_of(&policies);
        let on = self.some_successors(4_000);
        let depends_on = on.into_iter().map(|on| Dependency { on, policy }).collect();
        let name = format!("s{:05}", self.successors.len());
        let batch =
            Submit { tasks: vec![NewTask { depends_on, ..task_in(&name, SUCCESSORS) }], on_conflict: OnConflict::Fail };
        let a = self.model.submit(batch.clone()).await.map(|_| ());
        assert_eq!(a, self.f.engine.submit(batch).await.map(|_| ()), "{at}");
        self.successors.push(id(&name));
    }

    /// Claims a predecessor and ends it.
    async fn run_one(&mut self, at: &str) {
        let outcome = self.random.one_of(&[DONE, failed(false), Outcome::Aborted { failure: failure("void") }]);
        let mut claimed = Vec::new();
        for engine in self.engines() {
            let queues = vec![QueueClaim { queue: queue("default"), limit: 1 }];
            let claim = ClaimRequest { queues, refused: Vec::new(), limit: 1, lease: LEASE };
            let cycle = Cycle { worker: worker("w1"), settlements: Vec::new(), claim: Some(claim) };
            let task = engine.cycle(cycle).await.unwrap().claimed.pop();
            if let Some(task) = &task {
                let settlements = vec![Settlement::new(task.id.clone(), task.fence, outcome.clone())];
                engine.cycle(Cycle { worker: worker("w1"), settlements, claim: None }).await.unwrap();
            }
            claimed.push(task.map(|task| task.id));
        }
        assert_eq!(claimed[0], claimed[1], "{at}");
    }

    /// Stores a predecessor, in the place of one of its id if there is one.
    async fn replace(&mut self, at: &str) {
        let task =
            NewTask { version: 1 + u32::try_from(self.random.below(1_000)).unwrap(), ..task(&self.predecessor()) };
        let batch = Submit { tasks: vec![task], on_conflict: OnConflict::Replace };
        let a = self.model.submit(batch.clone()).await;
        assert_eq!(a, self.f.engine.submit(batch).await, "{at}");
    }

    /// Deletes the predecessors that are over.
    async fn prune(&mut self) {
        for engine in self.engines() {
            let filter = TaskFilter { queue: Some(queue("default")), ..TaskFilter::default() };
            let scope = PruneScope::Matching { filter, finished_before: None, larger_than: None };
            engine.prune(PruneRequest { scope, limit: 1_000, dry_run: false, cursor: None }).await.unwrap();
        }
    }
}
