//! Rows changed by another program, and a log that readers hold.

use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use jobbers_common::{engine::SettleAnswer, lifecycle::Status, payload::Payload, task::NewTask, time::ManualClock};
use jobbers_engines::sqlite::SqliteEngine;
use jobbers_law::conformance::{DONE, Fixture, LEASE, ids, task};
use rusqlite::Connection;

use super::{START, manual, url};

/// Above this many bytes the log is cut.
const BOUND: u64 = 64 * 1024 * 1024;
/// How long a reader reads while nothing is written.
const A_READ: Duration = Duration::from_millis(20);

async fn open(file: &Path) -> Fixture {
    let clock = Arc::new(ManualClock::new(START));
    let engine = SqliteEngine::open(&url(file), manual(&clock)).await.unwrap();
    Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) }
}

#[tokio::test]
async fn a_ready_task_whose_row_can_t_be_read_harms_no_neighbour_and_ends_by_its_crashes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let f = open(&file).await;
    f.submit_ids(&["a", "bad", "b"]).await;
    let other = Connection::open(&file).unwrap();
    other.execute("UPDATE task SET overrides = 'nonsense' WHERE id = 'bad'", []).unwrap();
    let claimed = f.claim(10).await;
    assert_eq!(ids(&claimed), ["a", "b"]);
    for task in &claimed {
        assert_eq!(f.settle(task, DONE).await, SettleAnswer::Accepted(Status::Completed));
    }
    for next in ["c", "d", "e"] {
        f.advance(LEASE * 2);
        f.submit_ids(&[next]).await;
        let claimed = f.claim(10).await;
        assert_eq!(ids(&claimed), [next], "handed out all the same");
        f.settle(&claimed[0], DONE).await;
    }
    assert_eq!(f.count(Status::Failed).await, 1);
}

#[tokio::test]
async fn a_log_that_overlapping_readers_hold_is_cut_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let f = open(&file).await;
    let (written, heard) = mpsc::channel();
    let path = file.clone();
    // At every moment one of the two reads, from before the newest commit on: the log never starts again by itself.
    let reader = thread::spawn(move || {
        let pair = [Connection::open(&path).unwrap(), Connection::open(&path).unwrap()];
        let begin = "BEGIN; SELECT count(*) FROM sqlite_schema;";
        pair[0].execute_batch(begin).unwrap();
        for turn in 0.. {
            if heard.recv_timeout(A_READ) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let [one, next] = [&pair[turn % 2], &pair[(turn + 1) % 2]];
            next.execute_batch(begin).unwrap();
            one.execute_batch("COMMIT").unwrap();
        }
    });
    let length = || std::fs::metadata(file.with_extension("db-wal")).unwrap().len();
    // It is looked at once a second; until then it grows.
    let mut longest = 0;
    let start = Instant::now();
    for n in 0.. {
        let large = NewTask { parameters: Payload::json(vec![b'1'; 250_000]), ..task(&format!("t{n}")) };
        f.submit(vec![large]).await;
        written.send(()).unwrap();
        longest = longest.max(length());
        if longest > BOUND && length() < BOUND {
            break;
        }
        assert!(longest < 16 * BOUND, "the log grows and grows");
        assert!(start.elapsed() < Duration::from_secs(60), "the log of {longest} bytes was never cut");
    }
    drop(written);
    reader.join().unwrap();
}
