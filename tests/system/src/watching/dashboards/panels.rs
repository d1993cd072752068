//! What the dashboards ask: read from the files that Grafana is given.

use std::path::Path;

use serde_json::Value;

/// One question of a panel.
pub(super) struct Panel {
    /// Dashboard and title.
    pub(super) place: String,
    /// PromQL, with values in place of Grafana's variables.
    pub(super) expr: String,
}

/// Rates over several scrapes of a second; ranges over the whole run; everything chosen.
const VALUES: [(&str, &str); 7] = [
    ("$__rate_interval", "10s"),
    ("$__range", "2m"),
    ("$cluster", ".*"),
    ("$queue", ".*"),
    ("$task", ".*"),
    ("$role", ".*"),
    ("$instance", ".*"),
];

/// The dashboards that ask anything.
pub(super) fn dashboards() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dashboards/grafana");
    let read = |entry: std::io::Result<std::fs::DirEntry>| -> Value {
        serde_json::from_slice(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap()
    };
    let asks =
        |dashboard: &Value| dashboard["panels"].as_array().unwrap().iter().any(|panel| panel["targets"].is_array());
    let dashboards: Vec<Value> = std::fs::read_dir(folder).unwrap().map(read).filter(asks).collect();
    assert_eq!(dashboards.len(), 6, "Overview, Queue, Task, Workers and engine, Workflows, Dead letters");
    dashboards
}

/// Every question of every panel.
pub(super) fn all() -> Vec<Panel> {
    let mut panels = Vec::new();
    for dashboard in dashboards() {
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                let place = format!("{} / {}", dashboard["title"].as_str().unwrap(), panel["title"].as_str().unwrap());
                panels.push(Panel { place, expr: plain(target["expr"].as_str().unwrap()) });
            }
        }
    }
    panels
}

/// An expression as Grafana sends it.
pub(super) fn plain(expr: &str) -> String {
    VALUES.iter().fold(expr.to_owned(), |expr, (variable, value)| expr.replace(variable, value))
}
