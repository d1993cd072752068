//! Pictures of the dashboards for the documentation, from the data of a run: `PICTURES=FOLDER` says where to put them.
//!
//! Each panel stands where Grafana puts it, and shows what its queries answer. It is a drawing of the same data, not
//! Grafana: colours and fonts differ.

mod draw;
mod number;

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use jobbers_test_support::prometheus::{Prometheus, Series};
use serde_json::Value;

use super::panels::{dashboards, plain};

/// What a panel shows.
pub(super) struct Shown {
    pub(super) title: String,
    pub(super) kind: String,
    pub(super) unit: String,
    /// Columns and rows of the grid: left, top, width, height.
    pub(super) place: [u32; 4],
    pub(super) queries: Vec<Answered>,
}

/// A query with its answer.
pub(super) struct Answered {
    pub(super) legend: String,
    pub(super) unit: String,
    pub(super) series: Vec<Series>,
}

/// Draws all dashboards if somebody asked for it.
pub(super) async fn draw(prometheus: &Prometheus, begun: SystemTime) {
    let Some(folder) = std::env::var_os("PICTURES").map(PathBuf::from) else { return };
    for dashboard in dashboards() {
        let name = dashboard["uid"].as_str().unwrap().trim_start_matches("jobbers-");
        let mut shown = Vec::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            shown.push(ask(prometheus, begun, panel).await);
        }
        write(&folder.join(format!("{name}.svg")), &shown);
    }
}

fn write(path: &Path, shown: &[Shown]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    draw::dashboard(path, shown).unwrap();
}

async fn ask(prometheus: &Prometheus, begun: SystemTime, panel: &Value) -> Shown {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let side = |name: &str| u32::try_from(panel["gridPos"][name].as_u64().unwrap()).unwrap();
    let unit = text(&panel["fieldConfig"]["defaults"]["unit"]);
    let mut queries = Vec::new();
    for target in panel["targets"].as_array().into_iter().flatten() {
        let expr = plain(target["expr"].as_str().unwrap());
        let legend = text(&target["legendFormat"]);
        let series = if target["instant"] == true {
            prometheus.query(&expr).await
        } else {
            prometheus.range(&expr, begun).await
        };
        queries.push(Answered { unit: unit_of(panel, &legend).unwrap_or_else(|| unit.clone()), legend, series });
    }
    let place = ["x", "y", "w", "h"].map(side);
    Shown { title: text(&panel["title"]), kind: text(&panel["type"]), unit, place, queries }
}

/// The unit of a table's column, where it has one of its own.
fn unit_of(panel: &Value, column: &str) -> Option<String> {
    let overrides = panel["fieldConfig"]["overrides"].as_array()?;
    let own = overrides.iter().find(|own| own["matcher"]["options"] == column)?;
    let unit = own["properties"].as_array()?.iter().find(|property| property["id"] == "unit")?;
    unit["value"].as_str().map(str::to_owned)
}

/// A series' name by its legend: `{{label}}` stands for the label's value.
pub(super) fn name(legend: &str, series: &Series) -> String {
    series
        .labels
        .iter()
        .fold(legend.to_owned(), |name, (label, value)| name.replace(&format!("{{{{{label}}}}}"), value))
}
