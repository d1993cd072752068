//! The answers of a table's queries as one table, as Grafana merges them: by the labels that all of them have.

use std::collections::{BTreeMap, BTreeSet};

use jobbers_test_support::prometheus::Series;

use super::Shown;

/// The labels of all queries, those that all have first.
pub(super) fn labels(panel: &Shown) -> Vec<String> {
    let common = common(panel);
    let all: BTreeSet<&String> = series(panel).flat_map(|series| series.labels.keys()).collect();
    let others = all.into_iter().filter(|label| !common.contains(*label)).cloned();
    common.iter().cloned().chain(others).collect()
}

fn series(panel: &Shown) -> impl Iterator<Item = &Series> {
    panel.queries.iter().flat_map(|query| &query.series)
}

/// The labels that every series has.
fn common(panel: &Shown) -> BTreeSet<String> {
    let mut sets = series(panel).map(|series| series.labels.keys().cloned().collect::<BTreeSet<String>>());
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |common, of| common.intersection(&of).cloned().collect())
}

/// The values of the labels, and a value for each query that has one.
type Row = (Vec<String>, Vec<Option<f64>>);

/// The table's lines, in the order of their labels.
pub(super) fn rows(panel: &Shown) -> Vec<Row> {
    let (labels, common) = (labels(panel), common(panel));
    let mut rows: BTreeMap<Vec<&str>, Row> = BTreeMap::new();
    for (column, query) in panel.queries.iter().enumerate() {
        for series in &query.series {
            let key = common.iter().map(|label| series.label(label)).collect();
            let empty = || (vec![String::new(); labels.len()], vec![None; panel.queries.len()]);
            let (shown, values) = rows.entry(key).or_insert_with(empty);
            for (cell, label) in shown.iter_mut().zip(&labels).filter(|(_, label)| series.labels.contains_key(*label)) {
                series.label(label).clone_into(cell);
            }
            values[column] = series.points.last().map(|(_, value)| *value);
        }
    }
    rows.into_values().collect()
}
