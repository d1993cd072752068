//! Limits that hold over several worker processes, seen from what the tasks themselves noted.

use std::{collections::BTreeSet, time::Duration};

use jobbers_test_support::wait::until;
use serde_json::json;

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

on_both_engines!(
    no_more_than_max_concurrent_run_at_any_instant_in_four_workers,
    a_rate_holds_over_four_workers,
    a_full_queue_says_when_to_come_back,
);

const WORKERS: usize = 4;

async fn submit_many(manager: &Manager, name: &str, count: usize) {
    for first in (0..count).step_by(1_000) {
        let tasks: Vec<_> = (first..count.min(first + 1_000)).map(|_| json!({"name": name})).collect();
        manager.api.post("/tasks", &json!({"tasks": tasks})).await.ok();
    }
}

async fn count_of(manager: &Manager, status: &str) -> u64 {
    manager.api.get("/queues/default").await.ok()["tasks"][status].as_u64().unwrap_or(0)
}

async fn no_more_than_max_concurrent_run_at_any_instant_in_four_workers(kind: Kind) {
    const TASKS: usize = 60;
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"max_concurrent": 3})).await.ok();
    let mut workers = Vec::new();
    // With one slot each, so that one alone can't take all three.
    for _ in 0..WORKERS {
        workers.push(stack.worker_with(&[("WORKER_CONCURRENT_TASKS", "1")]).await);
    }
    submit_many(&manager, "nap", TASKS).await;
    until(Duration::from_secs(60), "all have run", async || {
        (count_of(&manager, "completed").await == TASKS as u64).then_some(())
    })
    .await;
    // The lines of all processes stand in one file, in the order in which they were written.
    let (mut running, mut most, mut used) = (0_i64, 0, BTreeSet::new());
    for effect in stack.effects.all() {
        running += if effect.event == "started" { 1 } else { -1 };
        most = running.max(most);
        used.insert(effect.pid);
    }
    assert_eq!((running, most), (0, 3), "never more than three, and no slot leaked");
    assert!(used.len() > 1, "several workers had a share");
}

async fn a_rate_holds_over_four_workers(kind: Kind) {
    const TASKS: usize = 1_000;
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"rate_limit": {"tasks": RATE, "per": "1s"}})).await.ok();
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        workers.push(stack.worker().await);
    }
    submit_many(&manager, "note", 2_000).await;
    until(Duration::from_secs(60), "what starts at once and a thousand more have run", async || {
        Some(()).filter(|()| stack.effects.all().len() >= RATE + TASKS)
    })
    .await;
    let mut times: Vec<i64> = stack.effects.all().into_iter().map(|effect| effect.at).collect();
    times.sort_unstable();
    let rates = rates(&times);
    // All seconds together: one in which the machine stalls is made up for by the next, within what the limit takes at once.
    let ran = rates.iter().sum::<usize>();
    assert!((ran * 20).abs_diff(RATE * rates.len() * 20) <= RATE * rates.len(), "tasks in each second: {rates:?}");
    assert_eq!(too_many(&times), None, "tasks in each second: {rates:?}");
    // The books would show a burst.
    let burst: Vec<i64> = times.iter().copied().chain((0..200).map(|n| times[500] + n)).collect();
    assert!(too_many(&burst).is_some());
}

/// Tasks of the limit per second, which are also what may start at once after a pause.
const RATE: usize = 50;

/// How many tasks ran in each whole second, after those that started at once.
fn rates(times: &[i64]) -> Vec<usize> {
    let (start, end) = (times[RATE], times[times.len() - 1]);
    let seconds = usize::try_from((end - start) / 1_000_000).unwrap();
    let mut rates = vec![0; seconds];
    for time in &times[RATE..] {
        if let Some(rate) = rates.get_mut(usize::try_from((time - start) / 1_000_000).unwrap()) {
            *rate += 1;
        }
    }
    rates
}

/// A span in which more tasks ran than the limit allows: what its length allows and a twentieth, and twice what may start at
/// once, since a worker on a busy machine may begin a moment after its claim.
fn too_many(times: &[i64]) -> Option<(usize, Duration)> {
    let mut times = times.to_vec();
    times.sort_unstable();
    let spans = (0..times.len()).flat_map(|first| (first + RATE..times.len()).map(move |last| (first, last)));
    spans
        .map(|(first, last)| {
            let span = Duration::from_micros(u64::try_from(times[last] - times[first]).unwrap());
            (last - first + 1, span)
        })
        .find(|(ran, span)| *ran as f64 > RATE as f64 * (2.0 + 1.05 * span.as_secs_f64()))
}

async fn a_full_queue_says_when_to_come_back(kind: Kind) {
    let stack = Stack::on(kind).await;
    let manager = stack.manager().await;
    manager.api.put("/queues/default", &json!({"max_length": 10})).await.ok();
    submit_many(&manager, "note", 10).await;
    let refused = manager.api.post("/tasks", &json!({"name": "note"})).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (429, "queue_full"));
    assert_eq!(refused.retry_after.as_deref(), Some("1"));
    let _worker = stack.worker().await;
    until(Duration::from_secs(10), "there is room again", async || {
        manager.api.post("/tasks", &json!({"name": "note"})).await.status.is_success().then_some(())
    })
    .await;
}
