//! `docs/reference/metrics.md` is written from the catalogue; `REWRITE=1 cargo test -p jobbers-tidy` rewrites it.

use std::fmt::Write as _;

use jobbers_common::metrics::{ALL, Kind, Metric, Service, attribute};

use crate::workspace::{file, root};

const DOCUMENT: &str = "docs/reference/metrics.md";

const HEAD: &str = "\
# Metrics

Every metric, and all that is promised about it. The names are OpenTelemetry's, as exported by OTLP; next to each is its
name in Prometheus, whether it is scraped from `/metrics` or comes through a collector. [Telemetry](../guides/telemetry.md)
tells how to get at them.

- Counters begin at 0 with their process; ask for `rate()` or `increase()`. A worker's series of a queue and a task are
  there as soon as it takes the first one on, at 0, so that the first failure is seen as a step.
- Times of tasks are in milliseconds, all other times in seconds. Each histogram is `NAME_bucket`, `NAME_sum` and
  `NAME_count` in Prometheus.
- Where a row says *take the `max`*, every manager tells the same number of the one store: `max by (queue) (…)`.
- One process keeps no more series of a metric than the row says. What comes on top is counted in one more series, labelled
  `otel_metric_overflow=\"true\"`. Names of queues and tasks past the first 1,000 pairs become `_other`.
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn keys(metric: &Metric) -> String {
    let keys: Vec<String> = metric.attributes.iter().map(|attribute| format!("`{}`", attribute.key)).collect();
    if keys.is_empty() { "–".to_owned() } else { keys.join(", ") }
}

fn row(metric: &Metric) -> String {
    let unit = if metric.unit.is_empty() { "–" } else { metric.unit };
    format!(
        "| `{}` | `{}` | {} | {unit} | {} | {} | {} |\n",
        metric.name,
        metric.prometheus_name(),
        metric.kind.as_str(),
        keys(metric),
        metric.most_series,
        cell(metric.about),
    )
}

fn number(bound: f64) -> String {
    if bound >= 1e4 { format!("{bound:e}") } else { bound.to_string() }
}

fn section(text: &mut String, title: &str, belongs: impl Fn(&Metric) -> bool) {
    writeln!(text, "\n## {title}\n").unwrap();
    writeln!(text, "| metric | in Prometheus | kind | unit | attributes | most series | |").unwrap();
    writeln!(text, "|---|---|---|---|---|---|---|").unwrap();
    for metric in ALL.iter().filter(|metric| belongs(metric)) {
        text.push_str(&row(metric));
    }
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    section(&mut text, "Worker", |metric| metric.services == [Service::Worker]);
    section(&mut text, "Manager", |metric| metric.services == [Service::Manager]);
    section(&mut text, "Cleaner", |metric| metric.services == [Service::Cleaner]);
    section(&mut text, "Several of them", |metric| metric.services.len() > 1);
    text.push_str("\n## Attributes\n\n| attribute | most values | |\n|---|---|---|\n");
    for attribute in attribute::ALL {
        writeln!(text, "| `{}` | {} | {} |", attribute.key, attribute.most_values, cell(attribute.about)).unwrap();
    }
    text.push_str("\n## Buckets\n\nUpper bounds, in the metric's unit; above the last comes `+Inf`.\n\n");
    text.push_str("| histogram | bounds |\n|---|---|\n");
    for metric in ALL.iter().filter(|metric| metric.kind == Kind::Histogram) {
        let bounds: Vec<String> = metric.buckets.iter().copied().map(number).collect();
        writeln!(text, "| `{}` | {} |", metric.name, bounds.join(" ")).unwrap();
    }
    text
}

#[test]
fn the_documented_metrics_are_the_catalogue() {
    let real = document();
    if std::env::var_os("REWRITE").is_some() {
        std::fs::write(root().join(DOCUMENT), &real).unwrap();
    }
    let written = file(DOCUMENT).unwrap_or_default();
    let differs = real.lines().zip(written.lines()).find(|(real, written)| real != written);
    assert!(
        real == written,
        "{DOCUMENT} is not what the catalogue says (first difference: {differs:?}); write it anew with \
         REWRITE=1 cargo test -p jobbers-tidy"
    );
}
