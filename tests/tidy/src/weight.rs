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
        let listed = tree(package, features, "normal,build", "{p}");
        let crates: BTreeSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(crates.contains(package), "{listed}");
        assert!(crates.len() <= most, "{package} with {features:?} has {} crates, and {most} at most", crates.len());
    }
}

#[test]
fn the_macro_and_the_program_share_what_both_build_on() {
    // Cargo gives the macro's dependencies the features that they need themselves. Where a program asks for more of one, that
    // one and all that build on it are compiled twice in development.
    let of_macro = tree("jobbers-terms", "", "normal,no-proc-macro", "{p} {f}");
    for features in ["http", "sqlite", "cli,metrics,sqlite"] {
        let of_program = tree("jobbers-worker", features, "normal,no-proc-macro", "{p} {f}");
        let of_program: BTreeSet<&str> = of_program.lines().collect();
        let differ: BTreeSet<&str> = of_macro.lines().filter(|line| !of_program.contains(line)).collect();
        assert!(
            differ.is_empty(),
            "a program with {features:?} asks for other features than `jobbers-terms` does of {differ:?}"
        );
    }
}

/// What a package is compiled from, a crate a line.
fn tree(package: &str, features: &str, edges: &str, line: &str) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tree = Command::new(cargo);
    tree.current_dir(root()).args(["tree", "--locked", "--offline", "--package", package, "--no-default-features"]);
    tree.args(["--features", features, "--edges", edges, "--format", line, "--prefix", "none", "--no-dedupe"]);
    let listed = tree.output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8(listed.stdout).unwrap()
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
