//! Tombstones on Redis: the bound on their number.

use std::sync::Arc;

use jobbers_common::time::ManualClock;
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::Fixture;
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::{START, shared_tombstones};

#[tokio::test]
async fn the_oldest_tombstone_is_forgotten_early_when_there_are_too_many() {
    let (server, clock) = (RedisServer::start(RedisOptions::default()), Arc::new(ManualClock::new(START)));
    let options = OpenOptions { clock: Some(clock.clone()), tombstones: shared_tombstones::TWO, ..Default::default() };
    let engine = Arc::new(RedisEngine::open(&server.url(), options).await.unwrap());
    shared_tombstones::assert_cut_at_the_bound(&Fixture { engine, clock, guard: Box::new(server) }).await;
}
