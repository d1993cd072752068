//! What an idle store writes: nothing, while its workers and the holders of its duties stay known.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jobbers_common::{
    engine::{Duties, DutyClaim, Upkeep, Workers},
    name::{DutyName, HolderId, WorkerId},
    time::{Clock, ManualClock},
    worker::WorkerReport,
};
use jobbers_engines::sqlite::SqliteEngine;
use jobbers_law::conformance::{settings::report, worker};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{START, closed, manual, url};

const TTL: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_secs(2);

/// One file, as two processes have it.
struct Shared {
    folder: TempDir,
    clock: Arc<ManualClock>,
    here: SqliteEngine,
    there: SqliteEngine,
}

impl Shared {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let file = folder.path().join("store.db");
        let here = SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap();
        let there = SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap();
        Self { folder, clock, here, there }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    /// What a worker and a manager without work do, for this long. Returns how many commits it took.
    async fn idle(&self, report: &WorkerReport, rounds: u32) -> i64 {
        let before = commits(&self.file());
        for _ in 0..rounds {
            self.clock.advance(EVERY);
            self.here.register_worker(report.clone(), TTL).await.unwrap();
            assert_eq!(self.holder_after_claim(&self.here, "here").await, "here");
            self.here.promote_due(100).await.unwrap();
            self.here.reclaim_expired(100).await.unwrap();
            assert_eq!(self.holder_after_claim(&self.there, "there").await, "here");
            let alive = self.there.workers().await.unwrap();
            assert!(alive.len() == 1 && alive[0].seen_at == self.clock.now(), "{alive:?}");
        }
        commits(&self.file()) - before
    }

    async fn holder_after_claim(&self, engine: &SqliteEngine, name: &str) -> String {
        let claim = DutyClaim {
            duty: DutyName::new("keep").unwrap(),
            holder: HolderId::new(name).unwrap(),
            note: "n".to_owned(),
            ttl: TTL,
        };
        engine.claim_duty(claim).await.unwrap().holder.to_string()
    }

    async fn alive_there(&self) -> Vec<WorkerId> {
        self.there.workers().await.unwrap().into_iter().map(|worker| worker.report.id).collect()
    }
}

fn commits(file: &Path) -> i64 {
    Connection::open(file).unwrap().query_row("SELECT commits FROM meta", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn an_idle_minute_writes_nothing_and_others_see_who_is_alive() {
    let store = Shared::open().await;
    assert!(store.idle(&report("w"), 1).await > 0, "the first registration is written");
    assert_eq!(store.idle(&report("w"), 60).await, 0);
    // What changes is written.
    let other = WorkerReport { running: 4, ..report("w") };
    assert_eq!(store.idle(&other, 1).await, 1);
    assert_eq!(store.idle(&other, 60).await, 0);
}

#[tokio::test]
async fn who_stops_renewing_is_gone_when_its_time_is_over() {
    let store = Shared::open().await;
    store.idle(&report("w"), 30).await;
    store.clock.advance(TTL - Duration::from_millis(1));
    assert_eq!(store.alive_there().await, [worker("w")]);
    assert_eq!(store.holder_after_claim(&store.there, "there").await, "here");
    store.clock.advance(Duration::from_millis(1));
    assert_eq!(store.alive_there().await, []);
    assert_eq!(store.holder_after_claim(&store.there, "there").await, "there");
    assert_eq!(store.holder_after_claim(&store.here, "here").await, "there");
}

#[tokio::test]
async fn a_process_that_ends_without_a_word_is_gone_at_once_or_when_its_last_write_s_time_is_over() {
    let store = Shared::open().await;
    store.idle(&report("w"), 30).await;
    let Shared { folder, clock, here, there } = store;
    drop(here);
    assert!(there.workers().await.unwrap().is_empty(), "nothing renews it, and it was written a minute ago");
    drop(there);
    closed(|file| file.starts_with(folder.path()));
    // Written just now, it is known until its time is over.
    let file = folder.path().join("store.db");
    let open = async || SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap();
    open().await.register_worker(report("v"), TTL).await.unwrap();
    assert_eq!(open().await.workers().await.unwrap().len(), 1);
    clock.advance(TTL);
    assert_eq!(open().await.workers().await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_worker_that_leaves_and_a_duty_that_is_given_back_are_free_at_once() {
    let store = Shared::open().await;
    store.idle(&report("w"), 30).await;
    store.here.deregister_worker(&worker("w")).await.unwrap();
    assert_eq!(store.alive_there().await, []);
    let (duty, holder) = (DutyName::new("keep").unwrap(), HolderId::new("here").unwrap());
    store.here.release_duty(&duty, &holder).await.unwrap();
    assert_eq!(store.there.duty(&duty).await.unwrap(), None);
    assert_eq!(store.holder_after_claim(&store.there, "there").await, "there");
}

#[tokio::test]
async fn silent_workers_are_forgotten_when_another_registers() {
    let store = Shared::open().await;
    store.idle(&report("silent"), 1).await;
    store.clock.advance(TTL);
    store.there.register_worker(report("new"), TTL).await.unwrap();
    let left: String = Connection::open(store.file())
        .unwrap()
        .query_row("SELECT group_concat(id) FROM worker", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, "new");
}
