//! Files that are opened beside an open store: never one of its own.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
};

use jobbers_common::engine::Upkeep;
use jobbers_engines::{
    OpenOptions,
    ordinary_file::{FoundFile, OrdinaryFile},
    sqlite::SqliteEngine,
};
use tempfile::TempDir;

use super::url;

const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

async fn store() -> (SqliteEngine, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let engine = SqliteEngine::open(&url(&folder.path().join("store.db")), OpenOptions::default()).await.unwrap();
    engine.health().await.unwrap();
    (engine, folder)
}

/// How many locks this process holds on a file.
fn locks_on(path: &Path) -> usize {
    let file = fs::metadata(path).unwrap().ino();
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let is_ours = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some("POSIX")
            && words.nth(2) == Some(&std::process::id().to_string())
            && words.next().and_then(|place| place.rsplit(':').next()) == Some(&file.to_string())
    };
    locks.lines().filter(is_ours).count()
}

/// Every name by which a client can ask for a file: its own, a detour, links of both kinds, a link to a link, and a
/// linked folder.
fn names(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let at = |name: &str| folder.join(name);
    let file = at(&format!("store.db{suffix}"));
    let [soft, hard, chain] = ["soft", "hard", "chain"].map(|name| at(&format!("{name}{suffix}")));
    symlink(&file, &soft).unwrap();
    fs::hard_link(&file, &hard).unwrap();
    symlink(&soft, &chain).unwrap();
    let inside = at("folder");
    symlink(folder, &inside).ok();
    let name = file.file_name().unwrap();
    vec![inside.join(name), inside.join("..").join(folder.file_name().unwrap()).join(name), file, soft, hard, chain]
}

#[tokio::test]
async fn no_file_of_an_open_store_is_opened_by_any_name_and_its_locks_stay() {
    let (_engine, folder) = store().await;
    let index = folder.path().join("store.db-shm");
    assert!(locks_on(&index) > 0, "an open store holds a lock on the index of its log");
    for suffix in SUFFIXES {
        for name in names(folder.path(), suffix) {
            let refused = OrdinaryFile::open(&name).unwrap_err();
            assert!(refused.to_string().contains("belongs to a store"), "{}: {refused}", name.display());
            assert!(locks_on(&index) > 0, "{}", name.display());
        }
    }
    // What is refused would have done the harm. The store's own threads lock the index now and then, so it is tried again.
    let is_harmed = |_| {
        drop(File::open(&index).unwrap());
        locks_on(&index) == 0
    };
    assert!((0..1_000).any(is_harmed));
}

#[tokio::test]
async fn a_file_is_refused_also_after_it_was_moved_and_when_it_becomes_a_store_s() {
    let folder = tempfile::tempdir().unwrap();
    let [file, away] = ["store.db", "away.db"].map(|name| folder.path().join(name));
    fs::write(&file, "").unwrap();
    let found = FoundFile::at(&file).unwrap();
    let open = OrdinaryFile::open(&file).unwrap();
    let engine = SqliteEngine::open(&url(&file), OpenOptions::default()).await.unwrap();
    engine.health().await.unwrap();
    let before = locks_on(&file);
    assert!(found.open().is_err(), "it was found before and is a store's by now");
    drop(open);
    assert_eq!(locks_on(&file), before);
    fs::rename(&file, &away).unwrap();
    assert!(OrdinaryFile::open(&away).is_err());
}

#[tokio::test]
async fn what_was_found_is_read_whatever_its_name_leads_to_later() {
    let (_engine, folder) = store().await;
    let [file, away] = ["notes", "away"].map(|name| folder.path().join(name));
    fs::write(&file, "a b c").unwrap();
    let found = FoundFile::at(&file).unwrap();
    assert_eq!(found.path(), file.canonicalize().unwrap());
    fs::rename(&file, &away).unwrap();
    symlink(folder.path().join("store.db-shm"), &file).unwrap();
    let mut text = String::new();
    found.open().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "a b c");
    assert!(OrdinaryFile::open(&file).is_err());
    assert!(OrdinaryFile::open(folder.path()).is_err(), "a folder");
}
