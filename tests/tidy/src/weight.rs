//! How much a reader compiles: each crate of a small program is time of his first build.

use std::{collections::BTreeSet, env, process::Command};

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
