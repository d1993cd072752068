//! Dependencies: the edges between tasks, and the effect of one task's end on those that wait for it.
//!
//! A task that ends, or is removed before its end, is noted in the step ([`note_end`]). When the verb has finished, or
//! before it claims, its edges are signalled and it lets its own predecessors go ([`signal_all`]), a bounded number. The
//! claims and ticks that follow do the rest ([`work_off`]). Only `linked` tasks reach this module.

use std::collections::HashSet;

use jobbers_common::{
    dependency::{Dependencies, Dependency, DependencyPolicy, End, EndedPredecessor, consequence},
    engine::{Error, Result, backup::Edges},
    lifecycle::{Move, Status},
    limits::{DEPENDENCIES_A_STEP, MAX_DEPENDENCIES, SIGNALS_A_STEP},
    name::TaskId,
    signal::SignalState,
    task::NewTask,
};
use rusqlite::OptionalExtension;

use super::{
    error::{OrStore, corrupt},
    find::{Found, find},
    parents,
    removal::{Doomed, json_array},
    row, sql,
    step::Step,
    tombstones,
    view::View,
};

pub(super) mod add;
pub(super) mod external;
mod leave;
pub(super) mod pieces;

/// The most ends that one call continues.
const ENDS_A_CHORE: usize = 400;
/// A task lets so many predecessors go in about the time in which an edge is signalled.
const RELEASES_PER_SIGNAL: usize = 8;
/// So many predecessors are let go in a step that signals as many edges as it may.
const LEAST_RELEASES: usize = 1_000;

/// A task that is over or gone, whose successors must be signalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    key: i64,
    id: TaskId,
    /// Earlier edges do not concern it: they belong to an earlier end, which is still to be signalled.
    from: i64,
    /// Later edges do not concern it. 0 once all its edges are signalled.
    before: i64,
    end: End,
}

impl Ended {
    fn new(step: &Step<'_>, key: i64, id: TaskId, before: i64, end: End) -> Result<Self> {
        let from = step.prepare(sql::SIGNALLED_BEFORE)?.query_row([key], |row| row.get(0)).or_store()?;
        Ok(Self { key, id, from, before, end })
    }
}

/// An edge to signal, in the order in which successors move.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signal<'a> {
    since: i64,
    on: &'a TaskId,
    successor: i64,
    policy: DependencyPolicy,
    end: End,
}

/// Notes the end of a linked task, which has just received this revision.
pub(super) fn note_end(step: &mut Step<'_>, id: &TaskId, found: &Found, before: i64, end: Status) -> Result<()> {
    if found.status == Status::Waiting {
        step.prepare(sql::DELETE_DEPENDENCIES)?.execute([found.key]).or_store()?;
        step.prepare(sql::DROP_SIGNALS)?.execute((found.key, step.now_micros())).or_store()?;
    }
    let ended = Ended::new(step, found.key, id.clone(), before, End::Over(end))?;
    step.ledger.ended.push(ended);
    Ok(())
}

/// Notes tasks that are about to be removed before their end. Their successors see `end`.
pub(super) fn note_withdrawn(step: &mut Step<'_>, doomed: &[Doomed], end: impl Into<End>) -> Result<()> {
    if doomed.iter().all(|task| task.status.is_finished()) {
        return Ok(());
    }
    let (keys, end) = (json_array(doomed.iter().map(|task| task.key)), end.into());
    let mut statement = step.prepare(sql::LINKED_TASKS)?;
    let mut rows = statement.query([keys]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (key, id) = (columns.take()?, columns.name(TaskId::new)?);
        let before = step.next_revision();
        let ended = Ended::new(step, key, id, before, end)?;
        step.ledger.ended.push(ended);
    }
    Ok(())
}

/// How many of these tasks one step ends or removes, from the first on: as many as have together no more dependencies than one
/// task may have, and at least one. Their edges and the lists of their predecessors go in the same step.
pub(super) fn count_in_bounds(step: &Step<'_>, keys: impl Iterator<Item = i64>) -> Result<usize> {
    let mut total = step.prepare(sql::COUNT_DEPENDENCIES)?;
    let (mut count, mut sum) = (0, 0);
    for key in keys {
        let more: Option<i64> = total.query_row([key], |row| row.get(0)).optional().or_store()?;
        sum += more.unwrap_or_default();
        if count > 0 && sum > sql::count(MAX_DEPENDENCIES) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// How many of these tasks one step may delete or cancel, from the first on.
pub(super) fn count_ids_in_bounds(step: &Step<'_>, ids: &[TaskId]) -> Result<usize> {
    if ids.len() == 1 || !step.prepare(sql::ANY_DEPENDENT)?.exists([]).or_store()? {
        return Ok(ids.len());
    }
    let mut keys = Vec::with_capacity(ids.len());
    for id in ids {
        // A key that does not exist has no dependencies.
        keys.push(find(step, id)?.map_or(0, |found| found.key));
    }
    count_in_bounds(step, keys.into_iter())
}

/// Tasks that waited for `from` wait for `to`, which replaces it.
pub(super) fn pass_on(step: &Step<'_>, from: i64, to: i64) -> Result<()> {
    if step.prepare(sql::PASS_SUCCESSORS_ON)?.execute((from, to)).or_store()? > 0 {
        step.prepare(sql::LINK_TASK)?.execute([to]).or_store()?;
    }
    Ok(())
}

/// Signals the ends that were noted, up to the bound of a step.
pub(super) fn signal_all(step: &mut Step<'_>) -> Result<()> {
    if step.ledger.ended.is_empty() {
        return Ok(());
    }
    signal(step)
}

/// Does what earlier steps left. What still remains goes to the end of the list, so that every end gets its turn.
pub(super) fn work_off(step: &mut Step<'_>) -> Result<()> {
    let mut ended = Vec::new();
    let mut statement = step.prepare(sql::SIGNALS_DUE)?;
    let mut rows = statement.query([sql::count(ENDS_A_CHORE)]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (number, key): (i64, i64) = (columns.take()?, columns.take()?);
        let id = columns.name(TaskId::new)?;
        let (before, end) = (columns.take()?, end(columns.take()?)?);
        ended.push((number, Ended { key, id, from: columns.take()?, before, end }));
    }
    drop(rows);
    pieces::link_some(step)?;
    if ended.is_empty() {
        return Ok(());
    }
    for (number, ended) in ended {
        step.prepare(sql::DELETE_SIGNAL_DUE)?.execute([number]).or_store()?;
        step.ledger.ended.push(ended);
    }
    signal(step)
}

/// Does some of what earlier steps left, in a step of its own. Returns whether more is left.
pub(super) fn settle_some(step: &mut Step<'_>) -> Result<bool> {
    work_off(step)?;
    Ok(step.prepare(sql::ANY_SIGNAL_DUE)?.exists([]).or_store()? || pieces::are_left(step)?)
}

/// Signals edges, and those that follow from them, round by round, up to the bound of a step. Then the tasks that ended
/// let predecessors go: the more, the fewer edges were signalled. Leaves the rest to later steps.
fn signal(step: &mut Step<'_>) -> Result<()> {
    let (mut left, mut ended) = (SIGNALS_A_STEP, Vec::new());
    while !step.ledger.ended.is_empty() {
        let mut round = std::mem::take(&mut step.ledger.ended);
        left -= signal_round(step, &mut round, left)?;
        ended.append(&mut round);
    }
    let mut left = (left * RELEASES_PER_SIGNAL).max(LEAST_RELEASES);
    for Ended { key, id, from, before, end } in ended {
        let released = parents::release_some(step, key, left)?;
        left -= released.count;
        if before > 0 || released.has_more {
            step.prepare(sql::PUT_SIGNAL_DUE)?.execute((key, id.as_str(), before, end.code(), from)).or_store()?;
        }
    }
    Ok(())
}

/// Signals up to `limit` edges of tasks that ended. Returns how many.
fn signal_round(step: &mut Step<'_>, ended: &mut [Ended], limit: usize) -> Result<usize> {
    let mut round = Vec::new();
    let mut successors = step.prepare(sql::SUCCESSORS)?;
    let mut delete = step.prepare(sql::DELETE_SIGNALLED)?;
    for Ended { key, id, from, before, end } in ended.iter_mut().filter(|ended| ended.before > 0) {
        let (first, mut has_more) = (round.len(), false);
        let mut rows = successors.query((*key, *before, sql::count(limit - first + 1), *from)).or_store()?;
        while let Some(row) = rows.next().or_store()? {
            has_more = round.len() == limit;
            if has_more {
                break;
            }
            let mut columns = row::Columns::of(row);
            let (since, successor) = (columns.take()?, columns.take()?);
            round.push(Signal { since, on: id, successor, policy: policy(columns.take()?)?, end: *end });
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

fn end(code: u8) -> Result<End> {
    End::from_code(code).ok_or_else(|| corrupt("the end of a task", code))
}

fn policy(code: u8) -> Result<DependencyPolicy> {
    DependencyPolicy::from_code(code).ok_or_else(|| corrupt("a dependency's policy", code))
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

/// Counts dependencies of a task that are signalled, and others whose tasks were deleted. Returns how many are left.
fn count_ends(step: &Step<'_>, task: i64, signals: usize, deleted: usize) -> Result<Option<u32>> {
    let mut count = step.prepare(sql::COUNT_ENDS)?;
    let numbers = (task, sql::count(signals), sql::count(deleted));
    count.query_row(numbers, |row| row.get(0)).optional().or_store()
}

/// A new task that waits for others: its key and its position; and whether its edges are stored by later steps, in pieces.
pub(super) type Successor<'a> = ((i64, i64, &'a NewTask), bool);

/// A new task that need not wait, by its key, and the predecessor that aborts it, if one does.
pub(super) type AtOnce = (i64, Option<EndedPredecessor>);

/// Stores the edges of new tasks, all of which are stored already. Returns the tasks that need not wait.
pub(super) fn link(step: &Step<'_>, new: &[Successor<'_>]) -> Result<Vec<AtOnce>> {
    let mut at_once = Vec::new();
    for ((key, since, task), is_later) in new {
        let inline: &[Dependency] = if *is_later { &[] } else { &task.depends_on };
        let edges = put_edges(step, (*key, *since), inline, |on| remembered(step, &task.id, on), |_| Ok(false))?;
        let signals = external::of_new(step, task)?;
        let total = sql::count(task.depends_on.len() + signals.len());
        let received = signals.iter().filter(|signal| signal.state == SignalState::Received).count();
        let signalled = edges.signals + sql::count(received);
        step.prepare(sql::INSERT_DEPENDENT)?.execute((key, total, signalled, task.is_spontaneous)).or_store()?;
        external::put(step, *key, &signals)?;
        if !signals.is_empty() && !is_later {
            external::begin_timeouts(step, *key, 0)?;
        }
        step.prepare(sql::LINK_TASK)?.execute([key]).or_store()?;
        parents::put(step, *key, inline)?;
        if *is_later {
            pieces::put(step, *key, *since, &task.depends_on, true)?;
        }
        if edges.aborted_by.is_some() || signalled == total {
            at_once.push((*key, edges.aborted_by));
        }
    }
    Ok(at_once)
}

/// What the edges of a task come to.
struct PutEdges {
    /// How many predecessors are over.
    signals: i64,
    /// The first of them that aborts the task.
    aborted_by: Option<EndedPredecessor>,
}

/// Stores the edges of a task, by its key and its position, whose predecessors are not over. `gone` returns the end of one that
/// is not stored; `is_another` whether a stored task took the place of the one that the edge names.
fn put_edges(
    step: &Step<'_>,
    (key, since): (i64, i64),
    depends_on: &[Dependency],
    gone: impl Fn(&TaskId) -> Result<Status>,
    is_another: impl Fn(&Found) -> Result<bool>,
) -> Result<PutEdges> {
    let mut edges = PutEdges { signals: 0, aborted_by: None };
    for Dependency { on, policy } in depends_on {
        let end = match find(step, on)? {
            Some(found) if is_another(&found)? => Status::Aborted,
            Some(found) if !found.status.is_finished() => {
                step.prepare(sql::INSERT_DEPENDENCY)?.execute((found.key, since, key, policy.code())).or_store()?;
                step.prepare(sql::LINK_TASK)?.execute([found.key]).or_store()?;
                continue;
            }
            Some(found) => found.status,
            None => gone(on)?,
        };
        edges.signals += 1;
        if policy.aborts(end) && edges.aborted_by.is_none() {
            edges.aborted_by = Some(EndedPredecessor { id: on.clone(), status: end });
        }
    }
    Ok(edges)
}

/// Stores how many dependencies a restored task has, its signals, and which predecessor aborted it.
pub(super) fn restore(step: &Step<'_>, key: i64, dependencies: &Dependencies) -> Result<()> {
    let Dependencies { total, signals, is_spontaneous, aborted_by, external, .. } = dependencies;
    step.prepare(sql::INSERT_DEPENDENT)?.execute((key, total, signals, is_spontaneous)).or_store()?;
    external::put(step, key, external)?;
    if let Some(EndedPredecessor { id, status }) = aborted_by {
        step.prepare(sql::NOTE_ABORTED_BY)?.execute((key, id.as_str(), status.code())).or_store()?;
    }
    Ok(())
}

/// Gives restored tasks the edges they still had, unless they have some or do not wait. Returns how many it linked.
pub(super) fn link_restored(step: &mut Step<'_>, tasks: &[Edges]) -> Result<u64> {
    let (mut at_once, mut linked) = (Vec::new(), 0);
    for Edges { id, waits_for } in tasks {
        let read =
            |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?));
        let found = step.prepare(sql::FIND_UNLINKED)?.query_row([id.as_str()], read).optional().or_store()?;
        let is_whole = |(_, _, open, external): &(i64, i64, i64, i64)| *open == sql::count(waits_for.len()) + external;
        let Some((key, since, open, signals)) = found.filter(is_whole) else { continue };
        linked += 1;
        if waits_for.len() > DEPENDENCIES_A_STEP {
            pieces::put(step, key, since, waits_for, false)?;
            continue;
        }
        let gone = |on: &TaskId| {
            let tombstone = tombstones::find(step.conn, on, step.now)?;
            Ok(tombstone.map_or(Status::Cancelled, |tombstone| tombstone.status))
        };
        let edges = put_edges(step, (key, since), waits_for, gone, |_| Ok(false))?;
        step.prepare(sql::COUNT_SIGNALS)?.execute((key, edges.signals)).or_store()?;
        if signals > 0 {
            external::begin_timeouts(step, key, 0)?;
        }
        if edges.aborted_by.is_some() || edges.signals == open {
            at_once.push((key, edges.aborted_by));
        }
    }
    move_at_once(step, &at_once)?;
    Ok(linked)
}

/// The end of a predecessor that is no longer stored.
fn remembered(step: &Step<'_>, id: &TaskId, on: &TaskId) -> Result<Status> {
    let tombstone = tombstones::find(step.conn, on, step.now)?;
    let unknown = || Error::UnknownPredecessor { id: id.clone(), predecessor: on.clone() };
    tombstone.map(|tombstone| tombstone.status).ok_or_else(unknown)
}

/// Signals the ends of a batch, and then moves those of its tasks whose predecessors were over.
pub(super) fn move_at_once(step: &mut Step<'_>, moves: &[AtOnce]) -> Result<()> {
    signal_all(step)?;
    for (key, aborted_by) in moves {
        match aborted_by {
            Some(cause) => leave::abort(step, *key, Some(cause))?,
            None => leave::release(step, *key)?,
        }
    }
    signal_all(step)
}

/// Adds the predecessors that a task waits for, at most `limit`, and its signals.
pub(super) fn show(view: &View<'_>, key: i64, dependencies: &mut Dependencies, limit: usize) -> Result<()> {
    let mut statement = view.prepare(sql::WAITS_FOR)?;
    let mut rows = statement.query((key, sql::count(limit))).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (on, policy) = (columns.name(TaskId::new)?, policy(columns.take()?)?);
        dependencies.waits_for.push(Dependency { on, policy });
    }
    drop(rows);
    external::show(view, key, dependencies)
}

/// A flaw in the dependencies of a waiting task, and whether it can be repaired.
pub(super) fn find_flaw(view: &View<'_>, key: i64) -> Result<Option<(String, bool)>> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let (total, signals, edges, lost): (i64, i64, i64, i64) =
        view.prepare(sql::AUDIT_WAITING)?.query_row([key], read).or_store()?;
    Ok(if edges == 0 && signals == total {
        Some((format!("it waits, and all of its {total} dependencies are signalled"), true))
    } else if edges != total - signals {
        Some((format!("it waits for {} tasks and signals, and {edges} are there", total - signals), false))
    } else if lost > 0 {
        let mut ended = view.prepare(sql::ENDED_PREDECESSORS)?;
        Some((format!("it waits for {lost} tasks that are over or gone"), ended.exists([key]).or_store()?))
    } else {
        None
    })
}

/// Moves a waiting task by the ends of its finished predecessors.
pub(super) fn mend(step: &mut Step<'_>, key: i64) -> Result<()> {
    let mut statement = step.prepare(sql::ENDED_PREDECESSORS)?;
    let mut rows = statement.query([key]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (predecessor, id) = (columns.take()?, columns.name(TaskId::new)?);
        let (before, end) = (step.ledger.revision + 1, End::Over(row::status(columns.take()?)?));
        step.ledger.ended.push(Ended { key: predecessor, id, from: 0, before, end });
    }
    drop(rows);
    if step.ledger.ended.is_empty() {
        return leave::release(step, key);
    }
    signal_all(step)
}
