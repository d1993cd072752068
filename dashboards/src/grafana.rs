//! From a source to Grafana's JSON model: the frame all dashboards share, and the grid.

mod identity;
mod links;
mod panel;
mod variables;

use serde_json::{Value, json};

pub use self::identity::uid;
use self::identity::{TAG, data_source};
use crate::source::{Dashboard, Kind, Panel, Variable};

/// The version of the JSON model this writes.
const SCHEMA_VERSION: u32 = 42;
/// Columns of the grid.
const COLUMNS: u32 = 24;

/// The dashboard in Grafana's JSON model.
#[must_use]
pub fn model(source: &Dashboard) -> Value {
    frame(&source.slug, &source.title, &source.about, &source.variables, &panels(source))
}

/// Everything around the panels.
#[must_use]
pub(crate) fn frame(slug: &str, title: &str, about: &str, variables: &[Variable], panels: &[Value]) -> Value {
    json!({
        "uid": uid(slug),
        "title": format!("Jobbers / {title}"),
        "description": about,
        "tags": [TAG],
        "editable": false,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "schemaVersion": SCHEMA_VERSION,
        "templating": {"list": variables::list(variables)},
        "annotations": {"list": annotations()},
        "links": links::among_dashboards(),
        "panels": panels,
    })
}

/// What happened around the numbers: alerts, and deployments.
fn annotations() -> Vec<Value> {
    let annotation = |name: &str, colour: &str, expr: &str, title: &str, text: &str| {
        json!({
            "name": name,
            "enable": true,
            "hide": false,
            "iconColor": colour,
            "datasource": data_source(),
            "expr": expr,
            "step": "30s",
            "titleFormat": title,
            "textFormat": text,
            "useValueForTime": false,
        })
    };
    vec![
        annotation(
            "Alerts",
            "red",
            r#"ALERTS{alertname=~"Jobbers.+", alertstate="firing", cluster=~"$cluster"}"#,
            "{{alertname}}",
            "{{queue}} {{task}} {{role}}",
        ),
        annotation(
            "New versions",
            "blue",
            "count by (service, version) (jobbers_build_info{cluster=~\"$cluster\"}) \
             unless count by (service, version) (jobbers_build_info{cluster=~\"$cluster\"} offset 5m)",
            "{{service}} {{version}}",
            "a version that did not run five minutes before",
        ),
    ]
}

/// The panels in reading order, each row under its heading.
fn panels(source: &Dashboard) -> Vec<Value> {
    let mut placed = Vec::new();
    let mut grid = Grid::default();
    for row in &source.rows {
        let place = grid.full_line(1);
        placed.push(json!({
            "id": placed.len() + 1, "type": "row", "title": row.title, "collapsed": false, "panels": [], "gridPos": place,
        }));
        for panel in &row.panels {
            let place = grid.place(panel.width, height(panel));
            placed.push(panel::model(panel, placed.len() + 1, &place));
        }
    }
    placed
}

fn height(panel: &Panel) -> u32 {
    let usual = match panel.kind {
        Kind::Stat => 4,
        Kind::Series | Kind::Heatmap | Kind::Table => 8,
    };
    panel.height.unwrap_or(usual)
}

/// Fills lines from the left; a line is as high as the highest of it.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    x: u32,
    y: u32,
    line_height: u32,
}

impl Grid {
    /// The next place, in a new line if this one has no room.
    pub(crate) fn place(&mut self, width: u32, height: u32) -> Value {
        if self.x + width > COLUMNS {
            self.break_line();
        }
        let place = json!({"x": self.x, "y": self.y, "w": width, "h": height});
        self.x += width;
        self.line_height = self.line_height.max(height);
        place
    }

    /// A whole line.
    pub(crate) fn full_line(&mut self, height: u32) -> Value {
        self.break_line();
        self.place(COLUMNS, height)
    }

    fn break_line(&mut self) {
        self.x = 0;
        self.y += std::mem::take(&mut self.line_height);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_where_it_is_full_and_is_as_high_as_its_highest() {
        let mut grid = Grid::default();
        let places = [grid.place(12, 4), grid.place(12, 8), grid.place(6, 4), grid.full_line(1)];
        let corners: Vec<_> = places.iter().map(|place| (place["x"].as_u64(), place["y"].as_u64())).collect();
        assert_eq!(corners, [(0, 0), (12, 0), (0, 8), (0, 12)].map(|(x, y)| (Some(x), Some(y))));
    }
}
