//! What Grafana is given: written from the sources, whole, and alike in all dashboards.

use std::collections::BTreeSet;

use jobbers_common::metrics::{Kind as MetricKind, Service};
use promql_parser::{
    label::MatchOp,
    parser::{Expr, VectorSelector},
};
use serde_json::Value;

use super::{
    files::{RUNBOOK, dashboards, here, names, text},
    promql::{metric_of, parse, uses},
};
use crate::{
    grafana, runbook,
    source::{Dashboard, Variable},
};

/// Each file of `grafana/` and what it must say.
fn models() -> Vec<(String, Value)> {
    let mut models: Vec<(String, Value)> =
        dashboards().iter().map(|source| (source.slug.clone(), grafana::model(source))).collect();
    models.push(("runbook".to_owned(), runbook::model(&text(RUNBOOK))));
    models.sort_by(|(a, _), (b, _)| a.cmp(b));
    models
}

#[test]
fn the_dashboards_are_what_their_sources_say() {
    let rewrite = std::env::var_os("REWRITE").is_some();
    for (slug, model) in models() {
        let path = format!("grafana/{slug}.json");
        let real = format!("{}\n", serde_json::to_string_pretty(&model).unwrap());
        if rewrite {
            std::fs::write(here().join(&path), &real).unwrap();
        }
        assert!(
            here().join(&path).exists() && text(&path) == real,
            "dashboards/{path} is not what its source says; write it anew with REWRITE=1 cargo test -p jobbers-dashboards"
        );
    }
    let slugs: Vec<String> = models().into_iter().map(|(slug, _)| slug).collect();
    assert_eq!(names("grafana", ".json"), slugs, "dashboards/grafana has a file without a source");
}

#[test]
fn every_panel_has_an_id_of_its_own_a_description_and_a_unit() {
    for (slug, model) in models() {
        let mut ids = BTreeSet::new();
        for panel in model["panels"].as_array().unwrap() {
            let title = panel["title"].as_str().unwrap();
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{slug} / {title}: its id is another's");
            assert!(!title.is_empty(), "{slug}: a panel without a title");
            if panel["type"] == "row" {
                continue;
            }
            let about = panel["description"].as_str().unwrap();
            assert!(about.len() >= 10, "{slug} / {title}: say how to read it");
            if panel["type"] != "text" {
                assert!(about.ends_with('.'), "{slug} / {title}: a description is a sentence");
                let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap();
                assert!(!unit.is_empty(), "{slug} / {title} has no unit");
                assert!(!panel["targets"].as_array().unwrap().is_empty(), "{slug} / {title} asks nothing");
            }
        }
    }
}

#[test]
fn no_panel_lies_on_another() {
    for (slug, model) in models() {
        let mut taken = BTreeSet::new();
        for panel in model["panels"].as_array().unwrap() {
            let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
            let (x, y, w, h) = (side("x"), side("y"), side("w"), side("h"));
            assert!(w > 0 && h > 0 && x + w <= 24, "{slug} / {} does not fit the grid", panel["title"]);
            for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
                assert!(taken.insert(cell), "{slug} / {} lies on another panel", panel["title"]);
            }
        }
    }
}

fn key(variable: Variable) -> &'static str {
    match variable {
        Variable::Queue => "queue",
        Variable::Task => "task",
        Variable::Role => "role",
        Variable::Instance => "instance",
    }
}

/// Calls `check` with each query's place, expression and unit.
fn each_query(dashboard: &Dashboard, mut check: impl FnMut(&str, &str, &str)) {
    for panel in dashboard.rows.iter().flat_map(|row| &row.panels) {
        for query in &panel.queries {
            let place = format!("{} / {}", dashboard.title, panel.title);
            check(&place, &query.expr, query.unit.as_ref().unwrap_or(&panel.unit));
        }
    }
}

#[test]
fn what_is_chosen_above_the_panels_narrows_every_query_it_can() {
    for dashboard in dashboards() {
        each_query(&dashboard, |place, expr, _| {
            // Parsed with the variables' values in place, `.*`, which is never written by hand.
            for found in uses(expr) {
                let narrowed = |label: &str| {
                    found.matchers.iter().any(|(name, op, value)| name == label && op == "=~" && value == ".*")
                };
                assert!(narrowed("cluster"), "{place}: {:?} is not narrowed to the cluster", found.name);
                let Some(metric) = found.name.as_deref().and_then(metric_of) else { continue };
                for variable in dashboard.variables.iter().copied() {
                    let can = match variable {
                        // What a manager reports about the whole store does not belong to its instance.
                        Variable::Instance => {
                            metric.services != [Service::Manager]
                                || !metric.about.to_lowercase().contains("take the `max`")
                        }
                        other => metric.attributes.iter().any(|attribute| attribute.key == key(other)),
                    };
                    assert!(
                        !can || narrowed(key(variable)),
                        "{place}: {} is not narrowed to the {}",
                        metric.name,
                        key(variable)
                    );
                }
            }
        });
    }
}

/// The unit of what an expression answers, where nothing but choosing and adding up is done to one metric.
fn unit_of(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::Paren(paren) => unit_of(&paren.expr),
        Expr::Aggregate(aggregate) if aggregate.op.to_string() != "count" => unit_of(&aggregate.expr),
        Expr::Call(call) if call.func.name == "histogram_quantile" => unit_of(call.args.args.get(1)?),
        // The rate of a histogram's buckets is on its way to a quantile.
        Expr::Call(call) => match call.args.args.first().map(AsRef::as_ref) {
            Some(Expr::MatrixSelector(matrix)) => {
                let metric = metric_of(matrix.vs.name.as_deref()?)?;
                let buckets = matrix.vs.name.as_deref()?.ends_with("_bucket");
                (metric.kind == MetricKind::Histogram && buckets).then_some(metric.unit)
            }
            _ => None,
        },
        // Each limit of a queue is in a unit of its own.
        Expr::VectorSelector(selector) if chooses(selector, "limit", "max_bytes") => Some("By"),
        Expr::VectorSelector(selector) => Some(metric_of(selector.name.as_deref()?)?.unit),
        _ => None,
    }
}

fn chooses(selector: &VectorSelector, label: &str, value: &str) -> bool {
    let mut matchers = selector.matchers.matchers.iter();
    matchers.any(|matcher| matcher.op == MatchOp::Equal && matcher.name == label && matcher.value == value)
}

#[test]
fn a_panel_shows_the_unit_of_its_metric() {
    let mut checked = 0;
    for dashboard in dashboards() {
        each_query(&dashboard, |place, expr, unit| {
            let expected: &[&str] = match unit_of(&parse(expr)) {
                Some("s") => &["s"],
                Some("ms") => &["ms"],
                Some("By") => &["bytes"],
                Some(_) => &["short", "none"],
                None => return,
            };
            checked += 1;
            assert!(expected.contains(&unit), "{place}: the metric's unit is {expected:?}, the panel says {unit}");
        });
    }
    assert!(checked > 40, "only {checked} queries were understood");
}

#[test]
fn links_lead_to_dashboards_that_exist() {
    let known: BTreeSet<String> = models().iter().map(|(slug, _)| grafana::uid(slug)).collect();
    for (slug, model) in models() {
        let text = model.to_string();
        for uid in text.split("\"/d/").skip(1).filter_map(|rest| rest.split(['?', '"']).next()) {
            assert!(known.contains(uid), "{slug} links to {uid}, which does not exist");
        }
    }
}

#[test]
fn names_in_links_to_the_manager_are_percent_encoded() {
    let mut links = 0;
    for (slug, model) in models() {
        for url in urls(&model).into_iter().filter(|url| url.starts_with("${manager}/")) {
            let names = url.split("${").skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name);
            for name in names.filter(|name| name.starts_with("__")) {
                assert!(name.ends_with(":percentencode"), "{slug}: a slash in {name} leads elsewhere: {url}");
                links += 1;
            }
        }
    }
    assert!(links > 0);
}

/// Every `url` in a model.
fn urls(model: &Value) -> Vec<&str> {
    match model {
        Value::Object(fields) => {
            let own = fields.get("url").and_then(Value::as_str);
            own.into_iter().chain(fields.values().flat_map(urls)).collect()
        }
        Value::Array(items) => items.iter().flat_map(urls).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn each_tile_of_the_queue_dashboard_shows_one_value() {
    let queue = dashboards().into_iter().find(|dashboard| dashboard.slug == "queue").unwrap();
    for panel in &queue.rows[0].panels {
        assert!(panel.queries.iter().all(|query| query.legend.is_empty()), "{}: a value per queue", panel.title);
    }
}

#[test]
fn a_share_of_attempts_is_a_part_of_a_sum_that_holds_it() {
    for dashboard in dashboards() {
        for panel in
            dashboard.rows.iter().flat_map(|row| &row.panels).filter(|panel| panel.title.starts_with("Share of"))
        {
            for query in &panel.queries {
                let (part, whole) = query.expr.split_once("\n/ ").unwrap();
                assert!(whole.contains(part.trim()), "{}: what it is divided by must hold {part}", panel.title);
            }
        }
    }
}
