//! What the health of a store says when nothing can be written.

use jobbers_common::engine::{Error, Upkeep};
use jobbers_engines::{OpenOptions, sqlite::SqliteEngine};
use rusqlite::Connection;

use super::url;

#[tokio::test]
async fn a_store_that_another_process_keeps_locked_is_not_healthy_until_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let engine = SqliteEngine::open(&url(&path), OpenOptions::default()).await.unwrap();
    let frozen = Connection::open(&path).unwrap();
    frozen.execute_batch("BEGIN IMMEDIATE").unwrap();
    engine.health().await.unwrap();
    // Gives up after the time that a transaction waits for another process's.
    assert!(engine.promote_due(1).await.is_err());
    match engine.health().await {
        Err(Error::Unavailable { reason, .. }) => assert!(reason.contains("lock"), "{reason}"),
        other => panic!("{other:?}"),
    }
    frozen.execute_batch("ROLLBACK").unwrap();
    engine.promote_due(1).await.unwrap();
    engine.health().await.unwrap();
}
