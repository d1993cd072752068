//! Pictures of the dashboards for the documentation, from the data of a run: `PICTURES=FOLDER` says where to put them.
//!
//! Each panel is where Grafana puts it and shows the results of its queries. It is a drawing of the same data, not
//! Grafana: colours and fonts differ.

mod draw;
mod number;
mod table;

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
    pub(super) colours: Steps,
    /// Words in place of values.
    pub(super) words: Vec<(f64, String)>,
    pub(super) queries: Vec<Answered>,
}

/// A query with its answer.
pub(super) struct Answered {
    pub(super) legend: String,
    pub(super) unit: String,
    pub(super) colours: Steps,
    pub(super) series: Vec<Series>,
}

/// From which value on which colour holds; none where nothing is coloured.
pub(super) type Steps = Vec<(f64, String)>;

/// Draws all dashboards on request.
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
        let own = |property: &str| of_column(panel, &legend, property);
        let (own_unit, colours) = (text(own("unit")), steps(own("thresholds")));
        let unit = if own_unit.is_empty() { unit.clone() } else { own_unit };
        queries.push(Answered { legend, unit, colours, series });
    }
    let place = ["x", "y", "w", "h"].map(side);
    let defaults = &panel["fieldConfig"]["defaults"];
    let (colours, words) = (steps(&defaults["thresholds"]), words(&defaults["mappings"]));
    Shown { title: text(&panel["title"]), kind: text(&panel["type"]), unit, place, colours, words, queries }
}

/// What a table's column has of its own; null where it has nothing.
fn of_column<'a>(panel: &'a Value, column: &str, property: &str) -> &'a Value {
    let overrides = panel["fieldConfig"]["overrides"].as_array();
    let own = overrides.into_iter().flatten().find(|own| own["matcher"]["options"] == column);
    let properties = own.and_then(|own| own["properties"].as_array());
    let found = properties.into_iter().flatten().find(|one| one["id"] == property);
    found.map_or(&Value::Null, |one| &one["value"])
}

/// The first step of Grafana's has no value: it holds from below.
fn steps(thresholds: &Value) -> Steps {
    let steps = thresholds["steps"].as_array().into_iter().flatten();
    let step = |step: &Value| {
        (step["value"].as_f64().unwrap_or(f64::NEG_INFINITY), step["color"].as_str().unwrap().to_owned())
    };
    let steps: Steps = steps.map(step).collect();
    if steps.len() > 1 { steps } else { Steps::new() }
}

fn words(mappings: &Value) -> Vec<(f64, String)> {
    let options = mappings.as_array().into_iter().flatten().filter_map(|mapping| mapping["options"].as_object());
    let word = |(value, option): (&String, &Value)| Some((value.parse().ok()?, option["text"].as_str()?.to_owned()));
    options.flatten().filter_map(word).collect()
}

/// A series' name by its legend: `{{label}}` is replaced by the label's value.
pub(super) fn name(legend: &str, series: &Series) -> String {
    series
        .labels
        .iter()
        .fold(legend.to_owned(), |name, (label, value)| name.replace(&format!("{{{{{label}}}}}"), value))
}
