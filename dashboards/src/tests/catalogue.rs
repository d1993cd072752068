//! Dashboards and alerts name what the catalogue has, and use it as what it is.

use std::collections::BTreeSet;

use jobbers_common::{
    lifecycle::Status,
    metrics::{self, Kind, Metric},
};

use super::{
    files::{alerts, dashboards, unshown},
    promql::{Use, metric_of, uses},
};

/// Series that Prometheus itself makes.
const OF_PROMETHEUS: &[&str] = &["ALERTS"];
/// Labels that come with a scrape or a histogram, not from the catalogue.
const ON_EVERY_SERIES: &[&str] = &["cluster", "instance", "__name__", "le", "otel_metric_overflow"];
/// Labels with more values than their sentence can name.
const OPEN: &[&str] =
    &["board", "group", "queue", "task", "role", "version", "route", "method", "status_code", "code", "limit", "pass"];
/// Functions that turn a counter into what it grew by.
const GROWTH: &[&str] = &["rate", "increase"];
/// Counters that an alert also reads as they are, since their series may begin with the first event.
const READ_AS_THEY_ARE: &[&str] = &[
    "tasks_dead_lettered_total",
    "jobbers_tasks_stalled_total",
    "jobbers_leases_lost_total",
    "jobbers_tasks_recovered_total",
    "jobbers_workflows_ended_total",
    "jobbers_schedule_slots_total",
];

/// Every expression of dashboards (`true`) and alerts, with its place.
fn expressions() -> Vec<(String, String, bool)> {
    let mut all = Vec::new();
    for dashboard in dashboards() {
        for panel in dashboard.rows.iter().flat_map(|row| &row.panels) {
            for query in &panel.queries {
                all.push((format!("{} / {}", dashboard.title, panel.title), query.expr.clone(), true));
            }
        }
    }
    all.extend(alerts().into_iter().map(|alert| (alert.alert, alert.expr, false)));
    all
}

fn each_use(mut check: impl FnMut(&str, &Use, &'static Metric)) {
    for (place, expr, _) in expressions() {
        for found in uses(&expr) {
            match found.name.as_deref() {
                Some(name) if OF_PROMETHEUS.contains(&name) => {}
                Some(name) => {
                    let metric = metric_of(name).unwrap_or_else(|| panic!("{place}: no metric has the series {name}"));
                    check(&place, &found, metric);
                }
                None => {
                    let overflow = found.matchers.iter().any(|(label, ..)| label == "otel_metric_overflow");
                    assert!(overflow, "{place}: a pattern of names is only for metrics past their bound");
                }
            }
        }
    }
}

#[test]
fn every_label_is_one_of_its_metric() {
    each_use(|place, found, metric| {
        let has = |label: &str| {
            ON_EVERY_SERIES.contains(&label) || metric.attributes.iter().any(|attribute| attribute.key == label)
        };
        for (label, ..) in &found.matchers {
            assert!(has(label), "{place}: {} has no label {label}", metric.name);
        }
        for label in found.kept.first().into_iter().flatten() {
            assert!(has(label), "{place}: {} has no label {label} to keep", metric.name);
        }
    });
}

#[test]
fn every_value_asked_for_is_one_the_label_can_have() {
    each_use(|place, found, metric| {
        for (label, _, value) in found.matchers.iter().filter(|(.., value)| value != ".*") {
            let Some(attribute) = metric.attributes.iter().find(|attribute| attribute.key == label) else { continue };
            for value in value.split('|') {
                let known = match label.as_str() {
                    "status" => value.parse::<Status>().is_ok(),
                    open if OPEN.contains(&open) => true,
                    _ => [metric.about, attribute.about].iter().any(|text| text.contains(&format!("`{value}`"))),
                };
                assert!(known, "{place}: {label} of {} is never {value}", metric.name);
            }
        }
    });
}

#[test]
fn a_counter_is_read_by_its_growth_and_a_gauge_by_its_value() {
    each_use(|place, found, metric| {
        let grows = found.function.as_deref().is_some_and(|function| GROWTH.contains(&function));
        let exempt = found.name.as_deref().is_some_and(|name| READ_AS_THEY_ARE.contains(&name));
        match metric.kind {
            Kind::Gauge => assert!(!grows, "{place}: {} is a gauge; it has no rate", metric.name),
            Kind::Counter | Kind::ObservedCounter | Kind::Histogram => {
                assert!(grows || exempt, "{place}: {} only grows; ask for its rate() or increase()", metric.name);
            }
        }
    });
}

#[test]
fn a_quantile_keeps_the_buckets() {
    for (place, expr, _) in expressions() {
        if !expr.contains("_bucket") {
            assert!(!expr.contains("histogram_quantile"), "{place}: a quantile of no buckets");
            continue;
        }
        for found in uses(&expr).iter().filter(|found| found.name.as_deref().is_some_and(|n| n.ends_with("_bucket"))) {
            let kept = found.kept.first().is_some_and(|kept| kept.iter().any(|label| label == "le"));
            let one_bucket = found.matchers.iter().any(|(label, ..)| label == "le");
            assert!(kept || one_bucket, "{place}: le is lost before the quantile is taken");
        }
    }
}

#[test]
fn a_chosen_bucket_is_one_of_its_histogram() {
    each_use(|place, found, metric| {
        for (_, _, bound) in found.matchers.iter().filter(|(label, ..)| label == "le") {
            let bound: f64 = bound.parse().unwrap();
            assert!(metric.buckets.contains(&bound), "{place}: {} has no bucket {bound}", metric.name);
        }
    });
}

#[test]
fn what_every_manager_tells_is_not_added_up() {
    each_use(|place, found, metric| {
        let told_by_every_manager = metric.about.contains("take the `max`") || metric.about.contains("Take the `max`");
        assert!(!told_by_every_manager || found.extreme, "{place}: take the max of {}", metric.name);
    });
}

#[test]
fn every_metric_is_shown_or_it_is_said_why_not() {
    let mut shown = BTreeSet::new();
    for (_, expr, in_dashboard) in expressions() {
        if in_dashboard {
            shown.extend(uses(&expr).iter().filter_map(|found| metric_of(found.name.as_deref()?)).map(|m| m.name));
        }
    }
    let unshown = unshown();
    for metric in metrics::ALL {
        let (shown, excused) = (shown.contains(metric.name), unshown.contains_key(metric.name));
        assert!(
            shown || excused,
            "no dashboard shows {}: add a panel to dashboards/source, or give the reason in dashboards/unshown.toml",
            metric.name
        );
        assert!(!(shown && excused), "{} is shown: take it out of dashboards/unshown.toml", metric.name);
    }
    for (name, reason) in unshown {
        assert!(metrics::find(&name).is_some(), "dashboards/unshown.toml: there is no metric {name}");
        assert!(reason.len() > 20, "dashboards/unshown.toml: say why {name} is not shown");
    }
}
