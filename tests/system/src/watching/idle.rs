//! What a worker costs that has nothing to do, and what a store writes that rests.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use jobbers_test_support::{
    program::Program,
    wait::{until, within},
};
use nix::sys::signal::Signal::SIGTERM;
use serde_json::json;

use crate::{
    engines::Kind,
    stack::{Manager, Stack},
};

mod on_sqlite {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: it measures time, up to a minute"]
    async fn an_idle_worker_uses_less_than_a_hundredth_of_a_core() {
        super::an_idle_worker_uses_less_than_a_hundredth_of_a_core(crate::engines::Kind::Sqlite).await;
    }
}

mod on_redis {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "long: it measures time, up to a minute"]
    async fn an_idle_worker_uses_less_than_a_hundredth_of_a_core() {
        super::an_idle_worker_uses_less_than_a_hundredth_of_a_core(crate::engines::Kind::Redis).await;
    }
}

/// On a shared machine the same work can be charged ten times the CPU time for some seconds. That only ever adds, and a
/// worker that is busy all the time exceeds the bound in every window.
async fn an_idle_worker_uses_less_than_a_hundredth_of_a_core(kind: Kind) {
    const WINDOW: Duration = Duration::from_secs(10);
    const WINDOWS: usize = 6;
    let stack = Stack::on(kind).await;
    let worker = stack.worker().await;
    let mut used = Vec::new();
    for _ in 0..WINDOWS {
        let before = worker.cpu_time();
        // Not a wait for anything: the length of the measurement.
        tokio::time::sleep(WINDOW).await;
        let spent = worker.cpu_time() - before;
        if spent < WINDOW / 100 {
            return;
        }
        used.push(spent);
    }
    panic!("{used:?} of CPU in windows of {WINDOW:?}");
}

/// The SQLite file and its log.
fn files(stack: &Stack) -> [PathBuf; 2] {
    ["tasks.db", "tasks.db-wal"].map(|name| stack.folder().join(name))
}

/// How long each is, and when it was written last.
fn written(stack: &Stack) -> [Option<(u64, SystemTime)>; 2] {
    files(stack).map(|file| fs::metadata(file).ok().and_then(|file| Some((file.len(), file.modified().ok()?))))
}

/// Waits until the log is written back.
async fn rests(stack: &Stack) {
    let [_, log] = files(stack);
    let rests = async {
        while fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    within(Duration::from_secs(30), "a log that is written back at rest", rests).await;
}

/// How long nothing is written.
const MINUTE: Duration = Duration::from_secs(61);

/// Two managers, a worker, a cleaner and a schedule with nothing to do.
struct Idle {
    manager: Manager,
    _others: (Manager, Program, Program),
}

async fn idle(stack: &Stack) -> Idle {
    let (manager, other) = (stack.manager().await, stack.manager().await);
    let worker = stack.worker().await;
    let arguments = ["--engine-url", stack.url(), "--retention", "--watch", "10s"];
    let cleaner = Program::start("cleaner", stack.folder(), &arguments, &[]);
    let yearly = json!({"name": "yearly", "cron": "0 0 1 1 *", "task": {"name": "note"}});
    manager.api.post("/schedules", &yearly).await.ok();
    Idle { manager, _others: (other, worker, cleaner) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: a minute of rest"]
async fn an_idle_minute_writes_nothing_to_a_sqlite_store() {
    let stack = Stack::on(Kind::Sqlite).await;
    let idle = idle(&stack).await;
    rests(&stack).await;
    let before = written(&stack);
    // Not a wait for anything: the length of the measurement.
    tokio::time::sleep(MINUTE).await;
    assert_eq!(written(&stack), before, "something was written while nothing happened");
    idle.manager.api.submit(&json!({"name": "note"})).await;
    assert_ne!(written(&stack), before, "a task is written");
}

/// How many keys of a Redis store were changed.
fn changes(stack: &Stack) -> i64 {
    let info = stack.redis.as_ref().unwrap().command("INFO persistence");
    let changes = info.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
    changes.unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: a minute of rest"]
async fn an_idle_minute_changes_at_most_one_key_of_a_redis_store() {
    let stack = Stack::on(Kind::Redis).await;
    let idle = idle(&stack).await;
    let rests = async || {
        let before = changes(&stack);
        tokio::time::sleep(Duration::from_secs(4)).await;
        (changes(&stack) == before).then_some(())
    };
    until(Duration::from_secs(60), "nothing is written for a while", rests).await;
    let before = changes(&stack);
    // Not a wait for anything: the length of the measurement.
    tokio::time::sleep(MINUTE).await;
    let written = changes(&stack) - before;
    println!("{written} changes of keys in {MINUTE:?}");
    assert!(written <= 1, "{written} changes of keys while nothing happened");
    idle.manager.api.submit(&json!({"name": "note"})).await;
    assert!(changes(&stack) > before + written, "a task is written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_stop_leaves_a_sqlite_store_in_its_own_file() {
    let stack = Stack::on(Kind::Sqlite).await;
    let mut manager = stack.manager().await;
    let mut worker = stack.worker().await;
    let id = manager.api.submit(&json!({"name": "note"})).await;
    manager.api.finished(&id).await;
    for program in [&mut worker, &mut manager.program] {
        program.signal(SIGTERM);
        assert_eq!(program.exit().await.code(), Some(0));
    }
    let [file, log] = files(&stack);
    assert!(fs::metadata(&log).map_or(0, |log| log.len()) == 0, "the log is written back");
    assert!(fs::metadata(&file).unwrap().len() > 100_000, "the tables are in the file");
}
