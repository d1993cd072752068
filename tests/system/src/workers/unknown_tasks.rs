//! A stock worker and a worker of one's own on one queue: each runs what it knows, and neither delays the other.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jobbers_test_support::{api::Api, program::Program, wait::within};
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
    watching::telemetry::{metrics_address, scrape},
};

/// Own tasks of one round: some at once, several times, and some one by one.
const TASKS: usize = 1_000;
const TIMES: usize = 5;
const ONE_BY_ONE: usize = 30;
const PATIENCE: Duration = Duration::from_secs(120);

/// Far above what the stock worker adds, far below what one delay of a second would add to all tasks.
const FACTOR: u32 = 4;
const MARGIN: Duration = Duration::from_secs(2);

/// How often a worker over HTTP that does not know a task asks before a worker that knows it starts.
const ASKED: usize = 6;
/// How long, in seconds, a worker that knows tasks leaves them at most: the longest delay of young ones is a second.
const AT_ONCE: f64 = 5.0;

on_both_engines!(
    a_stock_worker_beside_one_s_own_delays_no_own_task,
    time_in_queue_includes_the_delays_of_give_backs,
    tasks_that_a_worker_over_http_was_offered_run_once_a_worker_that_knows_them_starts,
);

/// What a round of own tasks took.
struct Round {
    /// The median from the submission of all at once to the end of the last.
    together: Duration,
    /// The median from the submission of one task to its end.
    alone: Duration,
    /// The same of tasks that fail twice and are retried after 20 ms each.
    retried: Duration,
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

async fn one_by_one(api: &Api, task: &Value) -> Duration {
    let mut times = Vec::new();
    for _ in 0..ONE_BY_ONE {
        let start = Instant::now();
        let id = api.submit(task).await;
        assert_eq!(api.finished(&id).await["status"], "completed");
        times.push(start.elapsed());
    }
    median(times)
}

async fn at_once(manager: &Manager, name: &str) -> Duration {
    let start = Instant::now();
    let ids: Vec<String> = (0..TASKS).map(|n| format!("{name}-{n}")).collect();
    let batch: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": "note"})).collect();
    manager.api.post("/tasks", &json!({ "tasks": batch })).await.ok();
    within(PATIENCE, "the last own task ends", manager.api.finished(ids.last().unwrap())).await;
    let took = start.elapsed();
    let tasks = join_all(ids.iter().step_by(10).map(|id| manager.api.finished(id))).await;
    for task in tasks {
        assert_eq!((&task["status"], &task["attempt"]), (&json!("completed"), &json!(1)), "{task}");
        assert_eq!(task["ready_at"], task["submitted_at"], "no give-back delayed it: {task}");
    }
    took
}

async fn round(manager: &Manager, name: &str) -> Round {
    let mut times = Vec::new();
    for n in 0..TIMES {
        times.push(at_once(manager, &format!("{name}-{n}")).await);
    }
    let together = median(times);
    let alone = one_by_one(&manager.api, &json!({"name": "note"})).await;
    let retried = one_by_one(&manager.api, &json!({"name": "flaky", "retry_delay": "20ms"})).await;
    Round { together, alone, retried }
}

/// Waits until so many workers are registered for the default queue.
async fn registered(api: &Api, count: usize) {
    within(PATIENCE, "the workers register", async {
        let serves =
            |worker: &&Value| worker["queues"].as_array().is_some_and(|queues| queues.contains(&json!("default")));
        while api.get("/workers").await.ok()["workers"].as_array().unwrap().iter().filter(serves).count() != count {}
    })
    .await;
}

/// The sum of a histogram, or the value of a counter, that a program exposes.
async fn exposed(program: &Program, name: &str) -> f64 {
    let lines = scrape(metrics_address(program).await).await;
    let of_name = lines.iter().filter(|line| line.split(['{', ' ']).next() == Some(name));
    of_name.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

async fn a_stock_worker_beside_one_s_own_delays_no_own_task(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _own = stack.worker().await;
    registered(&manager.api, 1).await;
    let warm = round(&manager, "warm").await;
    let without = round(&manager, "without").await;
    let stock = stack.worker_program("worker", &[("METRICS_LISTEN", "127.0.0.1:0")]).await;
    registered(&manager.api, 2).await;
    let first = round(&manager, "first").await;
    let with = round(&manager, "with").await;
    println!("{kind:?}: {TASKS} own tasks at once; one by one (median); with two retries after 20 ms (median)");
    for (who, round) in [("own, warming up", &warm), ("own alone", &without), ("with stock", &first), ("again", &with)]
    {
        println!("{who:>16}: {:>9.1?} {:>9.1?} {:>9.1?}", round.together, round.alone, round.retried);
    }
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "{:>16}: {:>8.2}x {:>8.2}x {:>8.2}x",
        "ratio",
        ratio(with.together, without.together),
        ratio(with.alone, without.alone),
        ratio(with.retried, without.retried)
    );
    let leased = exposed(&stock, "jobbers_claim_batch_size_sum").await;
    println!("{:>16}: {leased} of {} own tasks", "leased by stock", 2 * (TIMES * TASKS + 2 * ONE_BY_ONE));
    assert!(leased <= 128.0, "the stock worker leased {leased} tasks that it does not know");
    // It gets to know each of the two kinds by a lease of it, in whichever round that is, and then leases none.
    let mut rounds = 0;
    loop {
        let before = exposed(&stock, "jobbers_claim_batch_size_sum").await;
        round(&manager, &format!("last-{rounds}")).await;
        if (exposed(&stock, "jobbers_claim_batch_size_sum").await - before).abs() < 0.5 {
            break;
        }
        rounds += 1;
        assert!(rounds <= 2, "it goes on leasing kinds that it knows to be another worker's");
    }
    assert!(stock.said().contains("left to the workers that know it"), "{}", stock.said());
    assert!(!stock.said().contains("no live worker of its queue knows"), "{}", stock.said());
    for (with, without) in
        [(with.together, without.together), (with.alone, without.alone), (with.retried, without.retried)]
    {
        assert!(with < without * FACTOR + MARGIN, "{with:?} with the stock worker, {without:?} without");
    }
    let echo = manager.api.submit(&json!({"name": "echo", "parameters": {"still": "run"}})).await;
    assert_eq!(manager.api.finished(&echo).await["status"], "completed", "the stock worker runs what it knows");
    stack.examined().await;
}

async fn time_in_queue_includes_the_delays_of_give_backs(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let _stock = stack.stock_worker().await;
    registered(&manager.api, 1).await;
    let submitted = Instant::now();
    let id = manager.api.submit(&json!({"name": "note"})).await;
    let given_back = manager.api.standing(&id, "scheduled").await;
    assert_ne!(given_back["ready_at"], given_back["submitted_at"], "it is tried again later");
    let own = stack.worker_with(&[("METRICS_LISTEN", "127.0.0.1:0")]).await;
    let task = manager.api.finished(&id).await;
    let waited = submitted.elapsed();
    assert_eq!(task["ready_at"], task["submitted_at"], "it was ready all the time");
    let counted = Duration::from_secs_f64(exposed(&own, "time_in_queue_milliseconds_sum").await / 1_000.0);
    println!("{kind:?}: waited {waited:?}, counted {counted:?}");
    assert!(counted >= Duration::from_millis(900) && counted <= waited, "{counted:?} counted of {waited:?}");
}

fn seconds(time: &Value) -> f64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_microsecond() as f64 / 1e6
}

async fn tasks_that_a_worker_over_http_was_offered_run_once_a_worker_that_knows_them_starts(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    let ask = json!({"worker": "py", "queues": ["default"], "tasks": ["resize"], "limit": 10, "wait": "1s"});
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(manager.api.submit(&json!({"name": "note"})).await);
    }
    for _ in 0..ASKED {
        assert_eq!(manager.api.post("/leases", &ask).await.ok()["leases"], json!([]));
    }
    let asking = async {
        loop {
            assert_eq!(manager.api.post("/leases", &ask).await.ok()["leases"], json!([]));
        }
    };
    let running = async {
        let own = stack.worker().await;
        registered(&manager.api, 2).await;
        let workers = manager.api.get("/workers").await.ok();
        let workers = workers["workers"].as_array().unwrap();
        let started = seconds(&workers.iter().find(|worker| worker["role"] != "http").unwrap()["started_at"]);
        for id in &ids {
            let task = manager.api.finished(id).await;
            assert_eq!(task["status"], "completed", "{task}");
            let waited = seconds(&task["started_at"]) - started;
            assert!(waited < AT_ONCE, "it waited for {waited} s after its worker had started: {task}");
        }
        own
    };
    tokio::select! {
        () = asking => unreachable!("it asks for ever"),
        _own = within(PATIENCE, "the tasks run", running) => {}
    }
    stack.examined().await;
}
