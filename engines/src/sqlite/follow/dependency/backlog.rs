//! What earlier steps left: ends that are not signalled to all successors, and edges that are stored in pieces.

use jobbers_common::{dependency::End, engine::Result, name::TaskId};

use super::{pieces, signals};
use crate::sqlite::{
    kernel::{ledger::EndedTask, row, step::Step},
    sql,
    store::error::{OrStore, corrupt},
};

/// The most ends that one call continues.
const ENDS_A_CHORE: usize = 400;

/// Does what earlier steps left. What still remains goes to the end of the list, so that every end gets its turn.
pub(crate) fn work_off(step: &mut Step<'_>) -> Result<()> {
    let mut ended = Vec::new();
    let mut statement = step.prepare(sql::SIGNALS_DUE)?;
    let mut rows = statement.query([sql::count(ENDS_A_CHORE)]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (number, key): (i64, i64) = (columns.take("number")?, columns.take("predecessor")?);
        let id = columns.name("id", TaskId::new)?;
        let (before, end) = (columns.take("before")?, end(columns.take("status")?)?);
        ended.push((number, EndedTask { key, id, from: columns.take("from_since")?, before, end }));
    }
    drop(rows);
    pieces::link_some(step)?;
    if ended.is_empty() {
        return Ok(());
    }
    for (number, ended) in ended {
        step.prepare(sql::DELETE_SIGNAL_DUE)?.execute([number]).or_store()?;
        step.ledger.ended.push(ended);
    }
    signals::signal(step)
}

/// Does some of what earlier steps left, in a step of its own. Returns whether more is left.
pub(crate) fn settle_some(step: &mut Step<'_>) -> Result<bool> {
    work_off(step)?;
    Ok(step.prepare(sql::ANY_SIGNAL_DUE)?.exists([]).or_store()? || pieces::are_left(step)?)
}

fn end(code: u8) -> Result<End> {
    End::from_code(code).ok_or_else(|| corrupt("the end of a task", code))
}
