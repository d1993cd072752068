//! Which queues have work for a chore, and from when on, so that a chore costs only by the work it does.
//!
//! The table holds lower bounds. A verb that makes a task due notes the time ([`Step::note_due`]). A look at a queue
//! that finds nothing due writes the next time, or removes the queue from the list.

use jobbers_common::engine::Result;
use rusqlite::OptionalExtension;

use super::{chore::Chore, step::Step};
use crate::sqlite::{sql, store::error::OrStore};

/// The queues in which a chore may have work by now, the longest due first.
pub(crate) fn queues(step: &mut Step<'_>, chore: Chore, limit: usize) -> Result<Vec<i64>> {
    by(step, chore, step.now_micros(), limit)
}

/// The same by another time.
pub(crate) fn by(step: &mut Step<'_>, chore: Chore, time: i64, limit: usize) -> Result<Vec<i64>> {
    step.write_tallies()?;
    let mut statement = step.prepare(sql::DUE_QUEUES)?;
    let rows = statement.query_map((chore.code(), time, sql::count(limit)), |row| row.get(0)).or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}

/// Notes the result of a look at a queue: when the chore next has work there, if ever.
pub(crate) fn looked(step: &Step<'_>, chore: Chore, queue: i64, next: Option<i64>) -> Result<()> {
    match next {
        Some(at) => step.prepare(sql::SET_DUE)?.execute((chore.code(), queue, at)),
        None => step.prepare(sql::FORGET_DUE)?.execute((chore.code(), queue)),
    }
    .or_store()?;
    Ok(())
}

/// When the next scheduled task of a queue is due.
pub(crate) fn next_promotion(step: &Step<'_>, queue: i64) -> Result<Option<i64>> {
    next(step, sql::NEXT_DUE, queue)
}

/// When the next lease of a queue expires.
pub(crate) fn next_expiry(step: &Step<'_>, queue: i64) -> Result<Option<i64>> {
    next(step, sql::NEXT_EXPIRY, queue)
}

fn next(step: &Step<'_>, sql: &'static str, queue: i64) -> Result<Option<i64>> {
    step.prepare(sql)?.query_row([queue], |row| row.get(0)).optional().or_store()
}

/// Makes every chore look at a queue.
pub(crate) fn look_again(step: &mut Step<'_>, queue: i64) -> Result<()> {
    for chore in Chore::ALL {
        step.note_due(chore, queue, 0);
    }
    step.write_tallies()
}
