//! Waking: immediate, targeted, and nothing missed.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use jobbers_common::{
    engine::{PutMode, Resubmit, Settlement},
    lifecycle::Status,
    queue::QueueConfig,
    task::{NewTask, Start},
};

use crate::conformance::{DONE, Fixture, RELEASED, id, queue, seconds, task, task_in, worker};

/// Longer than any wake-up may take, and far shorter than [`LONG`].
const SOON: Duration = Duration::from_millis(900);
const LONG: Duration = Duration::from_secs(30);

/// A worker that found nothing and waits: ends when it is woken.
async fn idle(f: &Fixture, name: &'static str, queues: &[&str]) -> tokio::task::JoinHandle<Duration> {
    // A wake-up left over from before may end one wait early; the second is the one that counts.
    assert!(f.cycle_as(name, queues, 1, Vec::new()).await.claimed.is_empty());
    f.engine.wait(&worker(name), Duration::from_millis(50)).await;
    assert!(f.cycle_as(name, queues, 1, Vec::new()).await.claimed.is_empty());
    let engine = Arc::clone(&f.engine);
    tokio::spawn(async move {
        let start = Instant::now();
        engine.wait(&worker(name), LONG).await;
        start.elapsed()
    })
}

async fn assert_woken(waiting: tokio::task::JoinHandle<Duration>) {
    let waited = tokio::time::timeout(LONG * 2, waiting).await.expect("a wait ends").unwrap();
    assert!(waited < SOON, "woken at once, not after {waited:?}");
}

pub async fn a_submission_wakes_a_waiting_worker(f: Fixture) {
    let waiting = idle(&f, "w1", &["default"]).await;
    f.submit_ids(&["a"]).await;
    assert_woken(waiting).await;
    assert_eq!(f.claim(1).await.len(), 1);
}

pub async fn a_worker_whose_claim_took_all_there_was_is_woken(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let reply = f.cycle_as("w1", &["default"], 5, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.more), (1, false));
    let engine = Arc::clone(&f.engine);
    let waiting = tokio::spawn(async move {
        let start = Instant::now();
        engine.wait(&worker("w1"), LONG).await;
        start.elapsed()
    });
    f.submit_ids(&["b"]).await;
    assert_woken(waiting).await;
    assert_eq!(f.claim(5).await.len(), 1);
}

pub async fn a_worker_with_little_room_left_keeps_no_other_asleep(f: Fixture) {
    f.submit_ids(&["a", "b", "c", "d"]).await;
    let reply = f.cycle_as("w1", &["default"], 5, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.more), (4, false));
    let (second, third) = (idle(&f, "w2", &["default"]).await, idle(&f, "w3", &["default"]).await);
    f.submit(vec![task("e"), task("f"), task("g")]).await;
    assert_woken(second).await;
    assert_woken(third).await;
}

pub async fn only_a_claim_that_left_nothing_says_that_there_is_no_more(f: Fixture) {
    f.submit_ids(&["a", "b", "c"]).await;
    let mut found = Vec::new();
    for _ in 0..3 {
        let reply = f.cycle_as("w1", &["default"], 2, Vec::new()).await;
        found.push((reply.claimed.len(), reply.more));
    }
    assert_eq!(found, [(2, true), (1, false), (0, false)]);
}

pub async fn a_task_that_moves_to_its_queue_wakes_a_waiting_worker(f: Fixture) {
    f.create_queue("old").await;
    f.submit(vec![task_in("a", "old")]).await;
    let waiting = idle(&f, "w1", &["default"]).await;
    assert_eq!(f.engine.move_tasks(&queue("old"), &queue("default"), 1).await.unwrap(), 1);
    assert_woken(waiting).await;
    assert_eq!(f.claim(1).await.len(), 1);
}

pub async fn a_submission_between_claim_and_wait_is_not_missed(f: Fixture) {
    for n in 0..5 {
        assert!(f.claim(1).await.is_empty());
        f.submit_ids(&[&format!("t{n}")]).await;
        let start = Instant::now();
        f.engine.wait(&worker("w1"), LONG).await;
        assert!(start.elapsed() < SOON);
        assert_eq!(f.claim(1).await.len(), 1);
    }
}

pub async fn a_worker_of_another_queue_sleeps_on(f: Fixture) {
    f.create_queue("mail").await;
    idle(&f, "w1", &["mail"]).await.abort();
    f.submit_ids(&["a"]).await;
    assert!(f.cycle_as("w1", &["mail"], 1, Vec::new()).await.claimed.is_empty());
    f.submit(vec![task_in("m", "mail")]).await;
    f.engine.wait(&worker("w1"), LONG).await;
    assert_eq!(f.claim_from(&["mail"], 1).await.len(), 1);
}

pub async fn a_submission_to_a_paused_queue_wakes_no_worker(f: Fixture) {
    for (before, comes) in [(&["a"][..], "b"), (&[], "c")] {
        if !before.is_empty() {
            f.submit_ids(before).await;
        }
        let paused = QueueConfig { paused: true, ..QueueConfig::new(queue("default")) };
        f.engine.put_queue(paused, PutMode::Replace).await.unwrap();
        let mut waiting = idle(&f, "w1", &["default"]).await;
        f.submit_ids(&[comes]).await;
        let woken = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
        assert!(woken.is_err(), "the queue gives it nothing, after {before:?}");
        f.engine.put_queue(QueueConfig::new(queue("default")), PutMode::Replace).await.unwrap();
        assert_woken(waiting).await;
        assert_eq!(f.claim(10).await.len(), before.len() + 1);
    }
}

pub async fn a_cancel_wakes_the_worker_that_runs_the_task(f: Fixture) {
    f.submit_ids(&["a"]).await;
    assert_eq!(f.claim(1).await.len(), 1);
    let waiting = idle(&f, "w1", &["default"]).await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    assert_woken(waiting).await;
}

pub async fn a_config_change_wakes_waiting_workers(f: Fixture) {
    let waiting = idle(&f, "w1", &["default"]).await;
    f.engine.put_queue(QueueConfig::new(queue("mail")), PutMode::Create).await.unwrap();
    assert_woken(waiting).await;
}

pub async fn a_promoted_task_wakes_a_waiting_worker(f: Fixture) {
    f.submit(vec![NewTask { start: Start::After(seconds(10)), ..task("later") }]).await;
    let waiting = idle(&f, "w1", &["default"]).await;
    f.advance(seconds(10));
    assert_eq!(f.engine.promote_due(10).await.unwrap(), 1);
    assert_woken(waiting).await;
}

pub async fn a_task_that_is_rescheduled_to_now_wakes_a_waiting_worker(f: Fixture) {
    f.submit(vec![NewTask { start: Start::After(seconds(10)), ..task("later") }]).await;
    let waiting = idle(&f, "w1", &["default"]).await;
    f.engine.reschedule(&[id("later")], Start::Now).await.unwrap();
    assert_woken(waiting).await;
}

pub async fn a_released_task_wakes_a_waiting_worker(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let waiting = idle(&f, "w2", &["default"]).await;
    f.settle(&claimed, RELEASED).await;
    assert_woken(waiting).await;
}

pub async fn a_batch_wakes_more_than_one_worker(f: Fixture) {
    let first = idle(&f, "w1", &["default"]).await;
    let second = idle(&f, "w2", &["default"]).await;
    f.submit(vec![task("a"), task("b")]).await;
    assert_woken(first).await;
    assert_woken(second).await;
}

pub async fn a_wait_ends_by_itself(f: Fixture) {
    assert!(f.claim(1).await.is_empty());
    let start = Instant::now();
    f.engine.wait(&worker("w1"), Duration::from_millis(100)).await;
    assert!(start.elapsed() < seconds(5));
}

pub async fn a_finished_task_ends_its_awaiting(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let engine = Arc::clone(&f.engine);
    let waiting = tokio::spawn(async move {
        let start = Instant::now();
        let task = engine.await_finished(&id("a"), LONG).await.unwrap().unwrap();
        (task.status, start.elapsed())
    });
    // Not before it waits: the awaiting must be seen to go on while the task runs.
    assert!(
        f.engine.await_finished(&id("a"), Duration::from_millis(50)).await.unwrap().unwrap().status == Status::Started
    );
    assert!(!waiting.is_finished());
    f.settle(&claimed, DONE).await;
    let (status, waited) = waiting.await.unwrap();
    assert_eq!(status, Status::Completed);
    assert!(waited < SOON, "told at once, not after {waited:?}");
}

pub async fn awaiting_a_finished_task_answers_at_once(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    let task = tokio::time::timeout(SOON, f.engine.await_finished(&id("a"), LONG)).await.expect("at once");
    assert_eq!(task.unwrap().unwrap().status, Status::Cancelled);
}

pub async fn awaiting_an_unknown_task_answers_at_once(f: Fixture) {
    let task = tokio::time::timeout(SOON, f.engine.await_finished(&id("nobody"), LONG)).await.expect("at once");
    assert_eq!(task.unwrap(), None);
}

pub async fn a_purged_task_ends_its_awaiting(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let a = id("a");
    let purged = async {
        // Gives the other caller the time to look at the task before.
        f.engine.await_finished(&a, Duration::from_millis(50)).await.unwrap().unwrap();
        assert_eq!(f.engine.purge_queue(&queue("default"), 10).await.unwrap(), 1);
        Instant::now()
    };
    let (task, purged_at) = tokio::join!(f.engine.await_finished(&a, LONG), purged);
    assert_eq!(task.unwrap(), None);
    assert!(purged_at.elapsed() < SOON);
}

pub async fn a_task_sent_again_ends_its_awaiting_when_it_ends_again(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap();
    let claimed = f.claim_one().await;
    let settled = async {
        f.engine.await_finished(&id("a"), Duration::from_millis(50)).await.unwrap().unwrap();
        f.settle(&claimed, DONE).await
    };
    let a = id("a");
    let (task, _) = tokio::join!(f.engine.await_finished(&a, LONG), settled);
    assert_eq!(task.unwrap().unwrap().status, Status::Completed);
}

pub async fn every_task_of_a_batch_ends_its_awaiting(f: Fixture) {
    let names: Vec<String> = (0..40).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    f.submit_ids(&names).await;
    let claimed = f.claim(40).await;
    let awaiting: Vec<_> = (0..40)
        .step_by(2)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let id = claimed[n].id.clone();
            tokio::spawn(async move { engine.await_finished(&id, LONG).await })
        })
        .collect();
    f.engine.await_finished(&claimed[0].id, Duration::from_millis(50)).await.unwrap();
    let settlements = claimed.iter().map(|task| Settlement::new(task.id.clone(), task.fence, DONE)).collect();
    f.cycle_as("w1", &["default"], 1, settlements).await;
    let start = Instant::now();
    for awaited in awaiting {
        assert_eq!(awaited.await.unwrap().unwrap().unwrap().status, Status::Completed);
    }
    assert!(start.elapsed() < SOON);
}

pub async fn awaiting_gives_up_in_time(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let start = Instant::now();
    let task = f.engine.await_finished(&id("a"), Duration::from_millis(100)).await.unwrap().unwrap();
    assert_eq!(task.status, Status::Submitted);
    assert!(start.elapsed() >= Duration::from_millis(100) && start.elapsed() < seconds(10));
}

pub async fn a_task_sent_again_wakes_a_waiting_worker(f: Fixture) {
    f.submit_ids(&["a"]).await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    let waiting = idle(&f, "w1", &["default"]).await;
    f.engine.resubmit(vec![Resubmit::of_store(id("a"))]).await.unwrap();
    assert_woken(waiting).await;
    assert_eq!(f.claim(1).await.len(), 1);
}
