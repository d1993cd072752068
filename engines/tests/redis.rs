//! The Redis engine keeps the law, each case on a server of its own.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use jobbers_common::{
    engine::conformance::Fixture,
    time::{Clock, ManualClock, Timestamp},
};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

async fn open() -> Fixture {
    let server = RedisServer::start(RedisOptions::default());
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_750_000_000_000_000)));
    let options = OpenOptions { clock: Some(Arc::clone(&clock) as Arc<dyn Clock>) };
    let engine = RedisEngine::open(&server.url(), options).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(server) }
}

jobbers_common::conformance_suite!(open);
