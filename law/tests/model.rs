//! The model keeps its own law: the conformance suite runs on it like on any engine.

use std::{path::Path, sync::Arc};

use jobbers_common::time::{Clock, ManualClock, Timestamp};
use jobbers_law::{
    conformance::{Fixture, boards::BoardFixture},
    model::ModelEngine,
};

async fn open() -> Fixture {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_700_000_000_000_000)));
    let engine = Arc::new(ModelEngine::new(Arc::clone(&clock) as Arc<dyn Clock>));
    Fixture { engine, clock, guard: Box::new(()) }
}

async fn open_boards() -> BoardFixture {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_700_000_000_000_000)));
    let boards = Arc::new(ModelEngine::new(Arc::clone(&clock) as Arc<dyn Clock>));
    BoardFixture { boards, clock, guard: Box::new(()) }
}

jobbers_law::conformance_suite!(open);
jobbers_law::board_conformance_suite!(open_boards);

/// A long case, which each engine's tests name themselves.
const LONG: &str = "a_thousand_graphs_run_to_their_end";

/// A case that is written and not listed would never run.
#[test]
fn every_case_is_listed() {
    let cases =
        concat!(include_str!("../src/conformance/suite.rs"), include_str!("../src/conformance/suite_of_stores.rs"),);
    let cases_of_boards = include_str!("../src/conformance/boards.rs");
    let (mut rooms, mut seen) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance")], 0);
    while let Some(room) = rooms.pop() {
        if room.is_dir() {
            let inside = std::fs::read_dir(&room).expect("the rooms of the law");
            rooms.extend(inside.map(|entry| entry.expect("a room").path()));
            continue;
        }
        for line in std::fs::read_to_string(&room).expect("a room's text").lines() {
            let Some(head) = line.strip_prefix("pub async fn ") else { continue };
            let (name, list) = match (head.strip_suffix("(f: Fixture) {"), head.strip_suffix("(f: BoardFixture) {")) {
                (Some(name), _) => (name, cases),
                (_, Some(name)) => (name, cases_of_boards),
                (None, None) => continue,
            };
            let listed = list.split([' ', '\n', ')']).any(|word| word == name) || name == LONG;
            assert!(listed, "{name} of {} is not in its suite", room.display());
            seen += 1;
        }
    }
    assert!(seen > 500, "only {seen} cases were found");
}
