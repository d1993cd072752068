//! The `cleaner` program: what it refuses, what it prints, and its exit codes.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, OnConflict, Outcome, QueueClaim, Settlement, Submit},
    name::WorkerId,
    payload::Payload,
    task::{ClaimedTask, NewTask, label::Labels},
};
use jobbers_engines::OpenOptions;
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

fn cleaner(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cleaner"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CLEANER_") || name.ends_with("_URL")) {
        command.env_remove(name);
    }
    command.args(args).output().unwrap()
}

fn fails_with(code: i32, word: &str, args: &[&str]) {
    let output = cleaner(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(word), "{said:?} does not say {word:?}");
    assert!(output.stdout.is_empty());
}

#[test]
fn it_refuses_to_run_when_nobody_says_what_to_prune() {
    fails_with(2, "nothing says what to do", &["--dry-run"]);
}

#[test]
fn a_running_status_and_a_word_that_is_none_are_refused() {
    fails_with(2, "cancel them first, as with `jobbers cancel --status started`", &["--status", "started"]);
    fails_with(64, "larger_than is for tasks that are over", &["--status", "submitted", "--larger-than", "9"]);
    fails_with(2, "is not a status", &["--status", "done"]);
    fails_with(2, "is not a duration", &["--older-than", "a week"]);
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cleaner.toml");
    fs::write(&file, "status = [\"started\"]\n").unwrap();
    fails_with(64, "cancel them first", &["--config", file.to_str().unwrap()]);
    fs::write(&file, "older = \"7d\"\n").unwrap();
    fails_with(64, "older", &["--config", file.to_str().unwrap()]);
    fails_with(64, "too short", &["--retention", "--watch", "1ms"]);
    fails_with(64, "no-such.toml", &["--config", "no-such.toml"]);
}

#[test]
fn versions_in_no_order_and_managers_that_are_none_are_refused() {
    fails_with(64, "lies above", &["--task-version-from", "3", "--task-version-to", "2"]);
    fails_with(2, "cannot be used with", &["--task-version", "3", "--task-version-to", "2"]);
    let age = ["--dead-letters-older-than", "90d"];
    fails_with(64, "is not a manager's address", &[&age[..], &["--manager", "ftp://localhost"]].concat());
}

/// Creates a store and returns its address.
fn store_in(folder: &Path) -> String {
    let url = format!("sqlite://{}", folder.join("jobbers.db").display());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(jobbers_engines::open(&url, OpenOptions::default())).unwrap();
    url
}

#[test]
fn a_manager_that_does_not_answer_ends_with_unavailable_and_the_others_have_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let url = store_in(folder.path());
    let asked = ["--retention", "--dead-letters-older-than", "90d", "--manager", "http://127.0.0.1:1", "--json"];
    let output = cleaner(&[&asked[..], &["--engine-url", &url]].concat());
    assert_eq!(output.status.code(), Some(69), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["passes"][0]["ending"], &report["passes"][1]["ending"]), (&"done".into(), &"failed".into()));
}

/// A store with one task, whose counts are wrong.
fn damaged(folder: &Path) -> String {
    let url = store_in(folder);
    let conn = rusqlite::Connection::open(folder.join("jobbers.db")).unwrap();
    conn.execute_batch("INSERT INTO queue_number (queue, what, number) VALUES (1, 2, 17)").unwrap();
    url
}

#[test]
fn what_does_not_agree_is_told_by_a_dry_run_and_mended_by_a_real_one() {
    let folder = tempfile::tempdir().unwrap();
    let url = damaged(folder.path());
    let told = cleaner(&["--repair", "--dry-run", "--engine-url", &url]);
    assert_eq!(told.status.code(), Some(1));
    let said = String::from_utf8(told.stdout).unwrap();
    assert!(said.contains("1 not mended") && said.contains("miscounted: default: 17 tasks"), "{said}");
    let mended = cleaner(&["--repair", "--json", "--engine-url", &url]);
    assert_eq!(mended.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&mended.stdout).unwrap();
    assert_eq!((&report["passes"][0]["repaired"], &report["passes"][0]["left"]), (&1.into(), &0.into()), "{report}");
    assert_eq!(cleaner(&["--repair", "--dry-run", "--engine-url", &url]).status.code(), Some(0));
}

#[test]
fn a_file_with_damaged_pages_is_told_and_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let url = damaged(folder.path());
    let file = folder.path().join("jobbers.db");
    let conn = rusqlite::Connection::open(&file).unwrap();
    let place = "SELECT (rootpage - 1) * 4096 FROM sqlite_schema WHERE name = 'failure'";
    let at = conn.query_row(place, [], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(conn);
    fs::File::options().write(true).open(&file).unwrap().write_all_at(&[0xa5; 4096], at).unwrap();
    let before = fs::read(&file).unwrap();
    let told = cleaner(&["--repair", "--json", "--engine-url", &url]);
    assert_eq!(told.status.code(), Some(1), "{}", String::from_utf8_lossy(&told.stderr));
    let report: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let pass = &report["passes"][0];
    assert_eq!((&pass["ending"], &pass["repaired"]), (&"done".into(), &0.into()), "{report}");
    let flaws: Vec<&str> = pass["findings"].as_array().unwrap().iter().map(|it| it["flaw"].as_str().unwrap()).collect();
    assert!(flaws.contains(&"file_damaged") && flaws.contains(&"miscounted"), "{report}");
    assert!(fs::read(&file).unwrap() == before, "nothing was changed");
}

#[test]
fn a_store_of_no_known_kind_is_refused() {
    fails_with(64, "is not the address of a store", &["--retention", "--engine-url", "mysql://localhost"]);
}

#[test]
fn a_server_that_is_not_there_ends_with_unavailable() {
    fails_with(69, "unavailable", &["--retention", "--engine-url", "redis://127.0.0.1:1"]);
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
    for asked in ["--retention", "--repair"] {
        fails_with(64, "no store exists at", &[asked, "--engine-url", &url("none.db")]);
        fails_with(64, "in memory", &[asked, "--engine-url", "sqlite::memory:"]);
    }
    fails_with(64, "no store exists at", &["--retention", "--watch", "1m", "--engine-url", &url("none.db")]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
    fs::write(folder.path().join("empty.db"), b"").unwrap();
    fails_with(64, "the file is empty", &["--repair", "--engine-url", &url("empty.db")]);
    assert_eq!(fs::metadata(folder.path().join("empty.db")).unwrap().len(), 0);
    let redis = RedisServer::start(RedisOptions::default());
    fails_with(64, "holds no Jobbers data", &["--repair", "--engine-url", &redis.url()]);
    assert_eq!(redis.command("DBSIZE"), ":0\r\n");
}

#[test]
fn it_reports_in_json_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let url = store_in(folder.path());
    let output = cleaner(&["--retention", "--older-than", "7d", "--json", "--engine-url", &url]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["complete"], &report["removed"]), (&true.into(), &0.into()));
    assert_eq!(report["passes"][0]["pass"], "prune_retention");
    assert_eq!(report["passes"][1]["pass"], "prune_matching");
}

/// What the cleaner counts or removes, in all its passes.
fn removed(args: &[&str]) -> u64 {
    let output = cleaner(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["removed"].as_u64().unwrap()
}

/// Submits four tasks with labels, and completes the first two.
fn submit_with_labels(url: &str) {
    let task = |id: &str, labels: &[&str]| {
        let mut all = Labels::default();
        labels.iter().for_each(|label| all.add(label.parse().unwrap()).unwrap());
        let (id, name, queue) = (id.parse().unwrap(), "echo".parse().unwrap(), "default".parse().unwrap());
        NewTask { metadata: all.into(), ..NewTask::new(id, name, queue, Payload::json(&b"{}"[..])) }
    };
    let over = vec![task("over", &["team=core"]), task("other", &["team=web"])];
    let waiting = vec![task("both", &["team=core", "env=test"]), task("one", &["team=core"])];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = jobbers_engines::open(url, OpenOptions::default()).await.unwrap();
        engine.submit(Submit { tasks: over, on_conflict: OnConflict::Fail }).await.unwrap();
        let queues = vec![QueueClaim { queue: "default".parse().unwrap(), limit: 2 }];
        let claim = ClaimRequest { queues, limit: 2, refused: Vec::new(), lease: Duration::from_secs(8) };
        let worker: WorkerId = "w".parse().unwrap();
        let claim = Cycle { worker: worker.clone(), settlements: Vec::new(), claim: Some(claim) };
        let claimed = engine.cycle(claim).await.unwrap().claimed;
        let settle = |task: ClaimedTask| Settlement::new(task.id, task.fence, Outcome::Completed { result: None });
        let settlements = claimed.into_iter().map(settle).collect();
        engine.cycle(Cycle { worker, settlements, claim: None }).await.unwrap();
        engine.submit(Submit { tasks: waiting, on_conflict: OnConflict::Fail }).await.unwrap();
    });
}

fn tasks_with_a_label_are_counted_and_removed(url: &str) {
    submit_with_labels(url);
    let clean = |args: &[&str]| removed(&[args, &["--json", "--engine-url", url]].concat());
    let of_core = ["--label", "team=core", "--status", "submitted,completed"];
    assert_eq!(clean(&[&of_core[..], &["--dry-run"]].concat()), 3);
    assert_eq!(clean(&["--label", "team=core", "--label", "env=test", "--status", "submitted"]), 1);
    assert_eq!(clean(&of_core), 2);
    assert_eq!(clean(&["--label", "team=web", "--dry-run"]), 1, "the task of the other team is left");
}

#[test]
fn tasks_with_a_label_are_counted_and_removed_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    tasks_with_a_label_are_counted_and_removed(&store_in(folder.path()));
}

#[test]
fn tasks_with_a_label_are_counted_and_removed_on_redis() {
    let redis = RedisServer::start(RedisOptions::default());
    tasks_with_a_label_are_counted_and_removed(&redis.url());
}

#[test]
fn a_label_that_is_none_is_refused() {
    fails_with(2, "a label is written NAME=VALUE", &["--label", "team"]);
    fails_with(2, "cannot be used with", &["--label", "a=b", "--board", "b", "--older-than", "7d"]);
    fails_with(64, "label a is given twice", &["--label", "a=b", "--label", "a=c"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cleaner.toml");
    fs::write(&file, "label = [\"team\"]\n").unwrap();
    fails_with(64, "a label is written NAME=VALUE", &["--config", file.to_str().unwrap()]);
}

#[test]
fn statuses_of_tasks_that_are_over_and_of_those_that_have_not_begun_make_a_pass_each() {
    let folder = tempfile::tempdir().unwrap();
    let url = store_in(folder.path());
    let output = cleaner(&["--status", "submitted,completed", "--json", "--engine-url", &url]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let passes: Vec<&str> =
        report["passes"].as_array().unwrap().iter().map(|pass| pass["pass"].as_str().unwrap()).collect();
    assert_eq!(passes, ["prune_matching", "clear_matching"]);
}

#[test]
fn a_rule_for_a_board_that_makes_no_sense_is_refused() {
    fails_with(64, "needs max_age or max_tasks", &["--board", "b"]);
    fails_with(64, "needs max_age or max_tasks", &["--board", "b", "--group", "g"]);
    fails_with(2, "--board", &["--group", "g", "--older-than", "7d"]);
    fails_with(2, "--board", &["--max-tasks", "7"]);
    fails_with(2, "cannot be used with", &["--board", "b", "--older-than", "7d", "--queue", "mail"]);
    fails_with(2, "invalid value", &["--board", "no name", "--older-than", "7d"]);
    fails_with(2, "invalid value", &["--board", "b", "--max-tasks", "many"]);
    let long = "g".repeat(1_025);
    fails_with(64, "at most 1024 bytes", &["--board", "b", "--group", &long, "--older-than", "7d"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cleaner.toml");
    for (text, word) in [
        ("[[boards]]\nboard = \"b\"\n", "needs max_age or max_tasks"),
        ("[[boards]]\nmax_age = \"7d\"\n", "missing field `board`"),
        ("[[boards]]\nboard = \"b\"\nage = \"7d\"\n", "unknown field"),
        ("group = \"g\"\nretention = true\n", "need a board"),
        ("board = \"b\"\nmax_tasks = 3\nqueue = \"mail\"\n", "only"),
    ] {
        fs::write(&file, text).unwrap();
        fails_with(64, word, &["--config", file.to_str().unwrap()]);
    }
}
