//! Signals the ends of tasks to their successors, which may end then as well.

use std::collections::HashSet;

use jobbers_common::{
    dependency::{DependencyPolicy, End, EndedPredecessor, consequence},
    engine::Result,
    lifecycle::Move,
    limits::SIGNALS_A_STEP,
    name::TaskId,
};

use super::{edges::policy, ends::count_ends, external, leave};
use crate::sqlite::{
    follow::parents,
    kernel::{ledger::EndedTask, row, step::Step},
    sql,
    store::error::OrStore,
};

/// A task lets so many predecessors go in about the time in which an edge is signalled.
const RELEASES_PER_SIGNAL: usize = 8;
/// So many predecessors are let go in a step that signals as many edges as it may.
const LEAST_RELEASES: usize = 1_000;

/// An edge to signal, in the order in which successors move.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signal<'a> {
    since: i64,
    on: &'a TaskId,
    successor: i64,
    policy: DependencyPolicy,
    end: End,
}

/// Signals the ends that were noted, up to the bound of a step.
pub(crate) fn signal_all(step: &mut Step<'_>) -> Result<()> {
    if step.ledger.ended.is_empty() {
        return Ok(());
    }
    signal(step)
}

/// Signals edges, and those that follow from them, round by round, up to the bound of a step. Then the tasks that ended
/// let predecessors go: the more, the fewer edges were signalled. Leaves the rest to later steps.
pub(super) fn signal(step: &mut Step<'_>) -> Result<()> {
    let (mut left, mut ended) = (SIGNALS_A_STEP, Vec::new());
    while !step.ledger.ended.is_empty() {
        let mut round = std::mem::take(&mut step.ledger.ended);
        left -= signal_round(step, &mut round, left)?;
        ended.append(&mut round);
    }
    let mut left = (left * RELEASES_PER_SIGNAL).max(LEAST_RELEASES);
    for EndedTask { key, id, from, before, end } in ended {
        let released = parents::release_some(step, key, left)?;
        left -= released.count;
        if before > 0 || released.has_more {
            step.prepare(sql::PUT_SIGNAL_DUE)?.execute((key, id.as_str(), before, end.code(), from)).or_store()?;
        }
    }
    Ok(())
}

/// Signals up to `limit` edges of tasks that ended. Returns how many.
fn signal_round(step: &mut Step<'_>, ended: &mut [EndedTask], limit: usize) -> Result<usize> {
    let mut round = Vec::new();
    let mut successors = step.prepare(sql::SUCCESSORS)?;
    let mut delete = step.prepare(sql::DELETE_SIGNALLED)?;
    for EndedTask { key, id, from, before, end } in ended.iter_mut().filter(|ended| ended.before > 0) {
        let (first, mut has_more) = (round.len(), false);
        let mut rows = successors.query((*key, *before, sql::count(limit - first + 1), *from)).or_store()?;
        while let Some(row) = rows.next().or_store()? {
            has_more = round.len() == limit;
            if has_more {
                break;
            }
            let mut columns = row::Columns::of(row);
            let (since, successor) = (columns.take("since")?, columns.take("successor")?);
            round.push(Signal { since, on: id, successor, policy: policy(columns.take("policy")?)?, end: *end });
        }
        drop(rows);
        if let Some(Signal { since, successor, .. }) = round[first..].last() {
            delete.execute((*key, since, successor, *from)).or_store()?;
        }
        if !has_more {
            *before = 0;
        }
    }
    drop((successors, delete));
    round.sort();
    signal_edges(step, &round)?;
    Ok(round.len())
}

/// Signals edges, which are deleted already. Those of a successor that are next to each other are counted together.
fn signal_edges(step: &mut Step<'_>, round: &[Signal<'_>]) -> Result<()> {
    let (mut gone, mut waiting) = (HashSet::new(), Vec::new());
    for edges in round.chunk_by(|one, other| one.successor == other.successor) {
        // Those after the one that aborts the task do not count.
        let aborts = |edge: &Signal<'_>| matches!(edge.end, End::Over(end) if edge.policy.aborts(end));
        let counted = edges.iter().position(aborts).map_or(edges, |place| &edges[..=place]);
        let Some(&Signal { on, successor, policy, end, .. }) = counted.last() else { continue };
        if gone.contains(&successor) {
            continue;
        }
        let signals = counted.iter().filter(|edge| matches!(edge.end, End::Over(_))).count();
        let left = count_ends(step, successor, signals, counted.len() - signals)?;
        match (end, left) {
            (End::Deleted { cascade: true }, Some(0)) => {
                leave::delete(step, successor)?;
                gone.insert(successor);
            }
            (End::Deleted { cascade: false }, Some(0)) => leave::release(step, successor)?,
            (End::Deleted { .. }, left) => waiting.push((successor, left)),
            (End::Over(end), left) => match consequence(policy, end, left.unwrap_or(0)) {
                Some(Move::Abort) => {
                    leave::abort(step, successor, Some(&EndedPredecessor { id: on.clone(), status: end }))?;
                    gone.insert(successor);
                }
                Some(_) => leave::release(step, successor)?,
                None => waiting.push((successor, left)),
            },
        }
    }
    // Not earlier: another edge of the round may end the task.
    for (successor, left) in waiting {
        external::begin_timeouts(step, successor, left.unwrap_or(0))?;
    }
    Ok(())
}
