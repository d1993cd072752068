//! Rates by key and by task.

use std::time::Duration;

use jobbers_common::{
    lifecycle::Status,
    queue::{QueueConfig, gate::GateLimits},
    time::Clock,
};

use crate::conformance::{DONE, Fixture, audit::assert_sound, id, ids, seconds};

use super::{named, of, per_task, plain, put, rate, submit_many};

pub async fn a_rate_of_a_key_holds_and_says_when_to_come_back(f: Fixture) {
    put(&f, QueueConfig { rate_limit_per_key: Some(rate(2, seconds(10), 1)), ..plain() }).await;
    submit_many(&f, "acme", 3).await;
    submit_many(&f, "bolt", 1).await;
    let held = f.claim(10).await;
    assert_eq!(ids(&held), ["acme0000", "bolt0000"]);
    for task in &held {
        f.settle(task, DONE).await;
    }
    let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.next_due), (0, Some(seconds(5))));
    f.advance(seconds(3));
    let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
    assert_eq!((reply.claimed.len(), reply.next_due), (0, Some(seconds(2))));
    f.advance(seconds(2) - Duration::from_micros(1));
    assert!(f.claim(10).await.is_empty());
    f.advance(Duration::from_micros(1));
    let held = f.claim_one().await;
    assert_eq!(held.id, id("acme0001"));
    f.settle(&held, DONE).await;
    f.advance(seconds(3_600));
    assert_eq!(ids(&f.claim(10).await), ["acme0002"]);
    assert_eq!(f.cycle_as("w1", &["default"], 10, Vec::new()).await.next_due, None, "nothing waits any more");
}

pub async fn a_rate_of_a_task_lets_as_many_start_as_it_says(f: Fixture) {
    let limits = GateLimits { rate_limit: Some(rate(20, seconds(1), 5)), max_concurrent: None };
    put(&f, per_task("email", limits)).await;
    f.submit((0..80).map(|n| named("email", &format!("e{n:03}"))).collect()).await;
    let start = f.clock.now();
    let (mut started, mut asked) = (0, 0);
    loop {
        let reply = f.cycle_as("w1", &["default"], 100, Vec::new()).await;
        asked += 1;
        started += reply.claimed.len();
        if !reply.claimed.is_empty() {
            continue;
        }
        let wait = reply.next_due.expect("it says when to come back");
        assert!(wait > Duration::ZERO && wait <= seconds(1), "{wait:?}");
        if f.clock.now().after(wait).since(start) > seconds(2) {
            break;
        }
        f.advance(wait);
    }
    assert!((42..=46).contains(&started), "{started} in two seconds, asked {asked} times");
    assert_eq!(f.count(Status::Submitted).await + f.count(Status::Started).await, 80, "what waits is not lost");
    assert_sound(&f, 1_000, false).await;
}

pub async fn the_soonest_rate_is_told(f: Fixture) {
    let slow = GateLimits { rate_limit: Some(rate(1, seconds(60), 1)), max_concurrent: None };
    let config = per_task("email", slow);
    put(&f, QueueConfig { rate_limit_per_key: Some(rate(1, seconds(20), 1)), ..config }).await;
    f.submit(vec![named("email", "e1"), named("email", "e2"), of("acme", "a1"), of("acme", "a2")]).await;
    assert_eq!(ids(&f.claim(10).await), ["e1", "a1"]);
    assert_eq!(f.cycle_as("w1", &["default"], 10, Vec::new()).await.next_due, Some(seconds(20)));
    f.engine.cancel(&[id("a2")]).await.unwrap();
    assert_eq!(f.cycle_as("w1", &["default"], 10, Vec::new()).await.next_due, Some(seconds(60)), "a2 waits no more");
}
