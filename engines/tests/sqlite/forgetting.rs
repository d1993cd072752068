//! Tombstones in SQLite: the bound on their number.

use std::sync::Arc;

use jobbers_common::time::ManualClock;
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::Fixture;

use super::{START, manual, shared_tombstones};

#[tokio::test]
async fn the_oldest_tombstone_is_forgotten_early_when_there_are_too_many() {
    let clock = Arc::new(ManualClock::new(START));
    let options = OpenOptions { tombstones: shared_tombstones::TWO, ..manual(&clock) };
    let engine = Arc::new(SqliteEngine::open("sqlite::memory:", options).await.unwrap());
    shared_tombstones::assert_cut_at_the_bound(&Fixture { engine, clock, guard: Box::new(()) }).await;
}
