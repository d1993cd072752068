//! The law of the engine trait on embedded SQLite, in a file and in memory, and facts of this engine alone.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::{fs, path::Path, sync::Arc, thread};

use jobbers_common::time::{Clock, ManualClock, Timestamp};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::{self, Fixture, boards::BoardFixture};

#[path = "../shared/announcements.rs"]
mod announcements;
mod at_rest;
mod boards;
mod bounds;
#[path = "../shared/crowd.rs"]
mod crowd;
mod damage;
mod due;
mod earlier;
mod forgetting;
mod full_disk;
mod group_commit;
mod health;
mod holders;
mod idle;
mod mending;
mod opening;
mod ordinary_files;
mod pages;
mod quota;
mod replaced;
#[path = "../shared/million.rs"]
mod shared_million;
#[path = "../shared/tombstones.rs"]
mod shared_tombstones;
mod sharing;
mod upgrade;

/// The point in time the tests' clocks start at.
const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

fn url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

fn manual(clock: &Arc<ManualClock>) -> OpenOptions {
    OpenOptions { clock: Some(Arc::clone(clock) as Arc<dyn Clock>), ..OpenOptions::default() }
}

/// Waits until this process has no such file open; of one that was deleted the name ends in ` (deleted)`.
fn closed(is_such: impl Fn(&Path) -> bool) {
    let open = || {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        open.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok()).any(|file| is_such(&file))
    };
    while open() {
        thread::yield_now();
    }
}

async fn open() -> Fixture {
    open_with("").await
}

/// A store of its own, with these parameters in its address.
async fn open_with(parameters: &str) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let address = url(&folder.path().join("store.db")) + parameters;
    let engine = SqliteEngine::open(&address, manual(&clock)).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(folder) }
}

async fn open_boards() -> BoardFixture {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let boards = SqliteEngine::open(&url(&folder.path().join("store.db")), manual(&clock)).await.unwrap();
    BoardFixture { boards: Arc::new(boards), clock, guard: Box::new(folder) }
}

jobbers_law::conformance_suite!(open);
jobbers_law::board_conformance_suite!(open_boards);

#[tokio::test]
#[ignore = "long: a thousand graphs"]
async fn a_thousand_graphs_run_to_their_end() {
    conformance::graphs::a_thousand_graphs_run_to_their_end(open_with("?synchronous=normal").await).await;
}

mod in_memory {
    use super::*;

    async fn open() -> Fixture {
        let clock = Arc::new(ManualClock::new(START));
        let engine = SqliteEngine::open("sqlite::memory:", manual(&clock)).await.unwrap();
        Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) }
    }

    async fn open_boards() -> BoardFixture {
        let clock = Arc::new(ManualClock::new(START));
        let boards = SqliteEngine::open("sqlite::memory:", manual(&clock)).await.unwrap();
        BoardFixture { boards: Arc::new(boards), clock, guard: Box::new(()) }
    }

    jobbers_law::conformance_suite!(open);
    jobbers_law::board_conformance_suite!(open_boards);
}
