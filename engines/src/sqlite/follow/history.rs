//! The history of queues: what happened, by minute and by hour.
//!
//! The moves of a transaction are gathered in its ledger, and added to the row of their queue and minute before the commit,
//! whatever the number of tasks. An hour is the sum of its minutes. The transaction that begins a minute writes down the hours
//! that are over, and deletes what is not kept any more.

use std::{collections::BTreeMap, fmt::Write as _, ops::RangeInclusive};

use jobbers_common::{
    engine::{Error, Result},
    history::{Counts, Grain, History, Slot, Times},
    lifecycle::{Move, Status},
    name::QueueName,
    time::Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::{
    kernel::{step::Step, view::View},
    sql,
    store::error::OrStore,
};

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
        if gathered != Slot::default() {
            add(step, queue, &gathered)?;
        }
    }
    Ok(())
}

fn add(step: &Step<'_>, queue: i64, gathered: &Slot) -> Result<()> {
    let (minutes, minute) = (code(Grain::Minute), Grain::Minute.number_at(step.now));
    let mut find = step.prepare(sql::FIND_SLOT)?;
    let found = find.query_row((queue, minutes, minute), |row| row.get::<_, String>("sums")).optional().or_store()?;
    let Some(stored) = found else {
        step.prepare(sql::INSERT_SLOT)?.execute((queue, minutes, minute, write_sums(gathered))).or_store()?;
        return turn_page(step, queue);
    };
    let mut sum = read_sums(&stored)?;
    sum.add(gathered);
    step.prepare(sql::SET_SLOT)?.execute((queue, minutes, minute, write_sums(&sum))).or_store()?;
    Ok(())
}

/// A minute has begun: writes down the hours that are over, and deletes what is not kept any more.
fn turn_page(step: &Step<'_>, queue: i64) -> Result<()> {
    let open = Grain::Hour.number_at(step.now);
    for (hour, slot) in unwritten_hours(step.conn, queue)?.range(..open) {
        let values = (queue, code(Grain::Hour), hour, write_sums(slot));
        step.prepare(sql::INSERT_SLOT)?.execute(values).or_store()?;
    }
    for by in [Grain::Minute, Grain::Hour] {
        step.prepare(sql::FORGET_SLOTS)?.execute((queue, code(by), by.first_kept(step.now))).or_store()?;
    }
    Ok(())
}

/// The hours of a queue that have no row yet, as the sums of their minutes.
fn unwritten_hours(conn: &Connection, queue: i64) -> Result<BTreeMap<i64, Slot>> {
    let mut last = conn.prepare_cached(sql::LAST_SLOT).or_store()?;
    let last = last.query_row((queue, code(Grain::Hour)), |row| row.get::<_, i64>("number")).optional().or_store()?;
    let per_hour = Grain::Hour.micros() / Grain::Minute.micros();
    let first = last.map_or(0, |last| (last + 1) * per_hour);
    let mut hours = BTreeMap::new();
    for (minute, slot) in stored(conn, queue, Grain::Minute, first..=i64::MAX)? {
        let hour = minute.div_euclid(per_hour);
        hours.entry(hour).or_insert_with(|| Slot::empty(Grain::Hour.begin_of(hour))).add(&slot);
    }
    Ok(hours)
}

/// The rows of a queue, by their numbers.
fn stored(conn: &Connection, queue: i64, by: Grain, numbers: RangeInclusive<i64>) -> Result<BTreeMap<i64, Slot>> {
    let mut statement = conn.prepare_cached(sql::READ_SLOTS).or_store()?;
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>("number")?, row.get::<_, String>("sums")?));
    let rows = statement.query_map((queue, code(by), numbers.start(), numbers.end()), read).or_store()?;
    let slot = |(number, sums): (i64, String)| Ok((number, Slot { at: by.begin_of(number), ..read_sums(&sums)? }));
    rows.map(|row| slot(row.or_store()?)).collect()
}

const fn code(by: Grain) -> u8 {
    match by {
        Grain::Minute => 0,
        Grain::Hour => 1,
    }
}

/// How many sums a slot has.
const SUMS: usize = Counts::LEN + 2 * Times::BUCKETS;

fn write_sums(slot: &Slot) -> String {
    let mut text = String::with_capacity(4 * SUMS);
    let sums = slot.counts.to_array().into_iter().chain(slot.waited.0).chain(slot.ran.0);
    for (place, sum) in sums.enumerate() {
        let before = if place == 0 { '[' } else { ',' };
        // Writing to a string can't fail.
        write!(text, "{before}{sum}").ok();
    }
    text.push(']');
    text
}

fn read_sums(text: &str) -> Result<Slot> {
    let damaged = |error| Error::Corrupt(format!("a slot of a queue's history is {text:?}: {error}"));
    let sums: Vec<u64> = serde_json::from_str(text).map_err(damaged)?;
    let mut sums = sums.into_iter().chain(std::iter::repeat(0));
    let mut next = || sums.next().unwrap_or_default();
    let counts = Counts::from_array(std::array::from_fn(|_| next()));
    let waited = Times(std::array::from_fn(|_| next()));
    Ok(Slot { counts, waited, ran: Times(std::array::from_fn(|_| next())), ..Slot::default() })
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
    let kept = by.first_kept(view.now)..=by.number_at(view.now);
    let mut slots = stored(view.conn, queue, by, kept.clone())?;
    match by {
        // Times are kept by hour: those of a minute are parts of its hour's.
        Grain::Minute => slots.retain(|_, slot| {
            *slot = Slot { at: slot.at, counts: slot.counts, ..Slot::default() };
            slot.counts != Counts::default()
        }),
        Grain::Hour => {
            let unwritten = unwritten_hours(view.conn, queue)?;
            slots.extend(unwritten.into_iter().filter(|(hour, _)| kept.contains(hour)));
        }
    }
    Ok(slots.into_values().collect())
}
