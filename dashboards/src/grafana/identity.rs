//! The names by which Grafana finds the dashboards and their source of data.

use serde_json::{Value, json};

/// What the dashboards are found by, also by each other's links.
pub(super) const TAG: &str = "jobbers";

/// The data source every panel asks: the one chosen above the panels.
#[must_use]
pub(super) fn data_source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// The identity of the dashboard whose source has this slug.
#[must_use]
pub fn uid(slug: &str) -> String {
    format!("{TAG}-{slug}")
}
