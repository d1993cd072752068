//! Times of an attempt.

use std::sync::mpsc;

use tokio::runtime::Handle;

use super::*;
use crate::{tasks::context::Context, threads::pool::BlockingPool};

#[tokio::test]
async fn the_time_in_queue_ends_with_the_wait_for_a_thread() {
    let second = 1_000_000;
    let mut task = Context::detached(Payload::json(&b"{}"[..])).claimed().clone();
    task.submitted_at = Timestamp::from_micros(second);
    task.ready_at = Timestamp::from_micros(3 * second);
    task.started_at = Timestamp::from_micros(10 * second);
    let worker = WorkerId::new("patient").unwrap();
    let shared = SharedState::new(worker, Duration::from_secs(8), Duration::ZERO, States::default(), None);
    let answered = Instant::now();
    let taken = TakenAt { asked: answered, answered };
    let attempt = Attempt::new(task, TaskPolicy::DEFAULT, None, shared, 0, taken);

    let pool = BlockingPool::new(1, Handle::current());
    let (release, released) = mpsc::channel::<()>();
    let (_, holds) = pool.run(move || released.recv());
    let waits = Arc::clone(&attempt);
    let (_, waits) = pool.run(move || {
        let before = Instant::now();
        waits.begin();
        (before, Instant::now())
    });
    let held_until = Instant::now();
    release.send(()).unwrap();
    holds.await.unwrap().unwrap();
    let (before, after) = waits.await.unwrap();
    let (waited, due_for, rounding) = (attempt.waited(), Duration::from_secs(7), Duration::from_micros(2));
    assert!(before >= held_until && waited > due_for + (held_until - answered));
    assert!(waited + rounding >= due_for + (before - answered) && waited <= due_for + (after - answered) + rounding);
}
