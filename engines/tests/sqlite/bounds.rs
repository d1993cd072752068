//! What each verb costs in a crowded store, in steps of SQLite's virtual machine: a count, which other processes can't
//! change.

use std::{sync::Arc, time::Duration};

use jobbers_common::time::ManualClock;
use jobbers_engines::{
    OpenOptions,
    sqlite::{SqliteEngine, StepCounter},
};
use jobbers_law::conformance::Fixture;
use jobbers_test_support::program::cpu_time;

use super::{
    START,
    crowd::{
        Size,
        costs::{Bound, Cost, Meter, Over},
        fill,
        verbs::measure,
    },
    manual, url,
};

/// No transaction takes more. One that writes takes some 15 steps a microsecond, so this is 20 ms.
const BOUND: Bound = Bound { most: 300_000, slack: 1, unit: "steps of one transaction" };

/// The verbs that take more yet: take off what keeps to its bound, until the list is empty.
const OVER: &[Over] = &[
    Over::new("replace 900 finished", SMALL, "340 steps a task"),
    Over::new("purge two tasks that wait for 10000", SMALL, "75 steps an edge, and one task goes at once"),
];
const SMALL: usize = Size::SMALL.finished;
/// As many queues as a client makes that names one for each of its own users.
const MANY_QUEUES: Size = Size { empty_queues: 100_000, ..Size::SMALL };

/// The steps of the longest transaction.
struct Steps {
    counter: Arc<StepCounter>,
    used_before: Duration,
}

impl Meter for Steps {
    async fn begin(&mut self) {
        self.counter.reset();
        self.used_before = cpu_time(std::process::id());
    }

    async fn cost(&mut self) -> Cost {
        let used = cpu_time(std::process::id()).saturating_sub(self.used_before);
        let judged = 100 * self.counter.most();
        Cost { judged, whole: u64::try_from(used.as_micros()).unwrap_or(u64::MAX) }
    }

    /// The checks of the file, and the counts of a large queue: they read, and the writer goes on.
    fn is_beside(&self, cursor: Option<&str>) -> bool {
        cursor.is_none_or(|cursor| cursor.starts_with("file|") || cursor.starts_with("counts|"))
    }
}

async fn every_verb_keeps_to_its_bound(size: Size) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let counter = Arc::new(StepCounter::default());
    let options = OpenOptions { steps: Some(Arc::clone(&counter)), ..manual(&clock) };
    let address = format!("{}?synchronous=normal", url(&folder.path().join("store.db")));
    let engine = SqliteEngine::open(&address, options).await.unwrap();
    let f = Fixture { engine: Arc::new(engine), clock, guard: Box::new(folder) };
    fill(&f, size).await;
    let costs = measure(&f, size, &mut Steps { counter, used_before: Duration::ZERO }).await;
    costs.judge(size, BOUND, OVER);
    f.assert_conserved().await;
}

#[tokio::test]
#[ignore = "long: measures times among a hundred thousand tasks"]
async fn no_transaction_takes_long_among_a_hundred_thousand_tasks() {
    every_verb_keeps_to_its_bound(Size::SMALL).await;
}

#[tokio::test]
#[ignore = "long: a million tasks"]
async fn no_transaction_takes_long_among_a_million_tasks() {
    every_verb_keeps_to_its_bound(Size::FULL).await;
}

#[tokio::test]
#[ignore = "long: a hundred thousand queues"]
async fn no_transaction_takes_long_among_a_hundred_thousand_queues() {
    every_verb_keeps_to_its_bound(MANY_QUEUES).await;
}
