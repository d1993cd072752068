//! The state of one gate: how many of its tasks run, and what its rate allows.

use std::collections::HashMap;

use jobbers_common::{
    engine::Result,
    name::TaskId,
    queue::gate::{Gate, GateLimits, MAX_HOLDERS_NAMED, ShutGate},
    time::Timestamp,
};
use rusqlite::{Connection, OptionalExtension};

use crate::sqlite::{
    sql,
    store::error::{OrStore, corrupt},
};

/// Read once for all gates of a queue: how many tasks of each name run.
#[derive(Debug, Default)]
pub(super) struct RunningByName(Option<HashMap<String, u64>>);

impl RunningByName {
    fn running(&mut self, conn: &Connection, queue: i64, gate: &Gate) -> Result<u64> {
        let name = match gate {
            Gate::Key(key) => {
                let mut statement = conn.prepare_cached(sql::LEASED_OF_KEY).or_store()?;
                let count = statement.query_row((queue, key.as_str()), |row| row.get::<_, i64>(0));
                return count.or_store().map(i64::unsigned_abs);
            }
            Gate::Task(name) => name,
        };
        if self.0.is_none() {
            let mut statement = conn.prepare_cached(sql::LEASED_OF_NAMES).or_store()?;
            let rows =
                statement.query_map([queue], |row| Ok((row.get("name")?, row.get::<_, i64>("leased")?.unsigned_abs())));
            self.0 = Some(rows.or_store()?.collect::<rusqlite::Result<_>>().or_store()?);
        }
        Ok(self.0.as_ref().and_then(|names| names.get(name.as_str())).copied().unwrap_or(0))
    }
}

/// Why a gate is shut.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shut {
    /// Its slots are taken.
    Full,
    /// Its rate allows the next task at this time.
    Until(Timestamp),
}

/// One gate.
#[derive(Debug)]
pub(super) struct GateState {
    limits: GateLimits,
    running: u64,
    mark: Timestamp,
    is_marked: bool,
}

impl GateState {
    pub(super) fn open(limits: GateLimits) -> Self {
        Self { limits, running: 0, mark: Timestamp::default(), is_marked: false }
    }

    pub(super) fn read(
        conn: &Connection,
        queue: i64,
        gate: &Gate,
        limits: GateLimits,
        running: &mut RunningByName,
    ) -> Result<Self> {
        let mut state = Self::open(limits);
        if limits.max_concurrent.is_some() {
            state.running = running.running(conn, queue, gate)?;
        }
        if limits.rate_limit.is_some() {
            let mut statement = conn.prepare_cached(sql::GATE_MARK).or_store()?;
            let mark = statement.query_row((queue, gate.code()), |row| row.get(0)).optional().or_store()?;
            state.mark = Timestamp::from_micros(mark.unwrap_or_default());
        }
        Ok(state)
    }

    /// How many tasks may start now.
    pub(super) fn room(&self, now: Timestamp) -> usize {
        let slots = self.limits.max_concurrent.map_or(u64::MAX, |most| u64::from(most).saturating_sub(self.running));
        let allowed = self.limits.rate_limit.map_or(usize::MAX, |rate| rate.allowed(self.mark, now));
        allowed.min(usize::try_from(slots).unwrap_or(usize::MAX))
    }

    /// Why no task may start.
    pub(super) fn shut(&self, now: Timestamp) -> Option<Shut> {
        if self.limits.max_concurrent.is_some_and(|most| self.running >= u64::from(most)) {
            return Some(Shut::Full);
        }
        let rate = self.limits.rate_limit.filter(|rate| rate.allowed(self.mark, now) == 0)?;
        Some(Shut::Until(now.after(rate.next_wait(self.mark, now))))
    }

    /// Counts a task that starts now.
    pub(super) fn pass(&mut self, now: Timestamp) {
        self.running += 1;
        if let Some(rate) = self.limits.rate_limit {
            self.mark = rate.mark_after(self.mark, now, 1);
            self.is_marked = true;
        }
    }

    /// Whether its rate mark differs from the stored one.
    pub(super) const fn is_marked(&self) -> bool {
        self.is_marked
    }

    /// The mark of its rate.
    pub(super) const fn mark(&self) -> Timestamp {
        self.mark
    }

    /// The description of a shut gate.
    pub(super) fn describe(&self, conn: &Connection, queue: i64, gate: Gate, now: Timestamp) -> Result<ShutGate> {
        let holders = match self.shut(now) {
            Some(Shut::Full) => holders(conn, queue, &gate)?,
            _ => Vec::new(),
        };
        let rate = self.limits.rate_limit.filter(|rate| rate.allowed(self.mark, now) == 0);
        let rate_wait = rate.map(|rate| rate.next_wait(self.mark, now));
        Ok(ShutGate { gate, running: self.running, holders, rate_wait })
    }
}

fn holders(conn: &Connection, queue: i64, gate: &Gate) -> Result<Vec<TaskId>> {
    let (sql, word) = match gate {
        Gate::Key(key) => (sql::HOLDERS_OF_KEY, key.as_str()),
        Gate::Task(name) => (sql::HOLDERS_OF_NAME, name.as_str()),
    };
    let mut statement = conn.prepare_cached(sql).or_store()?;
    let rows = statement.query_map((queue, word, sql::count(MAX_HOLDERS_NAMED)), |row| row.get::<_, String>(0));
    let ids = rows.or_store()?.map(|id| TaskId::new(id.or_store()?).map_err(|error| corrupt("a task's id", error)));
    ids.collect()
}
