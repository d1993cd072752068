//! Random graphs of tasks that wait for others, run to their ends with failures, aborts, retries, cancels, lost leases,
//! and settlements that come twice or too late.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{Outcome, SettleAnswer},
    lifecycle::Status,
    policy::{Exhausted, PolicyOverrides},
    task::{ClaimedTask, NewTask},
};

use crate::conformance::{
    DONE, Fixture, LEASE, RELEASED, audit::assert_sound, dependencies::edge, failed, failure, id, random::Random,
    retry, seconds, task,
};

/// The most predecessors of a task.
const MOST_EDGES: u64 = 4;

pub async fn random_graphs_run_to_their_end(f: Fixture) {
    for seed in 0..12 {
        run(&f, seed, 40).await;
        assert_sound(&f, 20, false).await;
    }
    f.assert_conserved().await;
}

/// A thousand graphs of up to 200 tasks.
pub async fn a_thousand_graphs_run_to_their_end(f: Fixture) {
    for seed in 0..1000 {
        run(&f, seed, 200).await;
        // An audit reads the graphs before, too.
        if seed % 200 == 199 {
            assert_sound(&f, 500, false).await;
        }
    }
    f.assert_conserved().await;
}

/// Runs the graph of a seed, of at most `largest` tasks.
///
/// # Panics
/// When a task runs before its predecessors or twice at a time, ends twice, or is left without an end.
async fn run(f: &Fixture, seed: u64, largest: u64) {
    let mut random = Random::new((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let edges = random_edges(&mut random, seed, largest);
    submit(f, &mut random, &edges).await;
    let mut graph = Graph { f, random, edges, held: BTreeMap::new(), ended: BTreeMap::new() };
    while graph.step().await {}
    graph.assert_ended().await;
}

fn random_edges(random: &mut Random, seed: u64, largest: u64) -> BTreeMap<String, Vec<Dependency>> {
    let count = 5 + random.below(largest - 4);
    let name = |n: u64| format!("g{seed:03}-{n:03}");
    let edges_of = |n: u64, random: &mut Random| {
        let predecessors: BTreeSet<u64> =
            (0..random.below(MOST_EDGES)).filter(|_| n > 0).map(|_| random.below(n.max(1))).collect();
        predecessors.into_iter().map(|on| edge(&name(on), random.one_of(&DependencyPolicy::ALL))).collect()
    };
    (0..count).map(|n| (name(n), edges_of(n, random))).collect()
}

async fn submit(f: &Fixture, random: &mut Random, edges: &BTreeMap<String, Vec<Dependency>>) {
    let mut tasks = Vec::new();
    for (name, of_task) in edges {
        let max_tries = random.one_of(&[None, None, Some(3)]);
        let exhausted = random.one_of(&[None, Some(Exhausted::Aborted)]).filter(|_| max_tries.is_some());
        let overrides = PolicyOverrides { max_tries, exhausted, ..PolicyOverrides::default() };
        tasks.push(NewTask { depends_on: of_task.clone(), overrides, ..task(name) });
    }
    while !tasks.is_empty() {
        let piece = usize::try_from(1 + random.below(20)).unwrap().min(tasks.len());
        f.submit(tasks.drain(..piece).collect()).await;
    }
}

struct Graph<'a> {
    f: &'a Fixture,
    random: Random,
    edges: BTreeMap<String, Vec<Dependency>>,
    /// What runs. Some of it is left until its lease ends, as by a worker that was killed.
    held: BTreeMap<String, ClaimedTask>,
    /// The first end of each task that a settlement or a cancel reported.
    ended: BTreeMap<String, Status>,
}

impl Graph<'_> {
    /// Claims and settles some tasks. Returns whether anything is left to do.
    async fn step(&mut self) -> bool {
        let wanted = usize::try_from(1 + self.random.below(5)).unwrap();
        let claimed = self.f.claim(wanted).await;
        if claimed.is_empty() {
            return self.lose_leases().await;
        }
        for task in claimed {
            self.assert_may_run(&task).await;
            if self.random.chance(10) {
                self.held.insert(task.id.to_string(), task);
            } else {
                self.settle_twice(&task).await;
            }
            if self.random.chance(3) {
                self.cancel_any().await;
            }
        }
        true
    }

    async fn assert_may_run(&self, task: &ClaimedTask) {
        let name = task.id.as_str();
        assert!(!self.held.contains_key(name), "{name} runs twice at a time");
        assert!(!self.ended.contains_key(name), "{name} runs after its end");
        for Dependency { on, policy } in &self.edges[name] {
            let end = self.f.status(on.as_str()).await;
            assert!(end.is_finished() && !policy.aborts(end), "{name} ran after {on} was {end}");
        }
    }

    async fn settle_twice(&mut self, task: &ClaimedTask) {
        let outcome = match self.random.below(12) {
            0..7 => DONE,
            7 => failed(false),
            8 => Outcome::Aborted { failure: failure("pointless") },
            9 => Outcome::Stalled { failure: failure("silent"), dead_letter: false },
            10 => RELEASED,
            _ => retry(Duration::ZERO),
        };
        let first = self.f.settle(task, outcome.clone()).await;
        let SettleAnswer::Accepted(status) = first else { panic!("{}: {first:?}", task.id) };
        if status.is_finished() {
            assert_eq!(self.ended.insert(task.id.to_string(), status), None, "{} ended twice", task.id);
            assert_eq!(self.f.settle(task, outcome).await, first, "settled twice");
        }
    }

    async fn cancel_any(&mut self) {
        let victim = self.random.one_of(&self.edges.keys().cloned().collect::<Vec<_>>());
        self.f.engine.cancel(&[id(&victim)]).await.unwrap();
        let status = self.f.status(&victim).await;
        if status.is_finished() {
            let first = *self.ended.entry(victim.clone()).or_insert(status);
            assert_eq!(first, status, "the end of {victim} changed");
        }
    }

    /// Lets the leases end of what runs. Returns whether there was any.
    async fn lose_leases(&mut self) -> bool {
        if self.held.is_empty() {
            return false;
        }
        self.f.advance(LEASE + seconds(1));
        while self.f.engine.reclaim_expired(50).await.unwrap().total() > 0 {}
        for (name, task) in std::mem::take(&mut self.held) {
            assert_eq!(self.f.settle(&task, DONE).await, SettleAnswer::LeaseLost, "{name} was settled too late");
        }
        true
    }

    async fn assert_ended(&self) {
        for (name, edges) in &self.edges {
            let status = self.f.status(name).await;
            assert!(status.is_finished(), "{name} is left {status}");
            match self.ended.get(name) {
                Some(first) => assert_eq!(status, *first, "the end of {name} changed"),
                None if status == Status::Aborted => assert!(self.is_abort_due(name, edges).await, "{name}"),
                None => {}
            }
        }
    }

    /// Whether a task that no worker aborted was aborted rightly: for a predecessor, or after its last try.
    async fn is_abort_due(&self, name: &str, edges: &[Dependency]) -> bool {
        for Dependency { on, policy } in edges {
            if policy.aborts(self.f.status(on.as_str()).await) {
                return true;
            }
        }
        self.f.get(name).await.attempt > 0
    }
}
