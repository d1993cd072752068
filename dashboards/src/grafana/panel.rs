//! One panel in Grafana's JSON model.

use serde_json::{Map, Value, json};

use super::{identity::data_source, links::data_link};
use crate::source::{Colour, Kind, Panel, PanelQuery};

/// The panel `source` with this id at this place.
pub(super) fn model(source: &Panel, id: usize, place: &Value) -> Value {
    let mut panel = json!({
        "id": id,
        "type": kind(source.kind),
        "title": source.title,
        "description": source.about,
        "datasource": data_source(),
        "gridPos": place,
        "fieldConfig": {"defaults": defaults(source), "overrides": overrides(source)},
        "options": options(source),
        "targets": targets(source),
    });
    if source.kind == Kind::Table {
        panel["transformations"] = transformations(source);
    }
    panel
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Stat => "stat",
        Kind::Series => "timeseries",
        Kind::Heatmap => "heatmap",
        Kind::Table => "table",
    }
}

/// `A`, `B`, … in the order of the queries.
fn ref_id(index: usize) -> String {
    u8::try_from(index)
        .ok()
        .and_then(|index| b'A'.checked_add(index))
        .map_or_else(String::new, |c| char::from(c).into())
}

fn targets(source: &Panel) -> Vec<Value> {
    let now = matches!(source.kind, Kind::Stat | Kind::Table);
    let format = match source.kind {
        Kind::Table => "table",
        Kind::Heatmap => "heatmap",
        Kind::Stat | Kind::Series => "time_series",
    };
    let target = |(index, query): (usize, &PanelQuery)| {
        json!({
            "refId": ref_id(index),
            "datasource": data_source(),
            "editorMode": "code",
            "expr": query.expr.trim(),
            "format": format,
            "instant": now,
            "range": !now,
            "legendFormat": if source.kind == Kind::Heatmap { "{{le}}" } else { query.legend.as_str() },
        })
    };
    source.queries.iter().enumerate().map(target).collect()
}

fn steps(thresholds: &[(f64, Colour)]) -> Value {
    let mut steps = vec![json!({"color": "green", "value": null})];
    steps.extend(thresholds.iter().map(|(from, colour)| json!({"color": colour.as_str(), "value": from})));
    json!({"mode": "absolute", "steps": steps})
}

fn defaults(source: &Panel) -> Value {
    let mut defaults = Map::new();
    defaults.insert("unit".into(), source.unit.as_str().into());
    for (key, bound) in [("min", source.min), ("max", source.max)] {
        if let Some(bound) = bound {
            defaults.insert(key.into(), bound.into());
        }
    }
    if source.kind != Kind::Heatmap {
        defaults.insert("thresholds".into(), steps(&source.thresholds));
        let in_table = source.kind == Kind::Table;
        let links: Vec<Value> = source.leads_to.iter().map(|target| data_link(*target, in_table)).collect();
        defaults.insert("links".into(), links.into());
        let words = source.words.iter().map(|(value, text, colour)| {
            json!({"type": "value", "options": {value.to_string(): {"text": text, "color": colour.as_str(), "index": 0}}})
        });
        defaults.insert("mappings".into(), words.collect());
    }
    match source.kind {
        Kind::Series => {
            defaults.insert("color".into(), json!({"mode": "palette-classic"}));
            defaults.insert("custom".into(), lines(source));
        }
        Kind::Stat => {
            defaults.insert("color".into(), json!({"mode": "thresholds"}));
        }
        Kind::Table => {
            defaults
                .insert("custom".into(), json!({"align": "auto", "cellOptions": {"type": "auto"}, "filterable": true}));
        }
        Kind::Heatmap => {}
    }
    defaults.into()
}

/// How lines are drawn; with thresholds, their places are marked.
fn lines(source: &Panel) -> Value {
    json!({
        "drawStyle": "line",
        "lineInterpolation": "linear",
        "lineWidth": 1,
        "fillOpacity": if source.stack { 40 } else { 8 },
        "showPoints": "never",
        "spanNulls": false,
        "stacking": {"group": "A", "mode": if source.stack { "normal" } else { "none" }},
        "thresholdsStyle": {"mode": if source.thresholds.is_empty() { "off" } else { "dashed" }},
    })
}

/// What differs in a table's columns.
fn overrides(source: &Panel) -> Vec<Value> {
    if source.kind != Kind::Table {
        return Vec::new();
    }
    let of = |query: &PanelQuery| {
        let mut properties = Vec::new();
        if let Some(unit) = &query.unit {
            properties.push(json!({"id": "unit", "value": unit}));
        }
        if let Some(decimals) = query.decimals {
            properties.push(json!({"id": "decimals", "value": decimals}));
        }
        if !query.thresholds.is_empty() {
            properties.push(json!({"id": "thresholds", "value": steps(&query.thresholds)}));
            properties.push(json!({"id": "custom.cellOptions", "value": {"type": "color-text"}}));
        }
        json!({"matcher": {"id": "byName", "options": query.legend}, "properties": properties})
    };
    let columns = source.queries.iter().map(of);
    columns.filter(|column| column["properties"].as_array().is_some_and(|list| !list.is_empty())).collect()
}

/// Joins the queries' tables into one, a column each, named by its legend.
fn transformations(source: &Panel) -> Value {
    let mut names = Map::new();
    for (index, query) in source.queries.iter().enumerate() {
        let column = if source.queries.len() == 1 { "Value".to_owned() } else { format!("Value #{}", ref_id(index)) };
        names.insert(column, query.legend.as_str().into());
    }
    json!([
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": {"Time": true}, "indexByName": {}, "renameByName": names}},
    ])
}

fn options(source: &Panel) -> Value {
    match source.kind {
        Kind::Stat => json!({
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "textMode": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": false},
        }),
        Kind::Series => json!({
            "legend": {"displayMode": "table", "placement": "bottom", "showLegend": true, "calcs": ["lastNotNull", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }),
        Kind::Heatmap => json!({
            "calculate": false,
            "cellGap": 1,
            "cellValues": {},
            "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64, "exponent": 0.5, "fill": "dark-orange", "reverse": false},
            "exemplars": {"color": "rgba(255,0,255,0.7)"},
            "filterValues": {"le": 1e-9},
            "legend": {"show": true},
            "rowsFrame": {"layout": "auto"},
            "showValue": "never",
            "tooltip": {"mode": "single", "yHistogram": false, "showColorScale": false},
            "yAxis": {"axisPlacement": "left", "reverse": false, "unit": source.unit},
        }),
        Kind::Table => {
            json!({"cellHeight": "sm", "footer": {"show": false, "reducer": ["sum"], "countRows": false, "fields": ""}, "showHeader": true})
        }
    }
}
