//! SIGTERM: what happens to running tasks under each policy.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jobbers_test_support::{program::Program, wait::until};
use nix::sys::signal::Signal::SIGTERM;
use serde_json::{Value, json};

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

/// Said by a worker that stopped at its drain deadline or by a second signal (`jobbers_process::exit`).
const DRAINED_LATE: i32 = 75;

on_both_engines!(
    finish_waits_for_the_running_task_and_takes_no_other,
    requeue_gives_the_task_back_and_costs_no_attempt,
    fail_fails_the_task,
    a_second_signal_ends_the_wait_and_the_task_is_given_back,
    the_drain_deadline_ends_the_wait_and_the_task_is_given_back,
    a_manager_stops_in_good_order,
    no_client_is_refused_while_managers_are_restarted_one_after_the_other,
);

/// A worker that runs one `hold` task under a policy.
async fn running(stack: &Stack, on_shutdown: &str, environment: &[(&str, &str)]) -> (Manager, Program, String) {
    let manager = stack.manager().await;
    let worker = stack.worker_with(environment).await;
    let id = manager.api.submit(&json!({"name": "hold", "on_shutdown": on_shutdown})).await;
    stack.effects.happened("started", &id).await;
    (manager, worker, id)
}

/// What a task looks like that was given back: as if it had never been tried.
fn assert_untouched(task: &Value) {
    assert_eq!(task["status"], "submitted", "{task}");
    assert_eq!((&task["attempt"], &task["crashes"]), (&json!(0), &json!(0)), "{task}");
    assert_eq!(task["errors"], json!([]), "{task}");
}

async fn finish_waits_for_the_running_task_and_takes_no_other(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "finish", &[]).await;
    worker.signal(SIGTERM);
    worker.line("stopping").await;
    let late = manager.api.submit(&json!({"name": "note"})).await;
    stack.release();
    assert_eq!(worker.exit().await.code(), Some(0));
    assert_eq!(manager.api.finished(&id).await["status"], "completed");
    assert_eq!(manager.api.task(&late).await["status"], "submitted");
}

async fn requeue_gives_the_task_back_and_costs_no_attempt(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "requeue", &[]).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(0));
    assert_untouched(&manager.api.task(&id).await);

    stack.release();
    let _other = stack.worker().await;
    let task = manager.api.finished(&id).await;
    assert_eq!((task["status"].as_str(), &task["attempt"]), (Some("completed"), &json!(1)), "{task}");
}

async fn fail_fails_the_task(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "fail", &[]).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(0));
    let task = manager.api.task(&id).await;
    assert_eq!(task["status"], "failed", "{task}");
    assert_eq!(task["errors"][0]["kind"], "shutdown", "{task}");
}

async fn a_second_signal_ends_the_wait_and_the_task_is_given_back(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "finish", &[]).await;
    worker.signal(SIGTERM);
    worker.line("stopping").await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(DRAINED_LATE));
    assert_untouched(&manager.api.task(&id).await);
}

async fn the_drain_deadline_ends_the_wait_and_the_task_is_given_back(kind: Kind) {
    let stack = Stack::on(kind).await;
    let (manager, mut worker, id) = running(&stack, "finish", &[("WORKER_DRAIN_DEADLINE", "200ms")]).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(DRAINED_LATE));
    assert_untouched(&manager.api.task(&id).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_can_t_settle_before_it_ends_says_so() {
    let stack = Stack::on(Kind::Redis).await;
    let (_manager, mut worker, id) = running(&stack, "finish", &[("WORKER_DRAIN_DEADLINE", "200ms")]).await;
    stack.redis.as_ref().unwrap().pause();
    stack.release();
    stack.effects.happened("done", &id).await;
    worker.signal(SIGTERM);
    assert_eq!(worker.exit().await.code(), Some(DRAINED_LATE));
    stack.redis.as_ref().unwrap().resume();
}

async fn a_manager_stops_in_good_order(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut manager = stack.manager_with(&[("JOBBERS_LOG", "info,jobbers_manager=debug")]).await;
    let id = manager.api.submit(&json!({"name": "note"})).await;
    // A client that waits for a result is answered, not cut off.
    let api = manager.api.clone();
    let path = format!("/tasks/{id}?wait=30s");
    let waiting = tokio::spawn(async move { api.get(&path).await });
    // The log reports each request as it arrives.
    manager.program.line("wait=30s").await;
    manager.program.signal(SIGTERM);
    assert_eq!(manager.program.exit().await.code(), Some(0));
    assert_eq!(waiting.await.unwrap().ok()["status"], "submitted");
}

/// How often a balancer asks a manager whether it is ready.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a manager serves on after SIGTERM.
const DELAY: (&str, &str) = ("MANAGER_SHUTDOWN_DELAY", "2s");

/// What a balancer knows: the managers that said they are ready when they were last asked.
#[derive(Clone, Default)]
struct Balancer {
    known: Arc<Mutex<BTreeSet<SocketAddr>>>,
    ready: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Balancer {
    fn add(&self, manager: &Manager) {
        self.known.lock().unwrap().insert(manager.address);
    }

    /// Asks every manager, again and again.
    async fn run(self) {
        let client = jobbers_api::client::http_client().timeout(Duration::from_secs(5)).build().unwrap();
        let mut looks = tokio::time::interval(LOOK_EVERY);
        loop {
            looks.tick().await;
            let known = self.known.lock().unwrap().clone();
            let mut ready = Vec::new();
            for address in known {
                let answer = client.get(format!("http://{address}/health/ready")).send().await;
                ready.extend(answer.is_ok_and(|answer| answer.status().is_success()).then_some(address));
            }
            *self.ready.lock().unwrap() = ready;
        }
    }

    /// Waits until just these are ready.
    async fn knows(&self, managers: &[&Manager]) {
        let expected: Vec<SocketAddr> =
            managers.iter().map(|manager| manager.address).collect::<BTreeSet<_>>().into_iter().collect();
        let knows = async || (*self.ready.lock().unwrap() == expected).then_some(());
        until(Duration::from_secs(30), "the balancer notices", knows).await;
    }
}

/// Submits tasks until it is stopped, each over a connection of its own. Counts those that were accepted and those that
/// were not.
async fn submit_on_and_on(balancer: Balancer, stop: Arc<AtomicBool>) -> (u64, Vec<String>) {
    let client = jobbers_api::client::http_client().pool_max_idle_per_host(0).build().unwrap();
    let (mut accepted, mut refused) = (0, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let ready = balancer.ready.lock().unwrap().clone();
        let Some(manager) = ready.get(accepted as usize % ready.len().max(1)) else {
            refused.push("no manager is ready".to_owned());
            continue;
        };
        let task = json!({"name": "x", "delay": "1h"});
        match client.post(format!("http://{manager}/tasks")).json(&task).send().await {
            Ok(answer) if answer.status() == 201 => accepted += 1,
            Ok(answer) => refused.push(answer.text().await.unwrap_or_default()),
            Err(error) => refused.push(format!("{error:?}")),
        }
    }
    (accepted, refused)
}

async fn no_client_is_refused_while_managers_are_restarted_one_after_the_other(kind: Kind) {
    let stack = Stack::on(kind).await;
    let mut managers = vec![stack.manager_with(&[DELAY]).await, stack.manager_with(&[DELAY]).await];
    let balancer = Balancer::default();
    managers.iter().for_each(|manager| balancer.add(manager));
    let asking = tokio::spawn(balancer.clone().run());
    balancer.knows(&[&managers[0], &managers[1]]).await;
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..3).map(|_| tokio::spawn(submit_on_and_on(balancer.clone(), Arc::clone(&stop)))).collect();
    for _ in 0..2 {
        let mut old = managers.remove(0);
        old.program.signal(SIGTERM);
        balancer.knows(&[&managers[0]]).await;
        assert_eq!(old.program.exit().await.code(), Some(0));
        let new = stack.manager_with(&[DELAY]).await;
        balancer.add(&new);
        balancer.knows(&[&managers[0], &new]).await;
        managers.push(new);
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        let (accepted, refused) = client.await.unwrap();
        println!("{accepted} accepted, {} refused", refused.len());
        assert!(accepted > 0);
        assert_eq!(refused, Vec::<String>::new());
    }
    asking.abort();
}
