//! Workers that vanished, and the suspects that a worker holds.

use std::time::Duration;

use jobbers_common::{
    engine::Result,
    name::WorkerId,
    suspicion::{HeldSuspects, Suspicion, WorkerLoss},
    time::Timestamp,
};
use rusqlite::{OptionalExtension, Row};

use super::{error::OrStore, sql, step::Step};

/// How long a loss is remembered. A lease that outlives it is judged by what its worker holds then.
const REMEMBERED: Duration = Duration::from_secs(24 * 3_600);

/// The loss to which a lease of a worker belongs. It begins now if this lease is the first of it.
///
/// The first one costs a walk over all leases, once for each worker that vanishes.
pub(super) fn loss_of(step: &Step<'_>, worker: &WorkerId, started_at: Timestamp) -> Result<WorkerLoss> {
    let read = |row: &Row<'_>| {
        let (at, suspects, leases): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (suspects, leases) = (suspects.unsigned_abs(), leases.unsigned_abs());
        Ok(WorkerLoss { at: Timestamp::from_micros(at), suspects, leases })
    };
    let known = step.prepare(sql::FIND_LOSS)?.query_row([worker.as_str()], read).optional().or_store()?;
    if let Some(loss) = known.filter(|loss| loss.includes(started_at)) {
        return Ok(loss);
    }
    let (suspects, leases): (i64, i64) = step
        .prepare(sql::COUNT_LEASES)?
        .query_row([worker.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .or_store()?;
    step.prepare(sql::FORGET_LOSSES)?.execute([step.now.before(REMEMBERED).as_micros()]).or_store()?;
    step.prepare(sql::PUT_LOSS)?.execute((worker.as_str(), step.now_micros(), suspects, leases)).or_store()?;
    Ok(WorkerLoss { at: step.now, suspects: suspects.unsigned_abs(), leases: leases.unsigned_abs() })
}

/// The suspects that a worker holds a lease on.
pub(super) fn held_by(step: &Step<'_>, worker: &WorkerId) -> Result<HeldSuspects> {
    let mut held = HeldSuspects::default();
    let mut statement = step.prepare(sql::HELD_SUSPECTS)?;
    let mut rows = statement.query([worker.as_str()]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        held.add(Suspicion::new(row.get(0).or_store()?));
    }
    Ok(held)
}
