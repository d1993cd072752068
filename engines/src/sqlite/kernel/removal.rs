//! Deletes tasks in any status, with all their side records, and counts them.
//!
//! Statements of their own empty the side tables of `task`, and only for tables that hold anything. As foreign keys,
//! which SQLite checks row by row and table by table, they took most of the time of a deletion.

use jobbers_common::{engine::Result, lifecycle::Status};
use rusqlite::Row;

use super::step::Step;
use crate::sqlite::{sql, store::error::OrStore};

/// The side tables, as `side_tables` calls them, each with the statement that deletes from it.
const SIDE_TABLES: [(&str, &str); 11] = [
    ("large_parameters", sql::DELETE_LARGE_PARAMETERS),
    ("checkpoint", sql::DELETE_CHECKPOINT),
    ("failure", sql::DELETE_FAILURES),
    ("stranger", sql::FORGET_UNKNOWN_TASK),
    ("uniqueness", sql::DELETE_UNIQUENESS),
    ("unique_key", sql::DELETE_UNIQUE_KEYS),
    ("weight", sql::DELETE_WEIGHT),
    ("dependency", sql::DELETE_DEPENDENCIES),
    ("dependent", sql::DELETE_DEPENDENTS),
    ("external_signal", sql::DELETE_SIGNALS),
    (PARENT, sql::DELETE_PARENTS),
];
/// The table of predecessors, whose results others may hold.
const PARENT: &str = "parent";

/// A task to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doomed {
    pub(crate) key: i64,
    pub(crate) queue: i64,
    pub(crate) status: Status,
}

/// Deletes tasks.
pub(crate) fn remove(step: &mut Step<'_>, doomed: &[Doomed]) -> Result<()> {
    if doomed.is_empty() {
        return Ok(());
    }
    for Doomed { key, queue, status } in doomed {
        step.note_left(*key, *queue, *status)?;
    }
    let keys = json_array(doomed.iter().map(|task| task.key));
    let holding = step.prepare(sql::SIDE_TABLES)?.query_row([], holding).or_store()?;
    if holding.iter().any(|(table, _)| *table == PARENT) {
        step.hooks.removing(step, &keys)?;
    }
    for (_, delete) in holding {
        step.prepare(delete)?.execute([&keys]).or_store()?;
    }
    step.prepare(sql::DELETE_TASKS)?.execute([&keys]).or_store()?;
    Ok(())
}

/// Those of [`SIDE_TABLES`] that hold anything.
fn holding(row: &Row<'_>) -> rusqlite::Result<Vec<(&'static str, &'static str)>> {
    let holds = |(table, _): &(&str, _)| row.get(*table);
    SIDE_TABLES
        .into_iter()
        .filter_map(|side| holds(&side).map(|holds: bool| holds.then_some(side)).transpose())
        .collect()
}

/// Keys in the form that statements take.
pub(crate) fn json_array(keys: impl Iterator<Item = i64>) -> String {
    format!("[{}]", keys.map(|key| key.to_string()).collect::<Vec<_>>().join(","))
}
