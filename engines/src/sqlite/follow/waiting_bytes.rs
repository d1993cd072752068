//! Counts the bytes that wait in each queue with `max_bytes`. A queue without this limit costs one map lookup.
//!
//! The bytes of each waiting task are stored in a row of their own, so no path of a task counts them twice or subtracts
//! bytes that were never counted. The sum per queue is written once per commit. When the limit is set on a queue that
//! already holds tasks, [`count_next`] counts them in steps.

use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    limits::MAX_BATCH,
    queue::QueueConfig,
};
use rusqlite::OptionalExtension;

use crate::sqlite::{kernel::step::Step, sql, store::error::OrStore};

/// Whether tasks of this status count towards what waits in a queue.
const fn waits(status: Status) -> bool {
    matches!(status, Status::Waiting | Status::Scheduled | Status::Submitted)
}

fn is_sized(step: &Step<'_>, queue: i64) -> bool {
    step.catalog().limited.get(&queue).is_some_and(|config| config.max_bytes.is_some())
}

/// Counts a task that moved within a queue, joined it or left it (`None`). Called after the task is stored.
pub(crate) fn note(step: &mut Step<'_>, task: i64, queue: i64, from: Option<Status>, to: Option<Status>) -> Result<()> {
    if !is_sized(step, queue) {
        return Ok(());
    }
    match (from.is_some_and(waits), to.is_some_and(waits)) {
        (false, true) => add(step, task, queue),
        (true, false) => {
            let taken = step.prepare(sql::TAKE_WEIGHT)?.query_row([task], |row| row.get::<_, i64>(0));
            let taken = taken.optional().or_store()?;
            step.count_bytes(queue, -taken.unwrap_or(0));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn add(step: &mut Step<'_>, task: i64, queue: i64) -> Result<()> {
    let added = step.prepare(sql::ADD_WEIGHT)?.query_row((task, queue), |row| row.get::<_, i64>(0));
    let added = added.optional().or_store()?;
    step.count_bytes(queue, added.unwrap_or(0));
    Ok(())
}

/// The bytes that wait in a queue; `None` if the queue does not limit them.
pub(crate) fn total(step: &Step<'_>, queue: i64) -> Result<Option<u64>> {
    if !is_sized(step, queue) {
        return Ok(None);
    }
    let stored: i64 = step.prepare(sql::WAITING_BYTES)?.query_row([queue], |row| row.get(0)).or_store()?;
    Ok(Some((stored + step.bytes_to_write(queue)).max(0).unsigned_abs()))
}

/// The error if more bytes wait in a queue than `max_bytes`, and more than `before`.
pub(crate) fn over_limit(step: &Step<'_>, queue: i64, before: Option<u64>) -> Result<Option<Error>> {
    let (Some(bytes), Some(config)) = (total(step, queue)?, step.catalog().limited.get(&queue)) else {
        return Ok(None);
    };
    let Some(max_bytes) = config.max_bytes else { return Ok(None) };
    let is_over = bytes > max_bytes.max(before.unwrap_or(0));
    Ok(is_over.then(|| Error::QueueBytesFull { queue: config.name.clone(), max_bytes }))
}

/// Starts or ends counting when the settings of a queue change.
pub(crate) fn configure(step: &mut Step<'_>, queue: i64, known: Option<&QueueConfig>, new: &QueueConfig) -> Result<()> {
    let was_sized = known.is_some_and(|known| known.max_bytes.is_some());
    match (was_sized, new.max_bytes.is_some()) {
        (false, true) => {
            step.write_tallies()?;
            step.prepare(sql::BEGIN_WEIGHING)?.execute([queue]).or_store()?;
        }
        (true, false) => forget(step, queue)?,
        _ => {}
    }
    Ok(())
}

/// Stops counting a queue and deletes its counts.
pub(crate) fn forget(step: &mut Step<'_>, queue: i64) -> Result<()> {
    step.write_tallies()?;
    step.prepare(sql::FORGET_WEIGHTS)?.execute([queue]).or_store()?;
    step.prepare(sql::CLEAR_BYTES)?.execute([queue]).or_store()?;
    Ok(())
}

/// Counts up to 1,000 further tasks of each queue that held tasks when its limit was set.
pub(crate) fn count_next(step: &mut Step<'_>) -> Result<()> {
    let sized: Vec<i64> = step.catalog().limited.keys().copied().filter(|queue| is_sized(step, *queue)).collect();
    for queue in sized {
        let place = step
            .prepare(sql::BEING_WEIGHED)?
            .query_row([queue], |row| Ok((row.get("weighed")?, row.get("weigh_until")?)));
        if let Some((after, until)) = place.optional().or_store()? {
            count_next_in(step, queue, after, until)?;
        }
    }
    Ok(())
}

fn count_next_in(step: &mut Step<'_>, queue: i64, after: i64, until: i64) -> Result<()> {
    let mut statement = step.prepare(sql::TASKS_TO_WEIGH)?;
    let rows = statement
        .query_map((queue, after, until, sql::count(MAX_BATCH)), |row| Ok((row.get("key")?, row.get("is_waiting")?)));
    let found: Vec<(i64, bool)> = rows.or_store()?.collect::<rusqlite::Result<_>>().or_store()?;
    for (task, _) in found.iter().filter(|(_, waits)| *waits) {
        add(step, *task, queue)?;
    }
    match found.last() {
        Some((last, _)) if found.len() == MAX_BATCH => step.prepare(sql::NOTE_WEIGHED)?.execute((queue, last)),
        _ => step.prepare(sql::END_WEIGHING)?.execute([queue]),
    }
    .or_store()?;
    Ok(())
}

/// Counts a whole queue again.
pub(crate) fn recount(step: &mut Step<'_>, queue: i64) -> Result<()> {
    forget(step, queue)?;
    step.prepare(sql::BEGIN_WEIGHING)?.execute([queue]).or_store()?;
    loop {
        let place = step
            .prepare(sql::BEING_WEIGHED)?
            .query_row([queue], |row| Ok((row.get("weighed")?, row.get("weigh_until")?)));
        match place.optional().or_store()? {
            Some((after, until)) => count_next_in(step, queue, after, until)?,
            None => return step.write_tallies(),
        }
    }
}
