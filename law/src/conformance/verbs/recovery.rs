//! How soon what dead workers held runs again, and how soon the culprit is found: workers, tasks and deaths played through
//! on a store, second by second, by default policies. Each case prints its figures.

#![expect(clippy::print_stdout, reason = "the figures are part of what these cases show")]

use std::{collections::BTreeMap, time::Duration};

use jobbers_common::{
    engine::{Extension, Settlement},
    lifecycle::Status,
    name::TaskId,
    task::{ClaimedTask, NewTask},
    time::{Clock, Timestamp},
};

use crate::conformance::{DONE, Fixture, LEASE, audit::assert_sound, id, seconds, task, worker};

/// As many slots as a worker has by default.
const SLOTS: usize = 64;
/// Every other tick the leases are renewed.
const TICK: Duration = Duration::from_secs(1);

/// Nodes with a worker each, which is started again under another name when it dies.
struct World<'a> {
    f: &'a Fixture,
    /// How long each task runs.
    length: fn(&TaskId) -> Duration,
    /// How long `poison` runs before it kills its worker.
    kills_after: Duration,
    tick: Duration,
    workers: Vec<Worker>,
    deaths: usize,
    completed: usize,
    ticks: u32,
}

struct Worker {
    name: String,
    held: BTreeMap<TaskId, ClaimedTask>,
}

impl<'a> World<'a> {
    fn new(f: &'a Fixture, nodes: usize, length: fn(&TaskId) -> Duration, kills_after: Duration) -> Self {
        let workers = (0..nodes).map(|node| Worker { name: format!("n{node}-0"), held: BTreeMap::new() }).collect();
        Self { f, length, kills_after, tick: TICK, workers, deaths: 0, completed: 0, ticks: 0 }
    }

    fn now(&self) -> Timestamp {
        self.f.clock.now()
    }

    /// A node loses its worker and starts another.
    fn kill(&mut self, node: usize) {
        self.deaths += 1;
        self.workers[node] = Worker { name: format!("n{node}-{}", self.deaths), held: BTreeMap::new() };
    }

    /// Some time passes: tasks end, leases are renewed at every other tick, expired ones taken back, free slots filled.
    async fn tick(&mut self) {
        self.f.advance(self.tick);
        self.ticks += 1;
        let (now, poison) = (self.now(), id("poison"));
        for node in 0..self.workers.len() {
            let has_run = |it: &ClaimedTask, length| it.started_at.after(length) <= now;
            if self.workers[node].held.get(&poison).is_some_and(|it| has_run(it, self.kills_after)) {
                self.kill(node);
            }
            let length = self.length;
            let held = &mut self.workers[node].held;
            let ended: Vec<ClaimedTask> =
                held.extract_if(.., |id, it| *id != poison && has_run(it, length(id))).map(|(_, task)| task).collect();
            self.completed += ended.len();
            if self.ticks.is_multiple_of(2) && !held.is_empty() {
                let renew = |it: &ClaimedTask| Extension { id: it.id.clone(), fence: it.fence, heartbeat: None };
                let renewals = held.values().map(renew).collect();
                self.f.engine.extend(&worker(&self.workers[node].name), LEASE, renewals).await.unwrap();
            }
            let ended = ended.iter().map(|it| Settlement::new(it.id.clone(), it.fence, DONE)).collect();
            self.fill(node, ended).await;
        }
        self.f.engine.reclaim_expired(1_000).await.unwrap();
    }

    async fn fill(&mut self, node: usize, mut settlements: Vec<Settlement>) {
        let Worker { name, held } = &mut self.workers[node];
        loop {
            let free = SLOTS - held.len();
            let reply = self.f.cycle_as(name, &["default"], free, std::mem::take(&mut settlements)).await;
            held.extend(reply.claimed.into_iter().map(|task| (task.id.clone(), task)));
            if !reply.more || held.len() == SLOTS {
                return;
            }
        }
    }

    async fn run_for(&mut self, length: Duration) {
        let end = self.now().after(length);
        while self.now() < end {
            self.tick().await;
        }
    }

    fn running(&self) -> usize {
        self.workers.iter().map(|worker| worker.held.len()).sum()
    }

    /// How long it takes until so many tasks run.
    async fn until_running(&mut self, tasks: usize) -> Duration {
        let began = self.now();
        while self.running() < tasks {
            self.tick().await;
        }
        self.now().since(began)
    }
}

fn numbered(prefix: &str, count: usize) -> Vec<NewTask> {
    (0..count).map(|n| task(&format!("{prefix}{n:04}"))).collect()
}

pub async fn poison_among_many_is_found_soon_and_holds_nothing_up(f: Fixture) {
    const INNOCENTS: usize = 400;
    for kills_after in [1, 4] {
        let mut world = World::new(&f, 1, |_| TICK, seconds(kills_after));
        let (first, second) = (format!("a{kills_after}-"), format!("b{kills_after}-"));
        f.submit(numbered(&first, INNOCENTS / 2)).await;
        f.submit(vec![task("poison")]).await;
        f.submit(numbered(&second, INNOCENTS / 2)).await;
        let (mut fed, began) = (0, f.clock.now());
        while f.status("poison").await != Status::Failed {
            if f.count(Status::Submitted).await < 300 {
                f.submit(numbered(&format!("c{kills_after}-{fed}-"), INNOCENTS)).await;
                fed += 1;
            }
            world.tick().await;
        }
        let took = f.clock.now().since(began);
        // Without poison each slot ends a task a second.
        let share = world.completed as f64 / (SLOTS as f64 * took.as_secs_f64());
        let poison = f.get("poison").await;
        let deaths = world.deaths;
        while f.count(Status::Submitted).await + f.count(Status::Started).await > 0 {
            world.tick().await;
        }
        println!(
            "poison that kills after {kills_after} s among {INNOCENTS} and more: found in {deaths} deaths and {took:?}, \
             {:.0} % of the throughput of the others, {} of them failed",
            share * 100.0,
            f.count(Status::Failed).await - 1
        );
        assert!(deaths <= 8 && share > 0.5, "{deaths} deaths, {share:.2}");
        assert_eq!((f.count(Status::Failed).await, poison.blames), (1, 3));
        f.engine.delete_tasks(&[id("poison")], false).await.unwrap();
    }
    assert_sound(&f, 1_000, false).await;
}

pub async fn long_tasks_run_again_soon_after_three_kills_of_their_node(f: Fixture) {
    const TASKS: usize = 40;
    // How long the worker runs before each kill, and within what time all tasks must run again.
    for (apart, most) in [(10, 180), (600, 660)] {
        let mut world = World::new(&f, 1, |_| seconds(3_600), TICK);
        f.submit(numbered(&format!("long{apart}-"), TASKS)).await;
        assert_eq!(world.until_running(TASKS).await, TICK);
        world.run_for(seconds(apart)).await;
        world.kill(0);
        let first = world.until_running(TASKS).await;
        assert!(first <= seconds(10), "after the first kill: {first:?}");
        world.run_for(seconds(apart).saturating_sub(first)).await;
        world.kill(0);
        world.run_for(seconds(apart)).await;
        world.kill(0);
        let third = world.until_running(TASKS).await;
        println!(
            "{TASKS} tasks of an hour, kills {apart} s apart: all run {first:?} after the first, {third:?} after the third"
        );
        assert!(third <= seconds(most), "after the third kill: {third:?}");
        assert_eq!(f.count(Status::Failed).await, 0);
        let ended: Vec<Settlement> =
            world.workers[0].held.values().map(|it| Settlement::new(it.id.clone(), it.fence, DONE)).collect();
        f.cycle_as(&world.workers[0].name, &["default"], 0, ended).await;
    }
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_task_that_kills_its_worker_late_is_found(f: Fixture) {
    const INNOCENTS: u64 = 39;
    let mut world = World::new(&f, 1, |_| seconds(1_800), seconds(600));
    // The leases are renewed just in time, so that there is less to play through.
    world.tick = LEASE / 2 - TICK;
    f.submit(numbered("a", 20)).await;
    f.submit(vec![task("poison")]).await;
    f.submit(numbered("b", 19)).await;
    let began = f.clock.now();
    while f.status("poison").await != Status::Failed {
        world.tick().await;
    }
    let (took, deaths) = (f.clock.now().since(began), world.deaths);
    let stats = f.stats("default").await;
    println!(
        "poison that kills after ten minutes among {INNOCENTS} tasks of half an hour: found in {deaths} deaths and {took:?}, {} of \
         the others completed by then",
        world.completed
    );
    let live: u64 =
        [Status::Submitted, Status::Started, Status::Completed].iter().filter_map(|it| stats.tasks.get(it)).sum();
    assert_eq!((live, stats.tasks.get(&Status::Failed)), (INNOCENTS, Some(&1)));
    assert!(deaths <= 16, "{deaths} deaths");
    assert_sound(&f, 1_000, false).await;
}
