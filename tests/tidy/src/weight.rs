//! How much a reader compiles and fetches: each crate of a small program is time of his first build, and each picture is in
//! every clone.

use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

use crate::workspace::root;

/// A package with its features, and the most crates that it may have, with those of its build and itself.
const MOST_CRATES: [(&str, &str, usize); 3] =
    [("jobbers-worker", "sqlite", 120), ("jobbers-api", "client", 100), ("jobbers-cli", "", 250)];

#[test]
fn what_a_reader_compiles_first_has_few_crates() {
    for (package, features, most) in MOST_CRATES {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut tree = Command::new(cargo);
        tree.current_dir(root()).args(["tree", "--locked", "--offline", "--package", package, "--no-default-features"]);
        tree.args(["--features", features, "--edges", "normal,build", "--prefix", "none", "--no-dedupe"]);
        let listed = tree.output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8(listed.stdout).unwrap();
        let crates: BTreeSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(crates.contains(package), "{listed}");
        assert!(crates.len() <= most, "{package} with {features:?} has {} crates, and {most} at most", crates.len());
    }
}

/// Where the pictures are, how many bytes they have together at most, and how many one of the README has.
const PICTURES: &str = "docs/images";
const MOST_PICTURE_BYTES: u64 = 600_000;
const MOST_BYTES_SHOWN: u64 = 80_000;

#[test]
fn the_pictures_are_small() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut total = 0;
    for file in fs::read_dir(root().join(PICTURES)).unwrap() {
        let path = file.unwrap().path();
        let is_picture = path.extension().is_some_and(|kind| kind == "png" || kind == "svg");
        if !is_picture {
            continue;
        }
        let bytes = fs::metadata(&path).unwrap().len();
        let name = path.file_name().map(Path::new).unwrap().display().to_string();
        let is_shown = readme.contains(&format!("{PICTURES}/{name}"));
        assert!(!is_shown || bytes <= MOST_BYTES_SHOWN, "{name} has {bytes} bytes: node docs/images/smaller.mjs");
        total += bytes;
    }
    assert!(total > 0 && total <= MOST_PICTURE_BYTES, "{total} bytes of pictures: node docs/images/smaller.mjs");
}
