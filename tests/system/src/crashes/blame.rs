//! Who is blamed when a worker dies with many tasks: the task that killed it, and no other.
//!
//! All by the default policies; only the lease is shorter, since each death costs one.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use jobbers_test_support::{program::Program, wait::until};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

on_both_engines!(
    one_poison_task_fails_alone_and_does_not_hold_the_others_up,
    forty_long_tasks_outlive_three_kills_of_their_worker,
    forty_leases_over_http_outlive_three_workers,
);

/// One worker with as many slots as by default.
const WORKER: [(&str, &str); 2] = [("WORKER_LEASE", "2s"), ("WORKER_CONCURRENT_TASKS", "64")];
/// How many ordinary tasks the poison comes with.
const NEIGHBOURS: usize = 400;
/// So many wait at least, so that the worker never lacks work.
const BACKLOG: u64 = 300;
const BATCH: usize = 200;
/// For how long a rate without poison is measured.
const CALM: Duration = Duration::from_secs(4);
const LONG: Duration = Duration::from_secs(120);

/// A worker that is started again each time it dies, and for how long it has been up.
struct Shift<'a> {
    stack: &'a Stack,
    worker: Program,
    up_since: Instant,
    up_before: Duration,
    deaths: usize,
}

impl<'a> Shift<'a> {
    async fn begin(stack: &'a Stack) -> Self {
        let worker = stack.worker_with(&WORKER).await;
        Self { stack, worker, up_since: Instant::now(), up_before: Duration::ZERO, deaths: 0 }
    }

    /// Starts it again whenever it dies. Never returns.
    async fn go_on(&mut self) {
        loop {
            until(LONG, "the worker dies", async || self.worker.has_ended().then_some(())).await;
            self.up_before += self.up_since.elapsed();
            self.deaths += 1;
            self.worker = self.stack.worker_with(&WORKER).await;
            self.up_since = Instant::now();
        }
    }

    fn up(&self) -> Duration {
        self.up_before + self.up_since.elapsed()
    }
}

/// The ordinary tasks, numbered.
struct Neighbours {
    submitted: usize,
}

impl Neighbours {
    fn next(&mut self, count: usize) -> Vec<Value> {
        let first = self.submitted;
        self.submitted += count;
        (first..self.submitted).map(|n| json!({"id": format!("n{n}"), "name": "nap"})).collect()
    }

    /// Keeps a backlog until `is_over`.
    async fn feed(&mut self, manager: &Manager, mut is_over: impl AsyncFnMut() -> bool) {
        until(LONG, "what the work goes on for", async || {
            let waiting = counts(manager).await["submitted"].as_u64().unwrap_or(0);
            if waiting < BACKLOG {
                let tasks = self.next(BATCH);
                manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
            }
            is_over().await.then_some(())
        })
        .await;
    }
}

async fn counts(manager: &Manager) -> Value {
    manager.api.get("/queues/default").await.ok()["tasks"].clone()
}

/// Ordinary tasks done so far.
fn done(stack: &Stack) -> usize {
    stack.effects.count("done").len()
}

/// Ordinary tasks done for each second that the worker is up, while none does harm.
async fn calm_rate(stack: &Stack, manager: &Manager, shift: &mut Shift<'_>, others: &mut Neighbours) -> f64 {
    let (before, up_before, began) = (done(stack), shift.up(), Instant::now());
    tokio::select! {
        () = shift.go_on() => {}
        () = others.feed(manager, async || began.elapsed() >= CALM) => {}
    }
    rate(done(stack) - before, shift.up() - up_before)
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn rate(tasks: usize, up: Duration) -> f64 {
    tasks as f64 / up.as_secs_f64()
}

async fn one_poison_task_fails_alone_and_does_not_hold_the_others_up(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let mut shift = Shift::begin(&stack).await;
    let mut others = Neighbours { submitted: 0 };
    let calm_before = calm_rate(&stack, &manager, &mut shift, &mut others).await;

    let mut batch = others.next(NEIGHBOURS);
    batch.insert(NEIGHBOURS / 2, json!({"id": "poison", "name": "die", "dead_letter": "save"}));
    let (before, up_before) = (done(&stack), shift.up());
    manager.api.post("/tasks", &json!({"tasks": batch})).await.ok();
    let poison_is_over = async || manager.api.task("poison").await["status"] == "failed";
    tokio::select! {
        () = shift.go_on() => {}
        () = others.feed(&manager, poison_is_over) => {}
    }
    let poisoned = rate(done(&stack) - before, shift.up() - up_before);
    let (up, deaths) = (shift.up() - up_before, shift.deaths);

    let calm_after = calm_rate(&stack, &manager, &mut shift, &mut others).await;
    until(LONG, "every other task is over", async || {
        let counts = counts(&manager).await;
        let live = ["submitted", "scheduled", "started"].iter().filter_map(|status| counts[*status].as_u64());
        (live.sum::<u64>() == 0).then_some(())
    })
    .await;
    let counts = counts(&manager).await;
    let report = format!(
        "{kind:?}: {deaths} deaths in {up:.1?}, {poisoned:.0} tasks/s beside the poison, {calm_before:.0} before and \
         {calm_after:.0} after it, ended as {counts}"
    );
    println!("{report}");
    assert_eq!((&counts["failed"], &counts["completed"]), (&json!(1), &json!(others.submitted)), "{report}");
    let ran: BTreeSet<String> = stack.effects.count("done").into_keys().collect();
    assert_eq!(ran.len(), others.submitted, "each ran: {report}");
    until(LONG, "the poison is a dead letter", async || {
        let letters = manager.api.get("/dead-letter-queue/stats").await;
        (letters.status == 200 && letters.body["total"] == 1).then_some(())
    })
    .await;
    assert!(poisoned >= calm_before.min(calm_after) / 2.0, "{report}");
    stack.examined().await;
}

async fn forty_long_tasks_outlive_three_kills_of_their_worker(kind: Kind) {
    const TASKS: usize = 40;
    /// All run again within this time of the first kill, and of the third.
    const AFTER_FIRST: Duration = Duration::from_secs(10);
    const AFTER_THIRD: Duration = Duration::from_secs(180);
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let ids: Vec<String> = (0..TASKS).map(|n| format!("long{n}")).collect();
    let tasks: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "hold"})).collect();
    manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    let started_on = |pid: u32| stack.effects.all().iter().filter(|effect| effect.pid == pid).count();
    let mut took = Vec::new();
    // The third starts what was lost twice a few at a time.
    for fewest in [TASKS, TASKS, TASKS / 4] {
        let (mut worker, began) = (stack.worker_with(&WORKER).await, Instant::now());
        let pid = worker.pid();
        until(LONG, "they run", async || (started_on(pid) >= fewest).then_some(())).await;
        took.push(began.elapsed());
        worker.kill().await;
    }
    let (worker, began) = (stack.worker_with(&WORKER).await, Instant::now());
    let pid = worker.pid();
    until(AFTER_THIRD, "all run again", async || (started_on(pid) == TASKS).then_some(())).await;
    let after_third = began.elapsed();
    stack.release();
    let mut ends = Vec::new();
    for id in &ids {
        let task = manager.api.finished(id).await;
        ends.push((task["status"].as_str().unwrap().to_owned(), task["crashes"].as_u64().unwrap()));
    }
    let failed = ends.iter().filter(|(status, _)| status != "completed").count();
    println!(
        "{kind:?}: {TASKS} long tasks run again {:.1?} after the first kill and {after_third:.1?} after the third, {failed} failed",
        took[1]
    );
    assert_eq!(failed, 0, "{ends:?}");
    assert!(took[1] < AFTER_FIRST, "{took:?}");
    assert!(ends.iter().all(|(_, crashes)| *crashes >= 2), "the kills hit: {ends:?}");
    stack.examined().await;
}

/// A worker that leases over HTTP and only extends what it holds.
struct Leaser<'a> {
    manager: &'a Manager,
    name: String,
    held: Vec<Value>,
}

impl<'a> Leaser<'a> {
    const LEASE: &'static str = "4s";
    /// How long it waits for tasks before it extends those it has.
    const WAIT: &'static str = "500ms";

    fn new(manager: &'a Manager, name: String) -> Self {
        Self { manager, name, held: Vec::new() }
    }

    /// Leases what it can get and extends what it holds, until it holds so many.
    async fn hold(&mut self, tasks: usize) {
        while self.held.len() < tasks {
            let body = json!({
                "worker": self.name, "queues": ["default"], "tasks": ["hold"], "limit": 64, "lease": Self::LEASE,
                "wait": Self::WAIT,
            });
            let mut answer = self.manager.api.post("/leases", &body).await.ok();
            self.held.append(answer["leases"].as_array_mut().unwrap());
            if !self.held.is_empty() {
                self.extend().await;
            }
        }
    }

    /// Keeps what is still its own.
    async fn extend(&mut self) {
        let leases: Vec<Value> = self.held.iter().map(|it| json!({"id": it["id"], "token": it["token"]})).collect();
        let body = json!({"worker": self.name, "lease": Self::LEASE, "leases": leases});
        let answer = self.manager.api.post("/leases/extend", &body).await.ok();
        let mut extended = answer["leases"].as_array().unwrap().iter().map(|lease| lease["extended"] == true);
        self.held.retain(|_| extended.next().unwrap());
    }

    async fn complete(self) {
        let leases: Vec<Value> =
            self.held.iter().map(|it| json!({"id": it["id"], "token": it["token"], "outcome": "completed"})).collect();
        self.manager.api.post("/leases/return", &json!({"worker": self.name, "leases": leases})).await.ok();
    }
}

async fn forty_leases_over_http_outlive_three_workers(kind: Kind) {
    const TASKS: usize = 40;
    const AFTER_FIRST: Duration = Duration::from_secs(10);
    const AFTER_THIRD: Duration = Duration::from_secs(180);
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let ids: Vec<String> = (0..TASKS).map(|n| format!("long{n}")).collect();
    let tasks: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "hold"})).collect();
    manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    let mut took = Vec::new();
    // Each falls silent with what it holds. The third gets what was lost twice a few at a time.
    for (turn, fewest) in [TASKS, TASKS, TASKS / 4, TASKS].into_iter().enumerate() {
        let (mut worker, began) = (Leaser::new(&manager, format!("leaser{turn}")), Instant::now());
        tokio::time::timeout(AFTER_THIRD, worker.hold(fewest)).await.expect("it gets them");
        took.push(began.elapsed());
        if turn == 3 {
            worker.complete().await;
        }
    }
    println!("{kind:?}: {TASKS} leases over HTTP are held again after {took:.1?}");
    assert!(took[1] < AFTER_FIRST, "{took:?}");
    for id in &ids {
        let task = manager.api.finished(id).await;
        assert_eq!(task["status"], "completed", "{task}");
        assert!(task["crashes"].as_u64().unwrap() >= 2, "it was lost: {task}");
    }
    stack.examined().await;
}
