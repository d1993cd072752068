//! Vanished workers, and the suspects that a worker holds.

use std::{collections::HashMap, time::Duration};

use jobbers_common::{
    engine::Result,
    name::WorkerId,
    task::suspicion::{HeldSuspects, Suspicion, WorkerLoss},
    time::Timestamp,
};
use rusqlite::{OptionalExtension, Row};

use crate::sqlite::{kernel::step::Step, sql, store::error::OrStore};

/// How long a loss is remembered. A lease that outlives it is judged by what its worker holds then.
const REMEMBERED: Duration = Duration::from_secs(24 * 3_600);

/// How many leases each worker holds, read when the first loss opens: one walk over all leases, however many workers
/// vanished.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    held: Option<HashMap<String, WorkerLeases>>,
}

/// The leases of one worker.
#[derive(Debug, Default, Clone, Copy)]
struct WorkerLeases {
    suspects: u64,
    leases: u64,
}

impl Losses {
    /// The loss to which an expired lease belongs; a new one if this lease is its first. From here on the lease counts
    /// as taken back.
    pub(crate) fn take(
        &mut self,
        step: &Step<'_>,
        worker: &WorkerId,
        started_at: Timestamp,
        suspicion: Suspicion,
    ) -> Result<WorkerLoss> {
        let loss = match find_loss(step, worker)?.filter(|loss| loss.includes(started_at)) {
            Some(loss) => loss,
            None => self.open(step, worker)?,
        };
        if let Some(held) = self.held.as_mut().and_then(|held| held.get_mut(worker.as_str())) {
            held.leases = held.leases.saturating_sub(1);
            held.suspects = held.suspects.saturating_sub(u64::from(suspicion.is_suspect()));
        }
        Ok(loss)
    }

    fn open(&mut self, step: &Step<'_>, worker: &WorkerId) -> Result<WorkerLoss> {
        if self.held.is_none() {
            self.held = Some(count_leases(step)?);
        }
        let held = self.held.as_ref().and_then(|held| held.get(worker.as_str())).copied().unwrap_or_default();
        step.prepare(sql::FORGET_LOSSES)?.execute([step.now.before(REMEMBERED).as_micros()]).or_store()?;
        let (suspects, leases) = (held.suspects.cast_signed(), held.leases.cast_signed());
        step.prepare(sql::PUT_LOSS)?.execute((worker.as_str(), step.now_micros(), suspects, leases)).or_store()?;
        Ok(WorkerLoss { at: step.now, suspects: held.suspects, leases: held.leases })
    }
}

fn find_loss(step: &Step<'_>, worker: &WorkerId) -> Result<Option<WorkerLoss>> {
    let read = |row: &Row<'_>| {
        let (at, suspects, leases): (i64, i64, i64) = (row.get("at")?, row.get("suspects")?, row.get("leases")?);
        let (suspects, leases) = (suspects.unsigned_abs(), leases.unsigned_abs());
        Ok(WorkerLoss { at: Timestamp::from_micros(at), suspects, leases })
    };
    step.prepare(sql::FIND_LOSS)?.query_row([worker.as_str()], read).optional().or_store()
}

fn count_leases(step: &Step<'_>) -> Result<HashMap<String, WorkerLeases>> {
    let mut held: HashMap<String, WorkerLeases> = HashMap::new();
    let mut statement = step.prepare(sql::ALL_LEASES)?;
    let mut rows = statement.query([]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let worker: String = row.get("worker").or_store()?;
        let of_worker = held.entry(worker).or_default();
        of_worker.leases += 1;
        of_worker.suspects += u64::from(row.get::<_, bool>("is_suspect").or_store()?);
    }
    Ok(held)
}

/// The suspects on probation that are leased to a worker.
pub(crate) fn held_by(step: &Step<'_>, worker: &WorkerId) -> Result<HeldSuspects> {
    let mut held = HeldSuspects::none(step.now);
    let mut statement = step.prepare(sql::HELD_SUSPECTS)?;
    let mut rows = statement.query([worker.as_str()]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let suspicion = Suspicion::new(row.get("losses").or_store()?, row.get("ran_s").or_store()?);
        held.add(suspicion, Timestamp::from_micros(row.get("started_at").or_store()?));
    }
    Ok(held)
}
