//! The history of queues: what happened, by minute and by hour.
//!
//! The moves of a transaction are gathered in its ledger, and added to the open minute of their queue before the commit,
//! whatever the number of tasks. The open minute is stored next to the queue's counts, on a page that the commit writes anyway. An hour
//! is the sum of its minutes. The transaction that begins a minute writes down the minute before and the hours that are over, and
//! deletes what is not kept any more.

use std::{collections::BTreeMap, fmt::Write as _, ops::RangeInclusive};

use jobbers_common::{
    engine::{Error, Result},
    history::{Counts, Grain, History, Slot, Times},
    lifecycle::{Move, Status},
    name::QueueName,
    time::Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Row, Statement};

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
    let minute = Grain::Minute.number_at(step.now);
    match read_minute(&mut *step.prepare(sql::FIND_MINUTE)?, queue)? {
        None => {
            step.prepare(sql::INSERT_MINUTE)?.execute((queue, minute, pack(gathered))).or_store()?;
        }
        Some((open, mut sum)) if open == minute => {
            sum.add(gathered);
            step.prepare(sql::SET_MINUTE)?.execute((queue, minute, pack(&sum))).or_store()?;
        }
        Some((over, _)) => {
            // A store of an earlier schema may have begun this minute elsewhere.
            let slots = stored(step.conn, queue, Grain::Minute, over..=over)?;
            for (number, slot) in &slots {
                let values = (queue, code(Grain::Minute), number, write_sums(slot));
                step.prepare(sql::INSERT_SLOT)?.execute(values).or_store()?;
            }
            step.prepare(sql::SET_MINUTE)?.execute((queue, minute, pack(gathered))).or_store()?;
            turn_page(step, queue)?;
        }
    }
    Ok(())
}

/// The minute of a queue that something happened in last, and its sums.
fn open_minute(conn: &Connection, queue: i64) -> Result<Option<(i64, Slot)>> {
    read_minute(&mut *conn.prepare_cached(sql::FIND_MINUTE).or_store()?, queue)
}

/// The same, by [`sql::FIND_MINUTE`].
fn read_minute(find: &mut Statement<'_>, queue: i64) -> Result<Option<(i64, Slot)>> {
    let read = |row: &Row<'_>| Ok((row.get("number")?, unpack(row.get_ref("sums")?.as_blob()?)));
    find.query_row([queue], read).optional().or_store()
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

/// The hours of a queue that are not written down yet, as the sums of their minutes.
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

/// The slots of a queue, by their numbers; of its minutes, the open one too.
fn stored(conn: &Connection, queue: i64, by: Grain, numbers: RangeInclusive<i64>) -> Result<BTreeMap<i64, Slot>> {
    let at = |number, slot| (number, Slot { at: by.begin_of(number), ..slot });
    let mut statement = conn.prepare_cached(sql::READ_SLOTS).or_store()?;
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>("number")?, row.get::<_, String>("sums")?));
    let rows = statement.query_map((queue, code(by), numbers.start(), numbers.end()), read).or_store()?;
    let over = rows.map(|row| row.or_store().and_then(|(number, sums)| Ok(at(number, read_sums(&sums)?))));
    let mut slots = over.collect::<Result<BTreeMap<_, _>>>()?;
    if by == Grain::Minute {
        let open = open_minute(conn, queue)?.filter(|(minute, _)| numbers.contains(minute));
        if let Some((minute, sums)) = open {
            slots.entry(minute).or_insert_with(|| Slot::empty(by.begin_of(minute))).add(&sums);
        }
    }
    Ok(slots)
}

const fn code(by: Grain) -> u8 {
    match by {
        Grain::Minute => 0,
        Grain::Hour => 1,
    }
}

/// How many sums a slot has.
const SUMS: usize = Counts::LEN + 2 * Times::BUCKETS;

fn sums_of(slot: &Slot) -> impl Iterator<Item = u64> {
    slot.counts.to_array().into_iter().chain(slot.waited.0).chain(slot.ran.0)
}

/// The slot with these sums; zeros for those that are missing.
fn slot_of(sums: impl IntoIterator<Item = u64>) -> Slot {
    let mut sums = sums.into_iter().chain(std::iter::repeat(0));
    let mut next = || sums.next().unwrap_or_default();
    let counts = Counts::from_array(std::array::from_fn(|_| next()));
    let waited = Times(std::array::from_fn(|_| next()));
    Slot { counts, waited, ran: Times(std::array::from_fn(|_| next())), ..Slot::default() }
}

/// The sums of a slot that is over, as a JSON array.
fn write_sums(slot: &Slot) -> String {
    let mut text = String::with_capacity(4 * SUMS);
    for (place, sum) in sums_of(slot).enumerate() {
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
    Ok(slot_of(sums))
}

/// The sums of an open minute, which each commit reads and writes.
fn pack(slot: &Slot) -> [u8; SUMS * size_of::<u64>()] {
    let mut bytes = [0; SUMS * size_of::<u64>()];
    for (place, sum) in bytes.as_chunks_mut().0.iter_mut().zip(sums_of(slot)) {
        *place = sum.to_le_bytes();
    }
    bytes
}

fn unpack(bytes: &[u8]) -> Slot {
    slot_of(bytes.as_chunks().0.iter().map(|sum| u64::from_le_bytes(*sum)))
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
