//! `jobbers doctor` on stores that are well, and on stores that are not.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use jobbers_test_support::redis_server::{Persistence, RedisOptions, RedisServer};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::jobbers::{Said, Up, run, run_in};

fn examined(url: &str) -> Said {
    run(&["doctor", "--json", "--engine-url", url])
}

/// The problems of one check.
fn problems(report: &Value, check: &str) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|it| it["check"] == check).unwrap();
    check["problems"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

fn file_of(up: &Up) -> PathBuf {
    up.folder.path().join("jobbers.db")
}

#[test]
fn a_store_in_use_is_well_and_its_books_balance() {
    let up = Up::start();
    for n in 0..3 {
        up.jobbers(&["submit", "echo", &format!("n={n}"), "--wait"]).ok();
    }
    up.jobbers(&["submit", "fail", "kind=fatal", "--wait"]).ends_with(1);
    up.jobbers(&["submit", "echo", "--delay", "1h"]).ok();
    // Listing waits for what is on its way to the archive.
    up.jobbers(&["dlq", "list"]).ok();
    let url = format!("sqlite://{}", file_of(&up).display());
    let report = examined(&url).ok().json();
    assert_eq!((&report["healthy"], &report["found"]), (&true.into(), &0.into()), "{report}");
    let books = &report["queues"][0];
    assert_eq!((&books["accepted"], &books["live"], &books["finished"]), (&5.into(), &1.into(), &4.into()), "{report}");
    assert!(report["looked_at"].as_u64().unwrap() >= 5);
    let told = run(&["doctor", "--engine-url", &url]).ok();
    for words in
        ["synchronous=FULL", "5 accepted = 1 live + 4 finished + 0 removed", "kept by http://127.0.0.1:", "default"]
    {
        assert!(told.out.contains(words), "{words}: {told:?}");
    }
    assert!(!told.out.contains("WRONG"), "{told:?}");
}

#[test]
fn the_processes_that_share_a_store_are_named() {
    let up = Up::start();
    // Listing waits for a manager that keeps the archive.
    up.jobbers(&["dlq", "list"]).ok();
    let report = run_in(up.folder.path(), &["doctor", "--json"]).ok().json();
    let sharers = &report["sharers"];
    let known_as = ["runs in this folder", "keeps the archive of dead letters"];
    assert_eq!(sharers["managers"], json!([{"url": up.url, "known_as": known_as}]), "{report}");
    let workers = up.jobbers(&["workers", "--json"]).ok().json()["workers"].clone();
    let [worker] = &workers.as_array().unwrap()[..] else { panic!("{workers}") };
    assert_eq!((&sharers["workers"][0]["id"], &sharers["workers"][0]["host"]), (&worker["id"], &worker["host"]));
    // Named by its file, the store does not lead to the folder.
    let url = format!("sqlite://{}", file_of(&up).display());
    assert_eq!(examined(&url).ok().json()["sharers"]["managers"][0]["known_as"], json!(known_as[1..]));

    let conn = Connection::open(file_of(&up)).unwrap();
    for n in 0..25 {
        conn.execute(
            "INSERT INTO worker SELECT 'w' || ?1, report, started_at, seen_at, expires_at + 3600000000 FROM worker LIMIT 1",
            [n],
        )
        .unwrap();
    }
    let told = run(&["doctor", "--engine-url", &url]).ok();
    assert!(told.out.contains("and 6 more live workers"), "{told:?}");
}

#[test]
fn what_does_not_agree_is_exit_code_1_and_told() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "--delay", "1h"]).ok();
    let conn = Connection::open(file_of(&up)).unwrap();
    conn.execute_batch(
        "UPDATE queue_number SET number = 7 WHERE what < 10; UPDATE worker SET report = replace(report, '\"version\":\"', '\"version\":\"9.')",
    )
    .unwrap();
    let url = format!("sqlite://{}", file_of(&up).display());
    let report = examined(&url).ends_with(1).json();
    assert_eq!((&report["healthy"], &report["findings"][0]["flaw"]), (&false.into(), &"miscounted".into()), "{report}");
    assert_eq!(problems(&report, "records"), ["miscounted: 1"]);
    let told = run(&["doctor", "--engine-url", &url]).ends_with(1);
    assert!(
        told.out.contains("WRONG") && told.out.contains("7 tasks are counted as scheduled and 1 are there"),
        "{told:?}"
    );
}

#[test]
fn a_worker_of_its_own_version_is_told_and_is_no_fault() {
    let up = Up::start();
    up.jobbers(&["submit", "echo", "--wait"]).ok();
    // A worker that is not one of ours, and reports no more: ours would write over it.
    let conn = Connection::open(file_of(&up)).unwrap();
    conn.execute_batch(
        "INSERT INTO worker SELECT 'other', replace(report, '\"version\":\"', '\"version\":\"9.'), started_at, seen_at, \
         expires_at + 3600000000 FROM worker LIMIT 1",
    )
    .unwrap();
    let report = examined(&format!("sqlite://{}", file_of(&up).display())).ok().json();
    let versions = report["checks"].as_array().unwrap().iter().find(|it| it["check"] == "versions").unwrap();
    assert!(versions["seen"].as_str().unwrap().contains("1 of version 9."), "{report}");
}

#[test]
fn a_redis_that_keeps_no_promise_is_told_loudly() {
    let options = |persistence, arguments: &[&str]| RedisOptions {
        persistence,
        arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
        ..RedisOptions::default()
    };
    let with_a_store = |options| {
        let redis = RedisServer::start(options);
        drop(Up::in_folder(tempfile::tempdir().unwrap(), &["--engine-url", &redis.url()]));
        redis
    };
    let well = with_a_store(options(Persistence::Always, &[]));
    examined(&well.url()).ok();
    let careless = options(Persistence::None, &["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let careless = with_a_store(careless);
    let report = examined(&careless.url()).ends_with(1).json();
    let told = problems(&report, "store").join("; ");
    assert!(told.contains("append-only file") && told.contains("maxmemory-policy is allkeys-lru"), "{told}");
    let unsynced = with_a_store(options(Persistence::Always, &["--appendfsync", "no"]));
    let report = examined(&unsynced.url()).ends_with(1).json();
    assert!(problems(&report, "store")[0].contains("without ever syncing"), "{report}");
}

#[test]
fn a_redis_that_lost_a_key_is_told() {
    let redis = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--engine-url", &redis.url()]);
    up.jobbers(&["submit", "echo", "--delay", "1h", "--id", "lost"]).ok();
    examined(&redis.url()).ok();
    assert_eq!(redis.command("ZREM jobbers:{0}:q:default:s lost"), ":1\r\n");
    let report = examined(&redis.url()).ends_with(1).json();
    assert_eq!(report["findings"][0]["subject"], "lost", "{report}");
    assert!(!problems(&report, "queues").is_empty(), "a task is accepted and nowhere: {report}");
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let examine = |path: &str| run_in(folder.path(), &["doctor", "--engine-url", &format!("sqlite://{path}")]);
    examine("none.db").fails(64, "no store exists at none.db: no such file");
    examine("no%20ne.db?synchronous=normal").fails(64, "no store exists at no ne.db");
    run_in(folder.path(), &["doctor"]).fails(64, "no store exists at ./jobbers.db");
    examine(".").fails(64, "is a folder");
    run(&["doctor", "--engine-url", "sqlite::memory:"]).fails(64, "in memory");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
    fs::write(folder.path().join("empty.db"), b"").unwrap();
    examine("empty.db").fails(64, "no store exists at empty.db: the file is empty");
    assert_eq!(fs::metadata(folder.path().join("empty.db")).unwrap().len(), 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made beside it");
    run(&["doctor", "--engine-url", "redis://127.0.0.1:1"]).fails(69, "can't be opened");
    run(&["doctor", "--engine-url", "mysql://localhost"]).fails(64, "is not the address of a store");
}

#[test]
fn a_redis_without_a_store_is_told_and_left_empty() {
    let redis = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    run(&["doctor", "--engine-url", &redis.url()]).fails(64, "holds no Jobbers data");
    assert_eq!(redis.command("DBSIZE"), ":0\r\n");
    // What has lost its schema is a store all the same, and examined.
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--engine-url", &redis.url()]);
    up.jobbers(&["submit", "echo", "--delay", "1h"]).ok();
    run(&["doctor", "--engine-url", &format!("{}?prefix=others", redis.url())]).fails(64, "begin with others:{0}:");
    drop(up);
    assert_eq!(redis.command("DEL jobbers:{0}:schema"), ":1\r\n");
    examined(&redis.url()).ok();
}

/// A store with a task, out of use and with all of it in its file.
fn store_in(folder: &Path) -> PathBuf {
    let file = folder.join("jobbers.db");
    let up = Up::in_folder(tempfile::tempdir().unwrap(), &["--engine-url", &format!("sqlite://{}", file.display())]);
    up.jobbers(&["submit", "echo", "--delay", "1h"]).ok();
    drop(up);
    let conn = Connection::open(&file).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    file
}

/// Overwrites the page in which a table begins; with all of a small one.
fn overwrite(file: &Path, table: &str) {
    let conn = Connection::open(file).unwrap();
    let place = "SELECT (rootpage - 1) * (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?1";
    let at = conn.query_row(place, [table], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned();
    drop(conn);
    let file = fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(&[0xa5; 4096], at).unwrap();
}

#[test]
fn damaged_pages_are_a_finding_and_the_other_checks_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = store_in(folder.path());
    overwrite(&file, "failure");
    let before = fs::read(&file).unwrap();
    let url = format!("sqlite://{}", file.display());
    let report = examined(&url).ends_with(1).json();
    assert_eq!(report["findings"][0]["flaw"], "file_damaged", "{report}");
    assert_eq!(report["findings"][0]["subject"], "failure", "{report}");
    assert!(!problems(&report, "records").is_empty() && problems(&report, "queues").is_empty(), "{report}");
    assert_eq!(
        (&report["checks"].as_array().unwrap().len(), &report["queues"][0]["live"]),
        (&7, &1.into()),
        "{report}"
    );
    assert!(run(&["doctor", "--engine-url", &url]).ends_with(1).out.contains("file_damaged"));
    assert!(fs::read(&file).unwrap() == before, "nothing was changed");
}

#[test]
fn a_file_of_which_nothing_can_be_read_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let file = store_in(folder.path());
    let url = format!("sqlite://{}", file.display());
    overwrite(&file, "meta");
    let report = examined(&url).ends_with(1).json();
    assert_eq!(report["findings"][0]["flaw"], "file_damaged", "{report}");
    for check in ["store", "queues", "dead letters", "versions"] {
        assert!(problems(&report, check)[0].contains("the store is damaged"), "{report}");
    }
    // The first page makes it a database.
    let bytes = fs::File::options().write(true).open(&file).unwrap();
    bytes.write_all_at(&[0xa5; 4096], 0).unwrap();
    let report = examined(&url).ends_with(1).json();
    assert_eq!((&report["findings"][0]["flaw"], &report["healthy"]), (&"file_damaged".into(), &false.into()));
    assert!(problems(&report, "store")[0].contains("file is not a database"), "{report}");
}
