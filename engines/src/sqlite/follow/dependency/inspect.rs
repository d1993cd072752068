//! Dependencies as they are read, and repaired.

use jobbers_common::{
    dependency::{Dependencies, Dependency, End},
    engine::Result,
    name::TaskId,
};

use super::{edges::policy, external, leave, signals::signal_all};
use crate::sqlite::{
    kernel::{ledger::EndedTask, row, step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// Adds the predecessors that a task waits for, at most `limit`, and its signals.
pub(crate) fn show(view: &View<'_>, key: i64, dependencies: &mut Dependencies, limit: usize) -> Result<()> {
    let mut statement = view.prepare(sql::WAITS_FOR)?;
    let mut rows = statement.query((key, sql::count(limit))).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (on, policy) = (columns.name("id", TaskId::new)?, policy(columns.take("policy")?)?);
        dependencies.waits_for.push(Dependency { on, policy });
    }
    drop(rows);
    external::show(view, key, dependencies)
}

/// A flaw in the dependencies of a waiting task, and whether it can be repaired.
pub(crate) fn find_flaw(view: &View<'_>, key: i64) -> Result<Option<(String, bool)>> {
    let read =
        |row: &rusqlite::Row<'_>| Ok((row.get("total")?, row.get("signals")?, row.get("edges")?, row.get("lost")?));
    let (total, signals, edges, lost): (i64, i64, i64, i64) =
        view.prepare(sql::AUDIT_WAITING)?.query_row([key], read).or_store()?;
    Ok(if edges == 0 && signals == total {
        Some((format!("it waits, and all of its {total} dependencies are signalled"), true))
    } else if edges != total - signals {
        Some((format!("it waits for {} tasks and signals, and {edges} are there", total - signals), false))
    } else if lost > 0 {
        let mut ended = view.prepare(sql::ENDED_PREDECESSORS)?;
        Some((format!("it waits for {lost} tasks that are over or gone"), ended.exists([key]).or_store()?))
    } else {
        None
    })
}

/// Moves a waiting task by the ends of its finished predecessors.
pub(crate) fn mend(step: &mut Step<'_>, key: i64) -> Result<()> {
    let mut statement = step.prepare(sql::ENDED_PREDECESSORS)?;
    let mut rows = statement.query([key]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (predecessor, id) = (columns.take("key")?, columns.name("id", TaskId::new)?);
        let (before, end) = (step.ledger.revision + 1, End::Over(row::status(columns.take("status")?)?));
        step.ledger.ended.push(EndedTask { key: predecessor, id, from: 0, before, end });
    }
    drop(rows);
    if step.ledger.ended.is_empty() {
        return leave::release(step, key);
    }
    signal_all(step)
}
