//! Deletes tasks in any status, with all their side records, and counts them.
//!
//! Statements of their own empty the side tables of `task`, and only for tables that hold anything. As foreign keys,
//! which SQLite checks row by row and table by table, they took most of the time of a deletion.

use jobbers_common::{engine::Result, lifecycle::Status};

use super::step::Step;
use crate::sqlite::{sql, store::error::OrStore};

/// The side tables in the order of `side_tables`, each with the statement that deletes from it.
const SIDE_TABLES: [&str; 11] = [
    sql::DELETE_LARGE_PARAMETERS,
    sql::DELETE_CHECKPOINT,
    sql::DELETE_FAILURES,
    sql::FORGET_UNKNOWN_TASK,
    sql::DELETE_UNIQUENESS,
    sql::DELETE_UNIQUE_KEYS,
    sql::DELETE_WEIGHT,
    sql::DELETE_DEPENDENCIES,
    sql::DELETE_DEPENDENTS,
    sql::DELETE_SIGNALS,
    sql::DELETE_PARENTS,
];

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
    let holds: [bool; SIDE_TABLES.len()] = step
        .prepare(sql::SIDE_TABLES)?
        .query_row([], |row| {
            let mut holds = [false; SIDE_TABLES.len()];
            for (place, holds) in holds.iter_mut().enumerate() {
                *holds = row.get(place)?;
            }
            Ok(holds)
        })
        .or_store()?;
    if holds.last() == Some(&true) {
        step.hooks.removing(step, &keys)?;
    }
    for (delete, _) in SIDE_TABLES.iter().zip(holds).filter(|(_, holds)| *holds) {
        step.prepare(delete)?.execute([&keys]).or_store()?;
    }
    step.prepare(sql::DELETE_TASKS)?.execute([&keys]).or_store()?;
    Ok(())
}

/// Keys in the form that statements take.
pub(crate) fn json_array(keys: impl Iterator<Item = i64>) -> String {
    format!("[{}]", keys.map(|key| key.to_string()).collect::<Vec<_>>().join(","))
}
