//! Tasks that are over and still hold predecessors, because one step lets only so many go.

use std::{path::PathBuf, sync::Arc};

use jobbers_common::{
    engine::{Outcome, Resubmit, Resubmitted, Settlement},
    lifecycle::Status,
    name::TaskId,
    task::ClaimedTask,
    time::ManualClock,
};
use jobbers_engines::sqlite::SqliteEngine;
use jobbers_law::conformance::{DONE, Fixture, dependencies::after, failed, id, task};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{START, closed, manual, upgrade::audit, url};

const MEMBERS: u16 = 900;
/// Together they hold more than a step lets go.
const COLLECTORS: [&str; 5] = ["v", "w", "x", "y", "z"];

struct Store {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

impl Store {
    /// A store whose collectors are over, after their members were deleted.
    async fn with_collectors(ended: &Outcome) -> Self {
        let store = Self { folder: tempfile::tempdir().unwrap(), clock: Arc::new(ManualClock::new(START)) };
        let f = store.open().await;
        let members: Vec<String> = (0..MEMBERS).map(|n| format!("m{n:03}")).collect();
        let on: Vec<&str> = members.iter().map(String::as_str).collect();
        f.submit(on.iter().map(|text| task(text)).collect()).await;
        f.submit(COLLECTORS.map(|text| after(text, &on)).to_vec()).await;
        settle(&f, f.claim(usize::from(MEMBERS)).await, &DONE).await;
        while f.count(Status::Waiting).await > 0 {
            f.engine.promote_due(1).await.unwrap();
        }
        f.engine.delete_tasks(&on.iter().map(|text| id(text)).collect::<Vec<TaskId>>(), false).await.unwrap();
        assert_eq!(store.count("held_result"), i64::from(MEMBERS));
        settle(&f, f.claim(COLLECTORS.len()).await, ended).await;
        assert!(store.count("parent WHERE holds = 1") > 0 && store.count("parent WHERE holds = 0") > 0);
        assert_eq!(audit(&*f.engine, false).await, []);
        drop(f);
        closed(|open| open.starts_with(store.folder.path()));
        store
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    async fn open(&self) -> Fixture {
        let engine = SqliteEngine::open(&url(&self.file()), manual(&self.clock)).await.unwrap();
        Fixture { engine: Arc::new(engine), clock: Arc::clone(&self.clock), guard: Box::new(()) }
    }

    /// How many rows there are of a kind.
    fn count(&self, kind: &str) -> i64 {
        let conn = Connection::open(self.file()).unwrap();
        conn.query_row(&format!("SELECT count(*) FROM {kind}"), [], |row| row.get(0)).unwrap()
    }

    /// Asserts that no task is over and holds a predecessor, and that nothing is kept in vain.
    async fn assert_all_released(&self, f: &Fixture) {
        let left = ["parent WHERE holds = 1", "held_result", "signal_due"].map(|kind| self.count(kind));
        assert_eq!((left, audit(&*f.engine, false).await), ([0; 3], vec![]));
    }
}

async fn settle(f: &Fixture, claimed: Vec<ClaimedTask>, outcome: &Outcome) {
    let settlement = |task: ClaimedTask| Settlement::new(task.id, task.fence, outcome.clone());
    f.cycle_as("w1", &["default"], 0, claimed.into_iter().map(settlement).collect()).await;
}

#[tokio::test]
async fn the_next_process_releases_the_predecessors_that_a_step_left() {
    let store = Store::with_collectors(&DONE).await;
    let f = store.open().await;
    // Each lets go of 1,600 at most.
    for _ in 0..2 {
        f.engine.promote_due(1).await.unwrap();
    }
    store.assert_all_released(&f).await;
}

#[tokio::test]
async fn a_task_that_is_sent_again_releases_its_predecessors_when_it_is_over_again() {
    let store = Store::with_collectors(&failed(false)).await;
    let f = store.open().await;
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("z"))]).await.unwrap(), [Resubmitted::Done]);
    f.engine.promote_due(1).await.unwrap();
    assert_eq!(audit(&*f.engine, false).await, []);
    let z = f.claim_one().await;
    assert!(store.count("parent WHERE holds = 1") > 0, "it is not over");
    f.settle(&z, DONE).await;
    store.assert_all_released(&f).await;
}
