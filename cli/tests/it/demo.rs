//! The demo on small folders, on both engines.

use std::{fs, path::Path};

use jobbers_test_support::redis_server::{RedisOptions, RedisServer};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::jobbers::run_in;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    write("one.txt", b"The cat and the hat");
    write("two.txt", "Straße, the STRASSE: 2 cats\n".as_bytes());
    write("empty", b"");
    write("binary", b"\x00\x01\x02");
    write("latin1", b"caf\xe9");
    folder
}

fn expected(engine: &str) -> Value {
    json!({
        "files": 3, "tasks": 8, "completed": 6, "failed": 2, "retried": 4, "words_total": 10, "words_distinct": 8,
        "top": [["the", 3], ["and", 1], ["cat", 1], ["cats", 1], ["hat", 1], ["strasse", 1], ["straße", 1]],
        "verified": true, "engine": engine,
    })
}

fn demo(folder: &Path, flags: &[&str]) -> Value {
    let said = run_in(folder, &[&["demo", "--json"], flags].concat()).ok();
    assert_eq!(said.err, "2 files skipped: 2 not text\n");
    let mut object = said.json();
    assert!(object.as_object_mut().unwrap().remove("seconds").unwrap().as_f64().unwrap() > 0.0);
    object
}

#[test]
fn it_counts_a_folder_right_on_sqlite() {
    assert_eq!(demo(folder().path(), &[]), expected("sqlite"));
}

#[test]
fn it_counts_a_folder_right_on_redis_and_leaves_nothing_there() {
    let server = RedisServer::start(RedisOptions::default());
    assert_eq!(server.command("SET somebody-else 1").trim(), "+OK");
    assert_eq!(demo(folder().path(), &["--engine-url", &server.url()]), expected("redis"));
    assert_eq!(server.command("KEYS *"), "*1\r\n$13\r\nsomebody-else\r\n", "in the words of the protocol");
}

#[test]
fn a_file_with_more_words_than_a_result_holds_is_counted_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..60_000).map(|n| format!("word{n} common\n")).collect();
    fs::write(folder.path().join("large"), text).unwrap();
    let object = run_in(folder.path(), &["demo", "--json"]).ok().json();
    assert_eq!((&object["words_total"], &object["words_distinct"]), (&120_000.into(), &60_001.into()));
    assert_eq!(object["top"][0], json!(["common", 60_000]));
    assert!(object["tasks"].as_u64().unwrap() > 6 && object["verified"] == true, "{object}");
}

#[test]
fn people_get_a_table_that_ends_with_verified() {
    let said = run_in(folder().path(), &["demo"]).ok();
    assert!(said.out.lines().last().unwrap().starts_with("verified: 3 files, 10 words"), "{said:?}");
    let failed = "2 were meant to fail: one fails until its retries are used up, one fails for good at once";
    assert!(said.out.contains(failed), "{said:?}");
    assert!(!said.err.contains("panicked"), "the panic that belongs to the demo is not shown: {said:?}");
}

#[test]
fn an_empty_folder_is_verified_and_what_is_no_folder_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(run_in(empty.path(), &["demo", "--json"]).ok().json()["files"], 0);
    run_in(empty.path(), &["demo", "none"]).fails(2, "can't read none");
    fs::write(empty.path().join("file"), "x").unwrap();
    run_in(empty.path(), &["demo", "file"]).fails(2, "is not a folder");
}

#[test]
fn a_store_that_can_t_be_had_is_said_in_one_sentence() {
    let empty = tempfile::tempdir().unwrap();
    let with_store = |url: &str| run_in(empty.path(), &["demo", "--engine-url", url]);
    with_store("redis://127.0.0.1:1").fails(69, "the store redis://127.0.0.1:1");
    with_store("mysql://x").fails(64, "is not the address of a store");
}
