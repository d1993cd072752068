//! What lies in `dashboards/` and in `docs/`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::source::Dashboard;

/// The folder of this crate.
pub(super) fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file beside the sources.
pub(super) fn text(path: impl AsRef<Path>) -> String {
    let path = here().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of a folder's files with this ending, without it.
pub(super) fn names(folder: &str, ending: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(here().join(folder))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(ending).map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// All dashboards, by the name of their files.
pub(super) fn dashboards() -> Vec<Dashboard> {
    let read = |slug: &String| -> Dashboard {
        let path = format!("source/{slug}.toml");
        let dashboard: Dashboard = toml::from_str(&text(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(&dashboard.slug, slug, "{path}: the slug is the name of the file");
        dashboard
    };
    names("source", ".toml").iter().map(read).collect()
}

/// The metrics no dashboard shows, each with its reason.
pub(super) fn unshown() -> BTreeMap<String, String> {
    toml::from_str(&text("unshown.toml")).unwrap()
}

/// A file of alert rules, as far as it is read here.
#[derive(Debug, Deserialize)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    rules: Vec<Alert>,
}

/// An alert.
#[derive(Debug, Deserialize)]
pub(super) struct Alert {
    pub(super) alert: String,
    pub(super) expr: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// Where the alert rules stand.
pub(super) const RULES: &str = "alerts/jobbers.rules.yaml";
/// The file of their tests.
pub(super) const RULE_TESTS: &str = "alerts/jobbers.tests.yaml";
/// The document that says what to do about them.
pub(super) const RUNBOOK: &str = "../docs/runbook.md";

/// All alerts.
pub(super) fn alerts() -> Vec<Alert> {
    let rules: Rules = serde_saphyr::from_str(&text(RULES)).unwrap();
    rules.groups.into_iter().flat_map(|group| group.rules).collect()
}
