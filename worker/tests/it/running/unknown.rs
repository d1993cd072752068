//! Tasks that a worker does not have.

use std::time::Duration;

use jobbers_common::{
    engine::{Letters, PutMode, Queues, Workers},
    lifecycle::Status,
    name::QueueName,
    queue::QueueConfig,
    task::FailureKind,
    time::Clock,
    worker::RegisteredWorker,
};
use jobbers_process::shutdown::Shutdown;
use jobbers_worker::{Config, Worker, WorkerError, prelude::*};

use crate::bench::{Bench, json};

#[task(name = "stranger", unlisted)]
async fn stranger() -> Result<u32, TaskError> {
    Ok(1)
}

#[tokio::test]
async fn an_unknown_task_is_given_back_unharmed_until_a_worker_has_it() {
    let bench = Bench::new();
    let id = bench.submit(&stranger, NoParameters).await;
    let worker = bench.worker();
    let task = bench.until_status(&id, Status::Scheduled).await;
    assert_eq!((task.attempt, task.crashes, task.errors.len()), (0, 0, 0));
    assert_eq!(task.ready_at.since(task.submitted_at), Duration::from_secs(1));
    worker.drain().await;

    let able = Worker::new(bench.config.clone(), bench.engine.clone()).task(&stranger);
    let shutdown = Shutdown::new();
    let able = tokio::spawn(able.run_until(shutdown.clone()));
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(bench.over(&id).await.result, Some(json("1")));
    shutdown.drain.cancel();
    able.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_unknown_task_is_offered_again_after_a_hundredth_of_the_time_it_has_waited() {
    let bench = Bench::new();
    let id = bench.submit(&stranger, NoParameters).await;
    let worker = bench.worker();
    let mut due = bench.until_status(&id, Status::Scheduled).await.ready_at;
    for (wait, delay) in [(1, 1_000), (600, 6_010), (5_000, 30_000)] {
        bench.clock.advance(Duration::from_secs(wait));
        let given_back = bench.until(&id, |task| task.status == Status::Scheduled && task.ready_at > due).await;
        assert_eq!(given_back.ready_at.since(bench.clock.now()), Duration::from_millis(delay));
        due = given_back.ready_at;
    }
    worker.drain().await;
}

/// A worker that knows the task, once it is registered for its queue.
async fn able(bench: &Bench) -> (Shutdown, tokio::task::JoinHandle<()>) {
    let able = Worker::new(bench.config.clone(), bench.engine.clone()).task(&stranger);
    let shutdown = Shutdown::new();
    let running = shutdown.clone();
    let able = tokio::spawn(async move {
        able.run_until(running).await.unwrap();
    });
    let serves = |worker: &RegisteredWorker| {
        !worker.report.queues.is_empty() && worker.report.tasks.contains(&"stranger@1".to_owned())
    };
    while !bench.engine.workers().await.unwrap().iter().any(serves) {
        tokio::task::yield_now().await;
    }
    (shutdown, able)
}

#[tokio::test]
async fn a_task_that_another_worker_knows_is_handed_on_at_once() {
    let bench = Bench::in_real_time();
    let (shutdown, able) = able(&bench).await;
    let worker = bench.worker();
    for _ in 0..20 {
        let ids = [bench.submit(&stranger, NoParameters).await, bench.submit(&stranger, NoParameters).await];
        for id in &ids {
            let task = bench.over(id).await;
            assert_eq!((task.status, task.attempt, task.ready_at), (Status::Completed, 1, task.submitted_at));
        }
    }
    shutdown.drain.cancel();
    able.await.unwrap();
    let id = bench.submit(&stranger, NoParameters).await;
    let task = bench.until_status(&id, Status::Scheduled).await;
    assert!(task.ready_at > task.submitted_at, "the last that knew it has left: its queue's patience is judged again");
    worker.drain().await;
}

#[tokio::test]
async fn an_unknown_task_is_dropped_when_its_queue_s_patience_ends() {
    let bench = Bench::new();
    let queue = QueueName::new("default").unwrap();
    let impatient = QueueConfig { patience: Duration::from_millis(1_500), ..QueueConfig::new(queue) };
    bench.engine.put_queue(impatient, PutMode::Replace).await.unwrap();
    let id = bench.submit(&stranger, NoParameters).await;
    let worker = bench.worker();
    bench.until_status(&id, Status::Scheduled).await;
    bench.clock.advance(Duration::from_secs(2));
    let task = bench.over(&id).await;
    assert_eq!((task.status, task.errors[0].kind), (Status::Dropped, FailureKind::Unknown));
    assert_eq!(task.errors[0].message, "no worker that was offered it knows stranger@1");
    assert!(task.dead_letter, "nobody said that it is not to be kept");
    assert_eq!(bench.engine.dead_letters(0, 10).await.unwrap().copies.len(), 1);
    worker.drain().await;
}

#[task(name = "stranger", version = 2, unlisted)]
async fn stranger_of_today() -> Result<u32, TaskError> {
    Ok(2)
}

#[task(name = "stranger", unlisted)]
async fn impostor() -> Result<u32, TaskError> {
    Ok(3)
}

#[tokio::test]
async fn versions_live_side_by_side_and_two_tasks_of_one_version_do_not() {
    let bench = Bench::new();
    let worker = || Worker::new(bench.config.clone(), bench.engine.clone()).task(&stranger);
    let shutdown = Shutdown::new();
    let both = tokio::spawn(worker().task(&stranger).task(&stranger_of_today).run_until(shutdown.clone()));
    let id = bench.submit(&stranger_of_today, NoParameters).await;
    assert_eq!(bench.over(&id).await.result, Some(json("2")));
    shutdown.drain.cancel();
    both.await.unwrap().unwrap();

    let error = worker().task(&impostor).run_until(Shutdown::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::DuplicateTask(_)));
    let text = error.to_string();
    assert!(text.starts_with("two tasks are called stranger@1 (") && text.contains("unknown.rs:"), "{text}");
}

#[tokio::test]
async fn a_configuration_out_of_bounds_is_refused() {
    let bench = Bench::new();
    let config = Config { concurrency: 0, ..bench.config.clone() };
    let error = Worker::new(config, bench.engine.clone()).run_until(Shutdown::new()).await.unwrap_err();
    assert!(error.to_string().contains("concurrency must be 1 to 10000"), "{error}");
}
