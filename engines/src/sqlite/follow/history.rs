//! The history of queues: what happened, by minute and by hour.
//!
//! The moves of a transaction are gathered in its ledger. One row per queue and slot is written before the commit, whatever
//! the number of tasks. The transaction that begins a slot deletes what is not kept any more.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::Result,
    history::{Counts, Grain, History, Slot, Times},
    lifecycle::{Move, Status},
    name::QueueName,
    time::Timestamp,
};
use rusqlite::Row;

use crate::sqlite::{
    kernel::{step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// The stored numbers of the two distributions.
const WAITED: u8 = 0;
const RAN: u8 = 1;

/// Counts a task that a queue accepts.
pub(crate) fn note_accepted(step: &mut Step<'_>, queue: i64) {
    gathered(step, queue).counts.accepted += 1;
}

/// Counts a move within a queue.
pub(crate) fn note_moved(step: &mut Step<'_>, queue: i64, event: Move, to: Status) {
    gathered(step, queue).counts.count_move(event, to);
}

/// Counts how long a task that starts has been ready.
pub(crate) fn note_waited(step: &mut Step<'_>, queue: i64, since: Timestamp) {
    let bucket = Times::bucket_between(since, step.now);
    gathered(step, queue).waited.0[bucket] += 1;
}

/// Counts how long an attempt had run when it was settled.
pub(crate) fn note_ran(step: &mut Step<'_>, queue: i64, since: Timestamp) {
    let bucket = Times::bucket_between(since, step.now);
    gathered(step, queue).ran.0[bucket] += 1;
}

fn gathered<'s>(step: &'s mut Step<'_>, queue: i64) -> &'s mut Slot {
    step.ledger.history.entry(queue).or_default()
}

/// Writes what was gathered.
pub(crate) fn write(step: &mut Step<'_>) -> Result<()> {
    for (queue, gathered) in std::mem::take(&mut step.ledger.history) {
        if gathered.counts != Counts::default() {
            add_counts(step, queue, Grain::Minute, gathered.counts)?;
            add_counts(step, queue, Grain::Hour, gathered.counts)?;
        }
        let hour = Grain::Hour.number_at(step.now);
        for (what, times) in [(WAITED, gathered.waited), (RAN, gathered.ran)] {
            for (bucket, tasks) in (0_i64..).zip(times.0).filter(|(_, tasks)| *tasks > 0) {
                step.prepare(sql::COUNT_TIME)?.execute((queue, hour, what, bucket, tasks.cast_signed())).or_store()?;
            }
        }
    }
    Ok(())
}

const fn code(by: Grain) -> u8 {
    match by {
        Grain::Minute => 0,
        Grain::Hour => 1,
    }
}

fn add_counts(step: &Step<'_>, queue: i64, by: Grain, counts: Counts) -> Result<()> {
    let [accepted, started, completed, failed, other, retried] = counts.to_array().map(u64::cast_signed);
    let number = by.number_at(step.now);
    let values = (queue, code(by), number, accepted, started, completed, failed, other, retried);
    if step.prepare(sql::COUNT_HISTORY)?.execute(values).or_store()? > 0 {
        return Ok(());
    }
    step.prepare(sql::BEGIN_HISTORY)?.execute(values).or_store()?;
    let first_kept = by.first_kept(step.now);
    step.prepare(sql::FORGET_HISTORY)?.execute((queue, code(by), first_kept)).or_store()?;
    if by == Grain::Hour {
        step.prepare(sql::FORGET_TIMES)?.execute((queue, first_kept)).or_store()?;
    }
    Ok(())
}

/// The history of queues, in the order given.
pub(crate) fn read(view: &View<'_>, queues: &[QueueName], by: Grain) -> Result<History> {
    let slots = queues.iter().map(|queue| match view.find_queue(queue)? {
        Some(key) => slots_of(view, key, by),
        None => Ok(Vec::new()),
    });
    Ok(History { now: view.now, queues: slots.collect::<Result<_>>()? })
}

fn slots_of(view: &View<'_>, queue: i64, by: Grain) -> Result<Vec<Slot>> {
    let (first, last) = (by.first_kept(view.now), by.number_at(view.now));
    let read = |row: &Row<'_>| {
        let count = |column: &str| row.get::<_, i64>(column).map(i64::unsigned_abs);
        let (accepted, started, completed) = (count("accepted")?, count("started")?, count("completed")?);
        let counts = [accepted, started, completed, count("failed")?, count("other")?, count("retried")?];
        let number: i64 = row.get("number")?;
        Ok((number, Slot { counts: Counts::from_array(counts), ..Slot::empty(by.begin_of(number)) }))
    };
    let mut statement = view.prepare(sql::READ_HISTORY)?;
    let rows = statement.query_map((queue, code(by), first, last), read).or_store()?;
    let mut slots: BTreeMap<i64, Slot> = rows.collect::<rusqlite::Result<_>>().or_store()?;
    if by == Grain::Hour {
        let mut statement = view.prepare(sql::READ_TIMES)?;
        let mut rows = statement.query((queue, first, last)).or_store()?;
        while let Some(row) = rows.next().or_store()? {
            let (number, what): (i64, u8) = (row.get("number").or_store()?, row.get("what").or_store()?);
            let (bucket, tasks): (u8, i64) = (row.get("bucket").or_store()?, row.get("tasks").or_store()?);
            let slot = slots.entry(number).or_insert_with(|| Slot::empty(by.begin_of(number)));
            let times = if what == WAITED { &mut slot.waited } else { &mut slot.ran };
            if let Some(sum) = times.0.get_mut(usize::from(bucket)) {
                *sum += tasks.unsigned_abs();
            }
        }
    }
    Ok(slots.into_values().collect())
}
