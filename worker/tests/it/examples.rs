//! The examples, as tests: what they leave is what they promise.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use jobbers_worker::testing::TestBench;

#[path = "../../examples/branch_export.rs"]
mod branch_export;
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
