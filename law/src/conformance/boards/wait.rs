//! Waiting for a task that becomes visible: at once, and nothing missed.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time::Instant};

use jobbers_common::engine::boards::{Commit, Create, Update, task::When};

use crate::conformance::boards::{BoardFixture, MINUTE, SECOND, board, commit, create, group, revision, take, touch};

/// Far longer than any wake-up takes.
const LONG: Duration = Duration::from_secs(60);

/// A caller that found nothing in `g` and waits: ends when it is woken, with how long it waited.
async fn waiting(f: &BoardFixture) -> JoinHandle<Duration> {
    let seen = f.take(take("g", MINUTE)).await;
    assert_eq!(seen.task, None);
    let boards = Arc::clone(&f.boards);
    tokio::spawn(async move {
        let start = Instant::now();
        boards.wait(&board(), "g", seen.revision, LONG).await;
        start.elapsed()
    })
}

async fn assert_woken(waiting: JoinHandle<Duration>) {
    let waited = waiting.await.unwrap();
    assert!(waited < LONG / 2, "woken, not after {waited:?}");
}

pub async fn a_created_task_wakes_all_that_wait_for_its_group(f: BoardFixture) {
    let (one, two) = (waiting(&f).await, waiting(&f).await);
    f.create(vec![create("other")]).await;
    f.create(vec![create("g")]).await;
    assert_woken(one).await;
    assert_woken(two).await;
    assert_eq!(f.taken(take("g", MINUTE)).await, Some(3));
}

pub async fn a_task_of_the_future_wakes_too(f: BoardFixture) {
    let caller = waiting(&f).await;
    f.create(vec![Create { at: When::In(SECOND), ..create("g") }]).await;
    assert_woken(caller).await;
}

pub async fn a_task_that_moves_to_an_earlier_time_wakes(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let held = f.taken(take("g", MINUTE)).await.unwrap();
    let caller = waiting(&f).await;
    let released = Update { at: Some(When::NOW), ..touch(held) };
    f.commit(Commit { update: vec![released], ..commit() }).await;
    assert_woken(caller).await;
    assert_eq!(f.taken(take("g", MINUTE)).await, Some(4));
}

pub async fn a_task_that_moves_to_the_group_wakes(f: BoardFixture) {
    f.create(vec![create("other")]).await;
    let caller = waiting(&f).await;
    let moved = Update { which: group("other"), group: Some("g".to_owned()), ..touch(1) };
    f.commit(Commit { update: vec![moved], ..commit() }).await;
    assert_woken(caller).await;
}

pub async fn what_happens_between_take_and_wait_is_not_missed(f: BoardFixture) {
    let later = Create { at: When::In(SECOND), ..create("g") };
    f.create(vec![later]).await;
    let seen = f.take(take("g", MINUTE)).await;
    assert_eq!(seen.task, None);
    let earlier = Update { at: Some(When::NOW), ..touch(1) };
    f.commit(Commit { update: vec![earlier], ..commit() }).await;
    f.create(vec![create("other")]).await;
    let start = Instant::now();
    f.boards.wait(&board(), "g", seen.revision, LONG).await;
    assert!(start.elapsed() < LONG / 2);
}

pub async fn a_group_that_was_empty_meanwhile_wakes(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    f.commit(Commit { delete: vec![revision(1)], ..commit() }).await;
    let caller = waiting(&f).await;
    f.create(vec![create("g")]).await;
    assert_woken(caller).await;
}

pub async fn a_wait_ends_by_itself(f: BoardFixture) {
    f.create(vec![create("other")]).await;
    f.boards.wait(&board(), "g", 1, Duration::from_millis(20)).await;
    f.boards.wait(&board(), "g", u64::MAX, Duration::ZERO).await;
    assert_eq!(f.counter().await, 1);
}

pub async fn a_wait_that_is_dropped_harms_no_other(f: BoardFixture) {
    let (gone, stays) = (waiting(&f).await, waiting(&f).await);
    gone.abort();
    assert!(gone.await.is_err());
    f.create(vec![create("g")]).await;
    assert_woken(stays).await;
    assert_eq!(f.taken(take("g", None)).await, Some(1), "the one that is gone has taken nothing");
}
