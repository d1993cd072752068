//! The law of the engine trait on embedded SQLite, in a file and in memory, and facts of this engine alone.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::{path::Path, sync::Arc};

use jobbers_common::{
    engine::conformance::Fixture,
    time::{Clock, ManualClock, Timestamp},
};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};

mod damage;
mod group_commit;
mod mending;
mod opening;
mod quota;
mod sharing;

/// The point in time the tests' clocks start at.
const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

fn url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

fn manual(clock: &Arc<ManualClock>) -> OpenOptions {
    OpenOptions { clock: Some(Arc::clone(clock) as Arc<dyn Clock>) }
}

async fn open() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let engine = SqliteEngine::open(&url(&folder.path().join("store.db")), manual(&clock)).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(folder) }
}

jobbers_common::conformance_suite!(open);

mod in_memory {
    use super::*;

    async fn open() -> Fixture {
        let clock = Arc::new(ManualClock::new(START));
        let engine = SqliteEngine::open("sqlite::memory:", manual(&clock)).await.unwrap();
        Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) }
    }

    jobbers_common::conformance_suite!(open);
}
