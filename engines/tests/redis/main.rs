//! The Redis engine keeps the law, each case on a server of its own; and what is true of Redis alone.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use jobbers_common::{
    engine::{Engine, Error, OnConflict, Result, Submit, Submitted},
    task::NewTask,
    time::{Clock, ManualClock, Timestamp},
};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::{self, Fixture};
use jobbers_test_support::{
    redis_server::{RedisOptions, RedisServer},
    redis_user,
};

#[path = "../shared/announcements.rs"]
mod announcements;
mod awaiting;
mod boards;
mod bounds;
mod claims;
#[path = "../shared/crowd.rs"]
mod crowd;
mod damage;
mod durability;
mod failover;
mod forgetting;
mod fullness;
mod idle;
mod mending;
mod misled;
mod outages;
mod pressure;
#[path = "../shared/million.rs"]
mod shared_million;
#[path = "../shared/tombstones.rs"]
mod shared_tombstones;
mod sharing;
mod silence;
mod tls;
mod upgrade;
mod volume;
mod waiting;

/// The point in time the tests' clocks start at.
const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000);

/// A store of its own, for the user that the guide to Redis describes.
async fn open() -> Fixture {
    let server = RedisServer::start(redis_user::options(RedisOptions::default()));
    let f = open_at(&redis_user::login(&server.url())).await;
    Fixture { guard: Box::new(OfUser(server)), ..f }
}

/// A server whose user was refused nothing by the end of a test.
struct OfUser(RedisServer);

impl Drop for OfUser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            redis_user::assert_nothing_was_refused(&self.0);
        }
    }
}

/// The store at an address, by the fixture's clock.
async fn open_at(url: &str) -> Fixture {
    let clock = Arc::new(ManualClock::new(START));
    let options = OpenOptions { clock: Some(Arc::clone(&clock) as Arc<dyn Clock>), ..OpenOptions::default() };
    let engine: Arc<dyn Engine> = Arc::new(RedisEngine::open(url, options).await.unwrap());
    // As processes do: how ends are written depends on what is known of the configuration.
    engine.config().await.unwrap();
    Fixture { engine, clock, guard: Box::new(()) }
}

jobbers_law::conformance_suite!(open);

#[tokio::test]
#[ignore = "long: a thousand graphs"]
async fn a_thousand_graphs_run_to_their_end() {
    conformance::graphs::a_thousand_graphs_run_to_their_end(open().await).await;
}

/// The store at an address, by the server's clock. Its fixture's clock moves nothing.
async fn connect(url: &str) -> Fixture {
    let engine = RedisEngine::open(url, OpenOptions::default()).await.unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::default()));
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) }
}

async fn submit(engine: &dyn Engine, tasks: Vec<NewTask>) -> Result<Vec<Submitted>, Error> {
    engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await
}
