//! Tasks of kinds that some workers of their queue do not know, in the claim.
//!
//! A claim that refuses kinds sets their ready tasks aside, behind a gate of the kind (`?`, name, `@`, version), so
//! that no later claim that refuses the kind walks past them. A claim that does not refuse it lets as many return to
//! their places as it may claim, and claims in order. A queue without such tasks, and a claim that refuses nothing,
//! cost no more than the search for suspects, which every claim makes.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{ClaimRequest, Result},
    name::QueueName,
    worker::task_kind::TaskKind,
};
use rusqlite::{Connection, OptionalExtension};

use super::gates::fields::GateFields;
use crate::sqlite::{
    kernel::{ledger::Notification, step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// Sorts before all gates of kinds, and after the gate of suspects.
const BEFORE_KINDS: &str = "?";
pub(crate) const SUSPECTS: &str = "!";

/// How many gates of kinds one claim checks, in addition to those it refuses.
const MAX_GATES: usize = 100;

/// How many tasks that are set aside one claim counts.
const MAX_COUNTED: usize = 500;

/// The kinds of tasks that a claim refuses from a queue.
#[derive(Debug, Default)]
pub(crate) struct RefusedKinds {
    kinds: Vec<(TaskKind, String)>,
    /// How many tasks of each kind were left to other workers, by gate.
    left: BTreeMap<String, usize>,
}

impl RefusedKinds {
    pub(crate) fn of(claim: &ClaimRequest, queue: &QueueName) -> Self {
        let kinds = claim.refused_in(queue).map(|kind| (kind.clone(), kind.gate_code())).collect();
        Self { kinds, left: BTreeMap::new() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The gates of these kinds.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &String> {
        self.kinds.iter().map(|(_, gate)| gate)
    }

    /// The gate behind which a ready task must wait for other workers, if it is refused; then it is counted.
    pub(crate) fn leaves(&mut self, fields: &GateFields) -> Option<&str> {
        let (_, gate) = self.kinds.iter().find(|(kind, _)| fields.is_of(kind))?;
        *self.left.entry(gate.clone()).or_default() += 1;
        Some(gate)
    }

    /// Notifies the workers that take them.
    pub(crate) fn note(self, step: &mut Step<'_>, queue: i64) {
        let notifications = self.left.into_iter().map(|(gate, tasks)| Notification::SetAside(queue, gate, tasks));
        step.ledger.notifications.extend(notifications);
    }
}

fn next_gate(conn: &Connection, queue: i64, after: &str) -> Result<Option<String>> {
    let mut statement = conn.prepare_cached(sql::NEXT_UNLIMITED_GATE).or_store()?;
    statement.query_row((queue, after), |row| row.get(0)).optional().or_store()
}

/// The first gate of a queue that is not a limit's and has waiting tasks. Every claim reads it.
pub(crate) fn first_gate(step: &Step<'_>, queue: i64) -> Result<Option<String>> {
    next_gate(step.conn, queue, "")
}

/// How many more tasks a claim that refuses kinds may set aside: twice as many as are, and no fewer than `few`.
pub(crate) fn may_refuse(step: &Step<'_>, queue: i64, few: usize) -> Result<usize> {
    let mut count = step.prepare(sql::COUNT_ASIDE)?;
    let aside: i64 = count.query_row((queue, sql::count(MAX_COUNTED)), |row| row.get(0)).or_store()?;
    Ok(few.max(2 * usize::try_from(aside).unwrap_or(MAX_COUNTED)))
}

/// Lets tasks return to their places, the first `limit` of each kind that the claim does not refuse.
pub(crate) fn let_return(step: &Step<'_>, queue: i64, refused: &RefusedKinds, limit: usize) -> Result<()> {
    let mut after = BEFORE_KINDS.to_owned();
    for _ in 0..MAX_GATES + refused.kinds.len() {
        let Some(gate) = next_gate(step.conn, queue, &after)? else { break };
        if !refused.gates().any(|it| *it == gate) {
            step.prepare(sql::LET_PASS)?.execute((queue, &gate, sql::count(limit))).or_store()?;
        }
        after = gate;
    }
    Ok(())
}

/// Whether a queue has ready tasks that are not set aside for workers that know their kind.
pub(crate) fn is_any_for_all(view: &View<'_>, queue: i64) -> Result<bool> {
    let is_any_ready = view.prepare(sql::IS_ANY_READY)?.query_row([queue], |row| row.get(0)).or_store()?;
    let has_suspects = next_gate(view.conn, queue, "")?.is_some_and(|gate| gate == SUSPECTS);
    Ok(is_any_ready || has_suspects || view.prepare(sql::NEXT_GATE)?.exists((queue, "")).or_store()?)
}

/// The gates of kinds behind which tasks of a queue wait, the first of them.
pub(crate) fn gates(view: &View<'_>, queue: i64) -> Result<Vec<String>> {
    let (mut gates, mut after) = (Vec::new(), BEFORE_KINDS.to_owned());
    while gates.len() < MAX_GATES {
        let Some(gate) = next_gate(view.conn, queue, &after)? else { break };
        gates.push(gate.clone());
        after = gate;
    }
    Ok(gates)
}
