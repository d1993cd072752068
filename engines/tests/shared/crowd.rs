//! A crowded store, filled through the engine's own verbs. Half of all tasks are in one queue, the rest in all the others.
//!
//! [`verbs`] asks every verb what it costs there, and [`costs`] judges the answers.

use std::time::Duration;

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Outcome, QueueClaim, Settlement},
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM},
    queue::gate::ConcurrencyKey,
    task::{ClaimedTask, NewTask, Start},
};
use jobbers_law::conformance::{DONE, Fixture, failure, queue, seconds, task_in, worker};

pub(crate) mod costs;
pub(crate) mod verbs;

/// How many of what there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) queues: usize,
    pub(crate) finished: usize,
    pub(crate) queued: usize,
    pub(crate) leases: usize,
    /// Further queues, without tasks and without settings.
    pub(crate) empty_queues: usize,
}

impl Size {
    /// For every run of the tests.
    pub(crate) const SMALL: Self =
        Self { queues: 200, finished: 100_000, queued: 10_000, leases: 1_000, empty_queues: 1_000 };
    /// What the bounds are promised for.
    pub(crate) const FULL: Self =
        Self { queues: 1_000, finished: 1_000_000, queued: 100_000, leases: 10_000, empty_queues: 10_000 };
}

/// The queue that holds half of all.
const LARGE: &str = "large";
/// A queue with finished tasks alone, to be deleted.
const DOOMED: &str = "doomed";
const WORKERS: usize = 20;

pub(super) fn other(n: usize) -> String {
    format!("q{n:04}")
}

/// A queue that never holds a task.
pub(super) fn idle(n: usize) -> String {
    format!("idle{n:03}")
}

/// A queue that holds nothing at first.
pub(super) fn empty(n: usize) -> String {
    format!("empty{n:06}")
}

async fn create_queues(f: &Fixture, size: Size) {
    let others = (0..size.queues - 1).map(other);
    let idle = (0..MAX_QUEUES_PER_CLAIM).map(idle);
    for name in others.chain(idle).chain([LARGE.to_owned(), DOOMED.to_owned()]) {
        f.create_queue(&name).await;
    }
    let names: Vec<_> = (0..size.empty_queues).map(|n| queue(&empty(n))).collect();
    for names in names.chunks(MAX_BATCH) {
        f.engine.create_queues(names).await.unwrap();
    }
}

pub(super) async fn claim(
    f: &Fixture,
    by: usize,
    queues: &[String],
    limit: usize,
    settle: Vec<Settlement>,
) -> Vec<ClaimedTask> {
    let of = |name: &String| QueueClaim { queue: queue(name), limit };
    let claim =
        ClaimRequest { queues: queues.iter().map(of).collect(), limit, refused: Vec::new(), lease: seconds(60) };
    let cycle = Cycle { worker: worker(&format!("w{by:02}")), settlements: settle, claim: Some(claim) };
    f.engine.cycle(cycle).await.unwrap().claimed
}

/// A batch of tasks for a queue, or in turn for some.
pub(super) fn batch(prefix: &str, first: usize, count: usize, queues: &[String]) -> Vec<NewTask> {
    (first..first + count).map(|n| task_in(&format!("{prefix}{n}"), &queues[n % queues.len()])).collect()
}

/// The queues of the batch of this number: the large one or some of the others.
fn queues_of(batch: usize, size: Size) -> Vec<String> {
    if batch.is_multiple_of(2) {
        return vec![LARGE.to_owned()];
    }
    (0..4).map(|n| other((batch / 2 * 4 + n) % (size.queues - 1))).collect()
}

/// Every twentieth fails.
fn end_of(task: &ClaimedTask, n: usize) -> Settlement {
    let outcome = match n % 20 {
        0 => Outcome::Failed { failure: failure("no"), dead_letter: false },
        _ => DONE,
    };
    Settlement::new(task.id.clone(), task.fence, outcome)
}

async fn finish(f: &Fixture, prefix: &str, first: usize, queues: &[String]) {
    f.submit(batch(prefix, first, MAX_BATCH, queues)).await;
    let claimed = claim(f, 0, queues, MAX_BATCH, Vec::new()).await;
    assert_eq!(claimed.len(), MAX_BATCH);
    let settlements = claimed.iter().enumerate().map(|(n, task)| end_of(task, n)).collect();
    f.engine.cycle(Cycle { worker: worker("w00"), settlements, claim: None }).await.unwrap();
    f.advance(Duration::from_millis(1));
}

/// Fills an empty store.
pub(crate) async fn fill(f: &Fixture, size: Size) {
    create_queues(f, size).await;
    for number in 0..size.finished / MAX_BATCH {
        finish(f, "f", number * MAX_BATCH, &queues_of(number, size)).await;
    }
    for number in 0..5 {
        finish(f, "d", number * MAX_BATCH, &[DOOMED.to_owned()]).await;
    }
    for by in 0..WORKERS {
        let (share, queues) = (size.leases / WORKERS, queues_of(by, size));
        let key = |n: usize| ConcurrencyKey::new(format!("key{}", n % 100)).ok();
        let tasks = batch("l", by * share, share, &queues).into_iter().enumerate();
        f.submit(tasks.map(|(n, task)| NewTask { concurrency_key: key(n), ..task }).collect()).await;
        assert_eq!(claim(f, by, &queues, share, Vec::new()).await.len(), share);
    }
    // The last tenth is for later.
    for number in 0..size.queued / MAX_BATCH {
        let mut tasks = batch("r", number * MAX_BATCH, MAX_BATCH, &queues_of(number, size));
        for (n, task) in tasks.iter_mut().skip(MAX_BATCH * 9 / 10).enumerate() {
            task.start = Start::After(seconds(3_600) + Duration::from_millis(n as u64));
        }
        f.submit(tasks).await;
    }
}
