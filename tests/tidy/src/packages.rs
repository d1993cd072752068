//! Crates that users need can be published; the others can't.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::workspace::{Complaints, root};

/// What tests and this repository alone need.
const KEPT: [&str; 6] = [
    "jobbers-law",
    "jobbers-dashboards",
    "jobbers-message-tests",
    "jobbers-test-support",
    "jobbers-system-tests",
    "jobbers-tidy",
];

/// What a registry or its readers would miss of a package.
fn missing(package: &Package, workspace: &Metadata) -> Vec<String> {
    let folder = package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned()).unwrap_or_default();
    let is_own_readme = package.readme.as_deref() == Some("README.md".into()) && folder.join("README.md").is_file();
    let documentation = format!("https://docs.rs/{}", package.name);
    let mut missing = Vec::new();
    let mut check = |holds: bool, what: &str| {
        if !holds {
            missing.push(what.to_owned());
        }
    };
    check(package.description.is_some(), "a description");
    check(package.license.is_some(), "a licence");
    check(package.rust_version.is_some(), "a rust-version");
    check(package.documentation.as_deref() == Some(&*documentation), "documentation, as docs.rs has it");
    check(is_own_readme, "a README of its own");
    // A dependency of tests alone is left out of a package.
    for dependency in package.dependencies.iter().filter(|it| it.kind != DependencyKind::Development) {
        let Some(other) = workspace.packages.iter().find(|other| *other.name == *dependency.name) else { continue };
        let is_ours = workspace.workspace_members.contains(&other.id);
        let names_version = dependency.req.to_string() == format!("^{}", other.version);
        check(!is_ours || names_version, &format!("the version of {}", other.name));
        check(!is_ours || !KEPT.contains(&other.name.as_str()), &format!("{} in a registry", other.name));
    }
    missing
}

#[test]
fn crates_that_users_need_can_be_published_and_no_others() {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).exec().unwrap();
    let mut complaints = Complaints::default();
    for package in metadata.workspace_packages() {
        let is_kept = package.publish.as_ref().is_some_and(Vec::is_empty);
        if is_kept != KEPT.contains(&package.name.as_str()) {
            complaints.add(
                &package.manifest_path,
                "`publish` and the list of crates that are kept (tests/tidy/src/packages.rs) differ",
            );
        }
        if !is_kept {
            for what in missing(package, &metadata) {
                complaints.add(&package.manifest_path, format!("it can't be published without {what}"));
            }
        }
    }
    complaints.settle();
}

/// A second version of the library in a program has a registry of its own: a worker of the first would miss its tasks in silence.
#[test]
fn cargo_puts_one_version_of_the_library_into_a_program() {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap();
    let worker = metadata.packages.iter().find(|package| *package.name == "jobbers-worker").unwrap();
    assert_eq!(worker.links.as_deref(), Some("jobbers-worker"), "worker/Cargo.toml");
}

#[test]
fn what_a_registry_would_miss_is_found() {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).exec().unwrap();
    let worker = metadata.workspace_packages().into_iter().find(|package| *package.name == "jobbers-worker").unwrap();
    assert_eq!(missing(worker, &metadata), [""; 0]);
    let mut poor = worker.clone();
    (poor.description, poor.documentation, poor.readme) = (None, None, Some("../README.md".into()));
    let found = missing(&poor, &metadata);
    assert_eq!(found, ["a description", "documentation, as docs.rs has it", "a README of its own"]);
}
