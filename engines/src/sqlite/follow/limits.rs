//! How much a queue's limits allow now. A queue without limits costs one lookup in an empty map.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    queue::{QueueConfig, rate::RateLimit},
    time::Timestamp,
};

use crate::sqlite::{kernel::step::Step, sql, store::error::OrStore};

/// How much may be claimed from a queue now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimRoom {
    /// Free slots.
    pub(crate) slots: usize,
    rate: Option<(RateLimit, Timestamp)>,
}

impl ClaimRoom {
    const UNLIMITED: Self = Self { slots: usize::MAX, rate: None };

    pub(crate) fn of(step: &Step<'_>, queue: i64) -> Result<Self> {
        let Some(config) = step.catalog().limited.get(&queue) else { return Ok(Self::UNLIMITED) };
        let running = if config.limits_running() { step.tally(queue, &[Status::Started])? } else { 0 };
        Ok(Self { slots: config.free_slots(running), rate: rate_of(step, queue, config)? })
    }

    /// How many tasks may start now.
    pub(crate) fn tasks(&self, now: Timestamp) -> usize {
        self.rate.map_or(self.slots, |(rate, mark)| self.slots.min(rate.allowed(mark, now)))
    }

    /// When the rate lets up to `wanted` tasks start, if the rate is the limit that prevents it.
    pub(crate) fn wait(&self, now: Timestamp, wanted: usize) -> Option<Duration> {
        let (rate, mark) = self.rate.filter(|_| self.slots > 0)?;
        (rate.allowed(mark, now) == 0).then(|| rate.wait(mark, now, wanted.min(self.slots)))
    }

    /// Counts tasks that start now.
    pub(crate) fn note_started(&self, step: &Step<'_>, queue: i64, started: usize) -> Result<()> {
        if let Some((rate, mark)) = self.rate.filter(|_| started > 0) {
            let mark = rate.mark_after(mark, step.now, started).as_micros();
            step.prepare(sql::SET_RATE_MARK)?.execute((queue, mark)).or_store()?;
        }
        Ok(())
    }
}

fn rate_of(step: &Step<'_>, queue: i64, config: &QueueConfig) -> Result<Option<(RateLimit, Timestamp)>> {
    let Some(rate) = config.rate_limit else { return Ok(None) };
    let mark = step.prepare(sql::RATE_MARK)?.query_row([queue], |row| row.get(0)).or_store()?;
    Ok(Some((rate, Timestamp::from_micros(mark))))
}

/// Enforces the rate at which a queue accepts tasks.
pub(crate) fn note_entered(step: &Step<'_>, queue: i64, count: usize) -> Result<()> {
    let Some(config) = step.catalog().limited.get(&queue) else { return Ok(()) };
    let Some(rate) = config.submit_rate_limit else { return Ok(()) };
    if count > rate.burst() as usize {
        return Err(Error::over_burst(&config.name, count, rate.burst()));
    }
    let mark = step.prepare(sql::INTAKE_MARK)?.query_row([queue], |row| row.get(0)).or_store()?;
    let mark = Timestamp::from_micros(mark);
    if count > rate.allowed(mark, step.now) {
        let retry_after = rate.wait_for_all(mark, step.now, count);
        return Err(Error::RateLimited { queue: config.name.clone(), retry_after });
    }
    let mark = rate.mark_after(mark, step.now, count).as_micros();
    step.prepare(sql::SET_INTAKE_MARK)?.execute((queue, mark)).or_store()?;
    Ok(())
}
