//! Finds the real programs; builds them if needed.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Set by `./check`, which has built everything: the folder of the binaries.
const BINARIES: &str = "JOBBERS_BINARIES";

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

/// Builds the programs where this test was built, with the features of `./check`, so that what that built is not built
/// again. Cargo holds its own lock, so tests that run at once wait for the first of them, and one that comes later finds
/// nothing to do.
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
        "--workspace",
        "--all-features",
        "--bins",
        "--examples",
    ]);
    command.arg("--target-dir").arg(target);
    if profile.ends_with("release") {
        command.arg("--release");
    }
    // Cargo sets these for a test, and a build script that reads them (that of `ring`) would run again, and then again for
    // the developer's next build.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
    }
    let status = command.status().expect("cargo runs");
    assert!(status.success(), "the programs under test do not build");
    profile.to_owned()
}
