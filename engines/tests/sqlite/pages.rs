//! Files whose pages were overwritten: what an audit makes of them, and that a repair leaves them alone.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jobbers_common::{
    engine::{AuditRequest, Error, Finding, Flaw, Trouble, Upkeep},
    payload::Payload,
    task::NewTask,
    time::ManualClock,
};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use jobbers_law::conformance::{Fixture, task};
use jobbers_test_support::wait::until;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{START, closed, manual, url};

const PAGE_BYTES: usize = 4_096;
/// How a page with rows of a table begins.
const TABLE_LEAF: u8 = 0x0d;

/// A store of many pages that no process has open, with a count that is off and may be mended.
async fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let clock = Arc::new(ManualClock::new(START));
    let engine = SqliteEngine::open(&url(&file), manual(&clock)).await.unwrap();
    let f = Fixture { engine: Arc::new(engine), clock, guard: Box::new(()) };
    for n in 0..100 {
        let parameters = Payload::json(vec![b' '; 700]);
        f.submit(vec![NewTask { parameters, ..task(&format!("task-{n:03}")) }]).await;
    }
    drop(f);
    closed(|open| open.starts_with(folder.path()));
    let conn = Connection::open(&file).unwrap();
    conn.execute_batch("UPDATE queue_number SET number = number + 7 WHERE number > 0 AND what < 10").unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    (folder, file)
}

/// Overwrites the pages that begin so and hold `text`.
fn overwrite(file: &Path, kind: u8, text: &str) {
    let bytes = fs::read(file).unwrap();
    let hit = bytes
        .chunks(PAGE_BYTES)
        .enumerate()
        .skip(1)
        .filter(|(_, page)| page[0] == kind && page.windows(text.len()).any(|window| window == text.as_bytes()));
    let places: Vec<_> = hit.map(|(number, _)| number * PAGE_BYTES).collect();
    assert!(!places.is_empty(), "no page has {text}");
    let file = fs::File::options().write(true).open(file).unwrap();
    for place in places {
        file.write_all_at(&[0xa5; PAGE_BYTES], place as u64).unwrap();
    }
}

fn overwrite_root(file: &Path, name: &str) {
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root =
        Connection::open(file).unwrap().query_row(root, [name], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned();
    let file = fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(&[0xa5; PAGE_BYTES], (root - 1) * PAGE_BYTES as u64).unwrap();
}

#[tokio::test]
async fn a_damaged_page_is_known_before_a_call_meets_it() {
    let (_folder, file) = filled().await;
    overwrite(&file, TABLE_LEAF, "task-050");
    let engine = SqliteEngine::open(&url(&file), OpenOptions::default()).await.unwrap();
    let health = until(Duration::from_secs(20), "the damage is noticed", async || {
        let health = engine.health().await.unwrap();
        (!health.troubles.is_empty()).then_some(health)
    })
    .await;
    assert_eq!(health.troubles, [Trouble::Damaged]);
    let said = health.warnings.iter().find(|warning| warning.contains("the store is damaged")).unwrap();
    assert!(said.contains("table task") && said.contains("restore a backup"), "{said}");
}

async fn audit(engine: &SqliteEngine, repair: bool) -> Vec<Finding> {
    let (mut findings, mut cursor) = (Vec::new(), None);
    loop {
        let audited = engine.audit(AuditRequest { limit: 10, repair, cursor }).await.unwrap();
        findings.extend(audited.findings);
        cursor = audited.next;
        if cursor.is_none() {
            return findings;
        }
    }
}

/// What an audit finds, and that a repair changes nothing.
async fn found(folder: &TempDir, file: &Path) -> Vec<Finding> {
    let before = fs::read(file).unwrap();
    let engine = SqliteEngine::open(&url(file), OpenOptions::existing()).await.unwrap();
    let found = audit(&engine, false).await;
    assert_eq!(audit(&engine, true).await, found, "a repair mends nothing here");
    drop(engine);
    closed(|open| open.starts_with(folder.path()));
    assert!(fs::read(file).unwrap() == before, "the file was written to");
    found
}

fn of(found: &[Finding], flaw: Flaw) -> Vec<&str> {
    found.iter().filter(|finding| finding.flaw == flaw).map(|finding| finding.subject.as_str()).collect()
}

#[tokio::test]
async fn overwritten_pages_of_tasks_are_found_and_what_can_be_read_is_looked_over() {
    let (folder, file) = filled().await;
    overwrite(&file, TABLE_LEAF, "task-050");
    let found = found(&folder, &file).await;
    let damage = of(&found, Flaw::FileDamaged);
    assert!(damage.len() < 30, "{} findings", damage.len());
    let unread = found.iter().filter(|finding| finding.detail.starts_with("not all of this can be read"));
    let unread: Vec<_> = unread.map(|finding| finding.subject.as_str()).collect();
    assert_eq!((damage[0], &unread[..]), ("task", &["task"][..]), "{found:?}");
    assert_eq!(of(&found, Flaw::Miscounted), ["default"], "the counts can be read, and lack the overwritten tasks");
}

#[tokio::test]
async fn an_overwritten_table_beside_the_tasks_leaves_the_rest_to_be_looked_over() {
    let (folder, file) = filled().await;
    overwrite_root(&file, "checkpoint");
    let found = found(&folder, &file).await;
    assert!(of(&found, Flaw::FileDamaged).contains(&"checkpoint"), "{found:?}");
    assert_eq!(of(&found, Flaw::Miscounted), ["default"]);
}

#[tokio::test]
async fn an_index_is_not_built_anew_in_a_file_with_damaged_pages() {
    let (folder, file) = filled().await;
    let tamper = |sql: &str| Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    // Two rows come into the index's range behind its back.
    let rename = |from: &str, to: &str| {
        tamper(&format!(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, 'status = {from}', 'status = {to}') WHERE name = 'task_ready';"
        ));
    };
    rename("2", "7");
    tamper("UPDATE task SET rank = 3 WHERE id IN ('task-001', 'task-002')");
    rename("7", "2");
    // The check comes to this table after that of the tasks.
    overwrite_root(&file, "worker");
    let found = found(&folder, &file).await;
    let indexed = found.iter().filter(|finding| finding.detail.contains(" index task_ready"));
    assert!(indexed.count() > 0, "{found:?}");
}

#[tokio::test]
async fn a_file_whose_counters_can_t_be_read_is_a_finding_and_no_error() {
    let (folder, file) = filled().await;
    overwrite_root(&file, "meta");
    let engine = SqliteEngine::open(&url(&file), OpenOptions::existing()).await.unwrap();
    assert!(matches!(engine.health().await, Err(Error::Corrupt(_))));
    drop(engine);
    closed(|open| open.starts_with(folder.path()));
    let found = found(&folder, &file).await;
    assert!(found.len() > 1 && found.iter().all(|finding| finding.flaw == Flaw::FileDamaged), "{found:?}");
}
