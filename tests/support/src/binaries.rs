//! Finds the real programs; builds them if needed.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Set by `./check`, which has built everything: the folder of the binaries.
const BINARIES: &str = "JOBBERS_BINARIES";

/// The crates whose programs the tests run.
const PACKAGES: [&str; 5] =
    ["jobbers-manager", "jobbers-worker", "jobbers-cleaner", "jobbers-cli", "jobbers-system-tests"];

/// The path of one of the workspace's programs, e.g. `manager` or `examples/nightly`.
///
/// # Panics
/// When it can't be built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let path = FOLDER.get_or_init(|| std::env::var_os(BINARIES).map_or_else(build, PathBuf::from)).join(name);
    assert!(path.is_file(), "{} is missing: build it, or unset {BINARIES}", path.display());
    path
}

/// Builds the programs where this test was built. Cargo holds its own lock, so tests that run at once wait for the
/// first of them, and one that comes later finds nothing to do.
fn build() -> PathBuf {
    // target/PROFILE/deps/TEST: the programs are next to `deps`.
    let test = std::env::current_exe().expect("this test is a file");
    let profile = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
    let target = profile.parent().expect("a profile's folder lies in the target folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).args([
        "build",
        "--quiet",
        "--bins",
        "--examples",
    ]);
    command.arg("--target-dir").arg(target);
    if profile.ends_with("release") {
        command.arg("--release");
    }
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    let status = command.status().expect("cargo runs");
    assert!(status.success(), "the programs under test do not build");
    profile.to_owned()
}
