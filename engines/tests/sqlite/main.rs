//! The law of the engine trait on embedded SQLite, and facts of this engine alone.

use std::sync::Arc;

use jobbers_common::{
    engine::conformance::Fixture,
    time::{Clock, ManualClock, Timestamp},
};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};

/// The point in time the tests' clocks start at.
const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

async fn open() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let url = format!("sqlite://{}", folder.path().join("store.db").display());
    let options = OpenOptions { clock: Some(Arc::clone(&clock) as Arc<dyn Clock>) };
    let engine = SqliteEngine::open(&url, options).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(folder) }
}

jobbers_common::conformance_suite!(open);
