//! The examples, as tests: what they leave is what they promise.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use jobbers_worker::{Client, RunHandle, testing::TestBench};

#[path = "../../examples/approval_gate.rs"]
mod approval_gate;
#[path = "../../examples/branch_export.rs"]
mod branch_export;
#[path = "../../examples/dedupe.rs"]
mod dedupe;
#[path = "../../examples/map_reduce.rs"]
mod map_reduce;

/// Every file below a folder, by its path there.
fn tree(folder: &Path) -> BTreeMap<PathBuf, String> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(folder).unwrap().to_owned();
                files.insert(path, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    files
}

#[tokio::test]
async fn a_branch_is_exported_with_a_mark_per_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("main"), folder.path().join("exported"));
    let objects = ["a.txt", "b.txt", "tables/users/1.csv", "tables/users/2.csv", "tables/orders/1.csv", "logs/x.log"];
    let mut expected = BTreeMap::new();
    for object in objects {
        let path = from.join(object);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("the content of {object}")).unwrap();
        expected.insert(PathBuf::from(object), format!("the content of {object}"));
    }
    fs::create_dir_all(from.join("empty")).unwrap();
    for (prefix, count) in
        [("", 6), ("tables", 3), ("tables/users", 2), ("tables/orders", 1), ("logs", 1), ("empty", 0)]
    {
        expected.insert(Path::new(prefix).join("_SUCCESS"), format!("{count} objects\n"));
    }
    let bench = TestBench::new().await.unwrap();
    let started = branch_export::export(bench.client(), &from, &to).await.unwrap();
    let drained = bench.drain().await.unwrap();
    assert_eq!((drained.completed, drained.attempts()), (1 + 6 + 6, 13));
    assert_eq!(tree(&to), expected);
    let last = started.wait(Duration::ZERO).await.unwrap();
    assert_eq!(bench.result::<u64>(&last.parse().unwrap()).await.unwrap(), 6);
}

#[tokio::test]
async fn the_words_of_a_text_are_counted_in_pieces() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let text = fs::read_to_string(&file).unwrap();
    let bench = TestBench::new().await.unwrap();
    let started = map_reduce::start(bench.client(), &file).await.unwrap();
    let drained = bench.drain().await.unwrap();
    assert!(drained.completed > 4, "more than one piece");
    let last = started.wait(Duration::ZERO).await.unwrap();
    let words: map_reduce::Words = bench.result(&last.parse().unwrap()).await.unwrap();
    assert_eq!(words, map_reduce::count(text.lines()));
    assert!(words["store"] > 10);
}

#[tokio::test]
async fn equal_files_are_found_and_their_records_entered_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let files = 2 * dedupe::BATCH + 10;
    for n in 0..files {
        // Every third file is like every other third file; the rest differ.
        let content = if n % 3 == 0 { "the same".to_owned() } else { format!("the content of {n}") };
        fs::write(folder.path().join(format!("{n}.txt")), content).unwrap();
    }
    let client = Client::open("sqlite::memory:").await.unwrap();
    let (index, batches) = dedupe::deduplicate(&client, folder.path()).await.unwrap();
    assert_eq!(batches, 3);
    let same = files.div_ceil(3);
    assert_eq!(index.len(), files - same + 1);
    let mut largest: Vec<&PathBuf> = index.values().max_by_key(|objects| objects.len()).unwrap().iter().collect();
    let mut expected: Vec<PathBuf> = (0..files).step_by(3).map(|n| folder.path().join(format!("{n}.txt"))).collect();
    largest.sort();
    expected.sort();
    assert_eq!(largest, expected.iter().collect::<Vec<_>>());
    assert_eq!(index.values().map(|objects| objects.len()).sum::<usize>(), files, "each once");
}

const DAY: Duration = Duration::from_secs(86_400);

/// A release that is built, and waits for its approval.
async fn built(bench: &TestBench, folder: &Path) -> RunHandle<PathBuf> {
    let release = approval_gate::Release { folder: folder.to_owned(), version: "1.2".to_owned() };
    let run = approval_gate::start(bench.client(), &release, DAY).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().attempts(), 1);
    assert_eq!(tree(folder), [("staged/1.2".into(), "release 1.2\n".to_owned())].into());
    run
}

#[tokio::test]
async fn a_release_is_published_once_it_is_approved() {
    let folder = tempfile::tempdir().unwrap();
    let bench = TestBench::new().await.unwrap();
    let run = built(&bench, folder.path()).await;
    bench.advance(DAY - Duration::from_secs(1)).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().attempts(), 0, "not without an approval");
    for is_new in [true, false] {
        assert_eq!(approval_gate::approve(bench.client(), "1.2").await.unwrap(), is_new);
    }
    assert_eq!(bench.drain().await.unwrap().attempts(), 1, "it is not withdrawn");
    let published = run.result(Duration::ZERO).await.unwrap();
    assert_eq!(fs::read_to_string(published).unwrap(), "release 1.2\n");
    assert_eq!(tree(folder.path()).len(), 2);
}

#[tokio::test]
async fn a_release_is_withdrawn_if_its_approval_does_not_come_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let bench = TestBench::new().await.unwrap();
    let run = built(&bench, folder.path()).await;
    bench.advance(DAY).await.unwrap();
    assert_eq!(bench.drain().await.unwrap().completed, 1, "it is withdrawn");
    run.result(Duration::ZERO).await.unwrap_err();
    assert_eq!(tree(folder.path()), BTreeMap::new());
    approval_gate::approve(bench.client(), "1.2").await.unwrap_err();
}
