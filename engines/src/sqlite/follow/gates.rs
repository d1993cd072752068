//! Limits by key and by task, in the claim.
//!
//! A claim from a queue with such limits first clears the front: it sets aside the tasks there whose gate is shut, so
//! that every task it then leases may start, and no later claim walks past them again. A gate that may let tasks pass
//! has an entry in `gate_due`: now, after one of its tasks has ended, or at the time its rate allows the next. A claim
//! lets as many return as may start, and checks the gates of each again. So an unneeded entry costs one check. An entry
//! is removed only by a claim that finds the gate shut until a task ends, or finds no task behind it. A queue without
//! such limits costs one lookup in an empty map.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::Result,
    lifecycle::Status,
    queue::{
        QueueConfig,
        gate::{Gate, GateLimits, ShutGate},
    },
    time::Timestamp,
};
use rusqlite::{Connection, OptionalExtension};

use self::{
    fields::GateFields,
    state::{GateState, RunningByName, Shut},
};
use super::{
    expiry::{self, is_late},
    unknown::{self, RefusedKinds},
};
use crate::sqlite::{
    kernel::{ledger::Notification, step::Step, view::View},
    sql,
    store::error::OrStore,
};

pub(crate) mod fields;
mod state;

/// For how many tasks one claim checks gates, and how many it lets return.
const MAX_ASKED: usize = 1_000;
/// The same for a claim that refuses kinds, at first, beyond the tasks it wants: other workers may take them before it comes
/// again. Then twice as many as are set aside.
const FEW_ASKED: usize = 100;

/// How many due gates one claim checks, and how many because limits have changed.
const MAX_GATES: usize = 100;

const OF_TASK: [usize; 3] = GateFields::columns_of(sql::GATES_OF_TASK);
const OF_NEXT: [usize; 3] = GateFields::columns_of(sql::NEXT_GATED);
const EXPIRY_OF_NEXT: [usize; 3] = expiry::columns_of(sql::NEXT_GATED);

fn exists(conn: &Connection, sql: &str, parameters: impl rusqlite::Params) -> Result<bool> {
    conn.prepare_cached(sql).or_store()?.query_row(parameters, |row| row.get(0)).or_store()
}

fn set_due(step: &Step<'_>, queue: i64, gate: &str, due: Timestamp) -> Result<()> {
    step.prepare(sql::SET_GATE_DUE)?.execute((queue, gate, due.as_micros())).or_store()?;
    Ok(())
}

fn forget_due(step: &Step<'_>, queue: i64, gate: &str) -> Result<()> {
    step.prepare(sql::FORGET_GATE_DUE)?.execute((queue, gate)).or_store()?;
    Ok(())
}

/// A running task is about to stop: its gates may let another one pass.
pub(crate) fn note_ended(step: &mut Step<'_>, key: i64, queue: i64, status: Status) -> Result<()> {
    if status != Status::Started {
        return Ok(());
    }
    let Some(config) = step.catalog().gated.get(&queue).cloned() else { return Ok(()) };
    let mut statement = step.prepare(sql::GATES_OF_TASK)?;
    let fields = statement.query_row([key], |row| GateFields::read(row, OF_TASK)).or_store()?;
    for (gate, _) in fields.gates(&config) {
        let code = gate.code();
        if exists(step.conn, sql::IS_AWAITED, (queue, &code))? {
            set_due(step, queue, &code, step.now)?;
            step.ledger.notifications.push(Notification::Ready(queue));
        }
    }
    Ok(())
}

/// The limits of a queue change, so claims check its gates again, a bounded number each. Returns whether it has gates.
pub(crate) fn recheck(step: &Step<'_>, queue: i64) -> Result<bool> {
    let is_any_aside = exists(step.conn, sql::IS_ANY_ASIDE, [queue])?;
    if is_any_aside {
        step.prepare(sql::SET_GATE_SWEEP)?.execute((queue, "")).or_store()?;
    }
    Ok(is_any_aside)
}

/// When to repeat an empty claim for the gates of a queue: at once if it was cut short. `refuses`: the claim refuses
/// kinds of tasks.
pub(crate) fn next_due(step: &Step<'_>, queue: i64, refuses: bool) -> Result<Option<Duration>> {
    let has_limits = step.catalog().gated.contains_key(&queue);
    if !has_limits && !refuses {
        return Ok(None);
    }
    let sweeps = has_limits && step.prepare(sql::GATE_SWEEP)?.exists([queue]).or_store()?;
    if sweeps || exists(step.conn, sql::IS_ANY_READY, [queue])? {
        return Ok(Some(Duration::ZERO));
    }
    if !has_limits {
        return Ok(None);
    }
    let mut next = step.prepare(sql::NEXT_GATE_DUE)?;
    for _ in 0..MAX_GATES {
        let found: Option<(String, i64)> =
            next.query_row([queue], |row| Ok((row.get("gate")?, row.get("due")?))).optional().or_store()?;
        let Some((gate, due)) = found else { return Ok(None) };
        if exists(step.conn, sql::IS_AWAITED, (queue, &gate))? {
            return Ok(Some(Timestamp::from_micros(due).since(step.now)));
        }
        forget_due(step, queue, &gate)?;
    }
    Ok(Some(Duration::ZERO))
}

/// Wakes workers for due gates, because the worker that knew of the time may be busy by now.
pub(crate) fn wake_for_due(step: &mut Step<'_>) -> Result<()> {
    let queues: Vec<i64> = step.catalog().gated.keys().copied().collect();
    for queue in queues {
        let mut due = step.prepare(sql::DUE_GATES)?;
        if due.exists((queue, step.now_micros(), 1)).or_store()? {
            step.ledger.notifications.push(Notification::Ready(queue));
        }
    }
    Ok(())
}

/// The gates that hold a task back.
pub(crate) fn shut_gates(
    view: &View<'_>,
    queue: i64,
    config: &QueueConfig,
    fields: &GateFields,
) -> Result<Vec<ShutGate>> {
    let mut running = RunningByName::default();
    let mut shut = Vec::new();
    for (gate, limits) in fields.gates(config) {
        let state = GateState::read(view.conn, queue, &gate, limits, &mut running)?;
        if state.shut(view.now).is_some() {
            shut.push(state.describe(view.conn, queue, gate, view.now)?);
        }
    }
    Ok(shut)
}

/// Some of the gates with tasks of a queue behind them, after the given one; each with whether it is open although no
/// claim would look at it.
pub(crate) fn page_of_gates(view: &View<'_>, queue: i64, after: &str, limit: usize) -> Result<Vec<(String, bool)>> {
    let config = view.catalog.gated.get(&queue);
    let is_swept = config.is_some() && view.prepare(sql::GATE_SWEEP)?.exists([queue]).or_store()?;
    let (mut next, mut is_due) = (view.prepare(sql::NEXT_GATE)?, view.prepare(sql::IS_GATE_DUE)?);
    let (mut after, mut running, mut looked_at) = (after.to_owned(), RunningByName::default(), Vec::new());
    while looked_at.len() < limit {
        let found = next.query_row((queue, &after), |row| row.get::<_, String>(0)).optional().or_store()?;
        let Some(code) = found else { break };
        let limits = Gate::parse(&code).and_then(|gate| Some((config?.limits_of(&gate)?, gate)));
        let shut = match limits {
            Some((limits, gate)) => GateState::read(view.conn, queue, &gate, limits, &mut running)?.shut(view.now),
            None => None,
        };
        let is_awaited = matches!(shut, Some(Shut::Full)) || is_swept;
        let is_forgotten = !is_awaited && !is_due.exists((queue, &code)).or_store()?;
        looked_at.push((code.clone(), is_forgotten));
        after = code;
    }
    Ok(looked_at)
}

/// The gates of a queue, in one claim.
pub(crate) struct Gates {
    queue: i64,
    /// `None` for a queue without limits by key or by task.
    config: Option<Arc<QueueConfig>>,
    refused: RefusedKinds,
    running: RunningByName,
    known: HashMap<Gate, GateState>,
    /// For how many tasks gates may still be checked.
    left: usize,
    /// How many tasks may still return.
    may_pass: usize,
    /// Whether a rate now holds back tasks that it did not before, so that a worker must return at that time.
    sets_time: bool,
}

impl Gates {
    /// For a claim that wants so many tasks; `None` for a queue without such limits if it refuses nothing.
    pub(crate) fn of(step: &Step<'_>, queue: i64, refused: RefusedKinds, wanted: usize) -> Result<Option<Self>> {
        let config = step.catalog().gated.get(&queue).cloned();
        if config.is_some() {
            step.prepare(sql::FORGET_GATE_MARKS)?.execute((queue, step.now_micros())).or_store()?;
        } else if refused.is_empty() {
            return Ok(None);
        }
        let left = if refused.is_empty() { MAX_ASKED } else { wanted + unknown::may_refuse(step, queue, FEW_ASKED)? };
        Ok(Some(Self {
            queue,
            config,
            refused,
            running: RunningByName::default(),
            known: HashMap::new(),
            left: left.min(MAX_ASKED),
            may_pass: MAX_ASKED,
            sets_time: false,
        }))
    }

    /// Lets tasks return whose gates may let them pass: after a change of limits, an end, or by a rate.
    pub(crate) fn let_back(&mut self, step: &Step<'_>, wanted: usize) -> Result<()> {
        let Some(config) = self.config.clone() else { return Ok(()) };
        self.sweep(step)?;
        self.let_due_pass(step, &config, wanted)
    }

    /// Whether a suspect is of a kind that the claim refuses. It waits where it is: suspects are set aside already.
    pub(crate) fn refuses(&mut self, fields: &GateFields) -> bool {
        self.refused.leaves(fields).is_some()
    }

    /// Sets aside tasks that may not start, and has `drop_expired` drop those that have expired, until `wanted` tasks at the queue's front
    /// may start, or none are left. Returns how many may start, and counts them as started. It also stops at a dropped
    /// task in whose place one that is set aside may return.
    pub(crate) fn make_way(
        &mut self,
        step: &mut Step<'_>,
        wanted: usize,
        mut drop_expired: impl FnMut(&mut Step<'_>, i64) -> Result<()>,
    ) -> Result<usize> {
        if wanted == 0 || self.left == 0 {
            return Ok(0);
        }
        self.let_back(step, wanted)?;
        let mut open = 0;
        while open < wanted && self.left > 0 {
            let front = self.front(step, open, (wanted - open).max(64).min(self.left))?;
            if front.is_empty() {
                break;
            }
            for (key, fields, is_late) in front {
                if open == wanted {
                    break;
                }
                self.left -= 1;
                if !is_late {
                    open += usize::from(self.ask(step, key, &fields)?);
                } else if self.opens(step, key, &fields)? {
                    drop_expired(step, key)?;
                    if exists(step.conn, sql::IS_ANY_ASIDE, [self.queue])? {
                        return Ok(open);
                    }
                }
            }
        }
        Ok(open)
    }

    /// The tasks at the queue's front after the first `past` of them; of each, whether it has expired.
    fn front(&self, step: &Step<'_>, past: usize, limit: usize) -> Result<Vec<(i64, GateFields, bool)>> {
        let mut statement = step.prepare(sql::NEXT_GATED)?;
        let mut rows = statement.query((self.queue, sql::count(limit), sql::count(past))).or_store()?;
        let mut front = Vec::new();
        while let Some(row) = rows.next().or_store()? {
            let (key, fields) = (row.get("key").or_store()?, GateFields::read(row, OF_NEXT).or_store()?);
            front.push((key, fields, is_late(row, EXPIRY_OF_NEXT, step.now)?));
        }
        Ok(front)
    }

    /// Whether a task may start; if so, counts it. One that may not is set aside.
    pub(crate) fn ask(&mut self, step: &Step<'_>, key: i64, fields: &GateFields) -> Result<bool> {
        if !self.opens(step, key, fields)? {
            return Ok(false);
        }
        let gates = self.config.as_ref().map_or_else(Vec::new, |config| fields.gates(config));
        for (gate, _) in &gates {
            if let Some(state) = self.known.get_mut(gate) {
                state.pass(step.now);
            }
        }
        Ok(true)
    }

    /// Whether the gates of a task are open. A task before a shut one is set aside.
    fn opens(&mut self, step: &Step<'_>, key: i64, fields: &GateFields) -> Result<bool> {
        if let Some(gate) = self.refused.leaves(fields) {
            step.prepare(sql::SET_ASIDE)?.execute((key, gate)).or_store()?;
            return Ok(false);
        }
        let gates = self.config.as_ref().map_or_else(Vec::new, |config| fields.gates(config));
        for (gate, limits) in &gates {
            if let Some(shut) = self.state(step, gate, *limits)?.shut(step.now) {
                let code = gate.code();
                step.prepare(sql::SET_ASIDE)?.execute((key, &code)).or_store()?;
                self.note_shut(step, &code, shut)?;
                self.sets_time |= matches!(shut, Shut::Until(_));
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn state(&mut self, step: &Step<'_>, gate: &Gate, limits: GateLimits) -> Result<&mut GateState> {
        if !self.known.contains_key(gate) {
            let state = GateState::read(step.conn, self.queue, gate, limits, &mut self.running)?;
            self.known.insert(gate.clone(), state);
        }
        Ok(self.known.entry(gate.clone()).or_insert_with(|| GateState::open(limits)))
    }

    /// A gate shut by its rate is due when the rate allows the next; one without free slots, when a task ends.
    fn note_shut(&self, step: &Step<'_>, code: &str, shut: Shut) -> Result<()> {
        match shut {
            Shut::Full => forget_due(step, self.queue, code),
            Shut::Until(due) => set_due(step, self.queue, code, due),
        }
    }

    /// After a change of limits: gates with waiting tasks are due now.
    fn sweep(&self, step: &Step<'_>) -> Result<()> {
        let after = step.prepare(sql::GATE_SWEEP)?.query_row([self.queue], |row| row.get(0)).optional().or_store()?;
        let Some(mut after): Option<String> = after else { return Ok(()) };
        let mut next = step.prepare(sql::NEXT_GATE)?;
        for _ in 0..MAX_GATES {
            let found = next.query_row((self.queue, &after), |row| row.get::<_, String>(0)).optional().or_store()?;
            let Some(gate) = found else {
                step.prepare(sql::END_GATE_SWEEP)?.execute([self.queue]).or_store()?;
                return Ok(());
            };
            set_due(step, self.queue, &gate, step.now)?;
            after = gate;
        }
        step.prepare(sql::SET_GATE_SWEEP)?.execute((self.queue, &after)).or_store()?;
        Ok(())
    }

    /// Lets as many tasks of each due gate return as may start.
    fn let_due_pass(&mut self, step: &Step<'_>, config: &QueueConfig, wanted: usize) -> Result<()> {
        let mut statement = step.prepare(sql::DUE_GATES)?;
        let rows = statement
            .query_map((self.queue, step.now_micros(), sql::count(MAX_GATES)), |row| row.get::<_, String>(0))
            .or_store()?;
        let due: Vec<String> = rows.collect::<rusqlite::Result<_>>().or_store()?;
        for code in due {
            let limits = Gate::parse(&code).and_then(|gate| Some((config.limits_of(&gate)?, gate)));
            let mut room = wanted.min(self.may_pass);
            if let Some((limits, gate)) = limits {
                let state = self.state(step, &gate, limits)?;
                if let Some(shut) = state.shut(step.now) {
                    self.note_shut(step, &code, shut)?;
                    continue;
                }
                room = room.min(state.room(step.now));
            }
            let passed = step.prepare(sql::LET_PASS)?.execute((self.queue, &code, sql::count(room))).or_store()?;
            self.may_pass -= passed;
            if passed < room {
                forget_due(step, self.queue, &code)?;
            }
        }
        Ok(())
    }

    /// Writes the rate marks after the started tasks. The worker that claimed will be busy, so another one must know
    /// when a rate allows the next. Wakes workers that take what the claim refused.
    pub(crate) fn note_started(self, step: &mut Step<'_>, started: usize) -> Result<()> {
        if self.sets_time && started > 0 {
            step.ledger.notifications.push(Notification::Ready(self.queue));
        }
        for (gate, state) in self.known.iter().filter(|(_, state)| state.is_marked()) {
            let mark = state.mark().as_micros();
            step.prepare(sql::SET_GATE_MARK)?.execute((self.queue, gate.code(), mark)).or_store()?;
        }
        self.refused.note(step, self.queue);
        Ok(())
    }
}
