//! The model keeps its own law: the conformance suite runs on it like on any engine.
#![cfg(feature = "conformance")]

use std::sync::Arc;

use jobbers_common::{
    engine::{
        conformance::{Fixture, boards::BoardFixture},
        model::ModelEngine,
    },
    time::{Clock, ManualClock, Timestamp},
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

jobbers_common::conformance_suite!(open);
jobbers_common::board_conformance_suite!(open_boards);

/// A case that is written and not listed would never run.
#[test]
fn every_case_is_listed() {
    let suite = include_str!("../src/engine/conformance.rs");
    let groups = [
        include_str!("../src/engine/conformance/submit.rs"),
        include_str!("../src/engine/conformance/work.rs"),
        include_str!("../src/engine/conformance/settle.rs"),
        include_str!("../src/engine/conformance/lease.rs"),
        include_str!("../src/engine/conformance/cancel.rs"),
        include_str!("../src/engine/conformance/limits.rs"),
        include_str!("../src/engine/conformance/look.rs"),
        include_str!("../src/engine/conformance/keep.rs"),
        include_str!("../src/engine/conformance/arrange.rs"),
        include_str!("../src/engine/conformance/wake.rs"),
        include_str!("../src/engine/conformance/backup.rs"),
        include_str!("../src/engine/conformance/backup_boards.rs"),
        include_str!("../src/engine/conformance/dependencies.rs"),
        include_str!("../src/engine/conformance/added_dependencies.rs"),
        include_str!("../src/engine/conformance/signals.rs"),
    ];
    assert_listed(suite, &groups, "(f: Fixture) {");
    let boards = [
        include_str!("../src/engine/conformance/boards_bounds.rs"),
        include_str!("../src/engine/conformance/boards_commit.rs"),
        include_str!("../src/engine/conformance/boards_look.rs"),
        include_str!("../src/engine/conformance/boards_select.rs"),
        include_str!("../src/engine/conformance/boards_sequence.rs"),
        include_str!("../src/engine/conformance/boards_take.rs"),
        include_str!("../src/engine/conformance/boards_wait.rs"),
    ];
    assert_listed(include_str!("../src/engine/conformance/boards.rs"), &boards, "(f: BoardFixture) {");
}

fn assert_listed(suite: &str, groups: &[&str], signature: &str) {
    for line in groups.iter().flat_map(|text| text.lines()) {
        if let Some(name) = line.strip_prefix("pub async fn ").and_then(|rest| rest.strip_suffix(signature)) {
            assert!(suite.contains(&format!(" {name}\n")), "{name} is not in its suite");
        }
    }
}
