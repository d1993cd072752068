//! Dependencies: the edges between tasks, and the effect of one task's end on those that wait for it.
//!
//! A task that ends, or is removed before its end, is noted in the step ([`note_end`]). Its edges are signalled when
//! the verb has finished, or before it claims ([`signal_all`]): a bounded number; the claims and ticks that follow
//! signal the rest ([`work_off`]). Only `linked` tasks reach this module.

use jobbers_common::{
    dependency::{Dependencies, Dependency, DependencyPolicy, End, EndedPredecessor, consequence},
    engine::{Error, Result, backup::Edges},
    lifecycle::{Move, Status},
    limits::{SIGNALS_A_CHORE, SIGNALS_A_STEP},
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

/// The most ends that one call continues.
const ENDS_A_CHORE: usize = 1_000;

/// A task that is over or gone, whose successors must be signalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    key: i64,
    id: TaskId,
    /// Later edges do not concern it.
    before: i64,
    end: End,
}

/// An edge to signal, in the order in which successors move.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signal {
    since: i64,
    on: TaskId,
    predecessor: i64,
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
    parents::release(step, &found.key.to_string())?;
    step.ledger.ended.push(Ended { key: found.key, id: id.clone(), before, end: End::Over(end) });
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
        step.ledger.ended.push(Ended { key, id, before, end });
    }
    Ok(())
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
    signal(step, SIGNALS_A_STEP)
}

/// Signals the ends that earlier steps left.
pub(super) fn work_off(step: &mut Step<'_>) -> Result<()> {
    let mut ended = Vec::new();
    let mut statement = step.prepare(sql::SIGNALS_DUE)?;
    let mut rows = statement.query([sql::count(ENDS_A_CHORE)]).or_store()?;
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (number, key): (i64, i64) = (columns.take()?, columns.take()?);
        let id = columns.name(TaskId::new)?;
        ended.push((number, Ended { key, id, before: columns.take()?, end: end(columns.take()?)? }));
    }
    drop(rows);
    if ended.is_empty() {
        return Ok(());
    }
    for (number, ended) in ended {
        step.prepare(sql::DELETE_SIGNAL_DUE)?.execute([number]).or_store()?;
        step.ledger.ended.push(ended);
    }
    signal(step, SIGNALS_A_CHORE)
}

/// Signals edges, and those that follow from them, round by round; leaves the rest after `limit` of them.
fn signal(step: &mut Step<'_>, limit: usize) -> Result<()> {
    let mut left = limit;
    while !step.ledger.ended.is_empty() {
        let ended = std::mem::take(&mut step.ledger.ended);
        let mut round = Vec::new();
        for ended in ended {
            let wanted = left - round.len();
            let found = successors(step, &ended, wanted + 1)?;
            if found.len() > wanted {
                let Ended { key, id, before, end } = &ended;
                step.prepare(sql::PUT_SIGNAL_DUE)?.execute((key, id.as_str(), before, end.code())).or_store()?;
            }
            round.extend(found.into_iter().take(wanted));
        }
        left -= round.len();
        round.sort();
        for edge in &round {
            signal_one(step, edge)?;
        }
    }
    Ok(())
}

fn successors(step: &Step<'_>, ended: &Ended, limit: usize) -> Result<Vec<Signal>> {
    let mut statement = step.prepare(sql::SUCCESSORS)?;
    let mut rows = statement.query((ended.key, ended.before, sql::count(limit))).or_store()?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        let mut columns = row::Columns::of(row);
        let (since, successor) = (columns.take()?, columns.take()?);
        let policy = policy(columns.take()?)?;
        let Ended { key, id, end, .. } = ended;
        found.push(Signal { since, on: id.clone(), predecessor: *key, successor, policy, end: *end });
    }
    Ok(found)
}

fn end(code: u8) -> Result<End> {
    End::from_code(code).ok_or_else(|| corrupt("the end of a task", code))
}

fn policy(code: u8) -> Result<DependencyPolicy> {
    DependencyPolicy::from_code(code).ok_or_else(|| corrupt("a dependency's policy", code))
}

fn signal_one(step: &mut Step<'_>, edge: &Signal) -> Result<()> {
    let Signal { since, predecessor, successor, policy, .. } = *edge;
    if step.prepare(sql::DELETE_DEPENDENCY)?.execute((predecessor, since, successor)).or_store()? == 0 {
        // Another edge of this round has ended the successor.
        return Ok(());
    }
    let end = match edge.end {
        End::Over(end) => end,
        End::Deleted { cascade } => return remove_edge(step, successor, cascade),
    };
    let left = step.prepare(sql::COUNT_SIGNAL)?.query_row([successor], |row| row.get(0)).optional().or_store()?;
    match consequence(policy, end, left.unwrap_or(0)) {
        Some(Move::Abort) => {
            leave::abort(step, successor, Some(&EndedPredecessor { id: edge.on.clone(), status: end }))
        }
        Some(_) => leave::release(step, successor),
        None => external::begin_timeouts(step, successor, left.unwrap_or(0)),
    }
}

/// A predecessor of a task was deleted before its end: its edge does not count any more.
fn remove_edge(step: &mut Step<'_>, successor: i64, cascade: bool) -> Result<()> {
    let mut statement = step.prepare(sql::DROP_DEPENDENCY_COUNT)?;
    let left: Option<u32> = statement.query_row([successor], |row| row.get(0)).optional().or_store()?;
    drop(statement);
    match left {
        Some(0) if cascade => leave::delete(step, successor),
        Some(0) => leave::release(step, successor),
        left => external::begin_timeouts(step, successor, left.unwrap_or(0)),
    }
}

/// A new task that waits for others: its key, and its position.
pub(super) type Successor<'a> = (i64, i64, &'a NewTask);

/// A new task that need not wait, by its key, and the predecessor that aborts it, if one does.
pub(super) type AtOnce = (i64, Option<EndedPredecessor>);

/// Stores the edges of new tasks, all of which are stored already. Returns the tasks that need not wait.
pub(super) fn link(step: &Step<'_>, new: &[Successor<'_>]) -> Result<Vec<AtOnce>> {
    let mut at_once = Vec::new();
    for (key, since, task) in new {
        let edges = put_edges(step, *key, *since, &task.depends_on, |on| remembered(step, &task.id, on))?;
        let signals = external::of_new(step, task)?;
        let total = sql::count(task.depends_on.len() + signals.len());
        let received = signals.iter().filter(|signal| signal.state == SignalState::Received).count();
        let signalled = edges.signals + sql::count(received);
        step.prepare(sql::INSERT_DEPENDENT)?.execute((key, total, signalled)).or_store()?;
        external::put(step, *key, &signals)?;
        if !signals.is_empty() {
            external::begin_timeouts(step, *key, 0)?;
        }
        step.prepare(sql::LINK_TASK)?.execute([key]).or_store()?;
        parents::put(step, *key, &task.depends_on)?;
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

/// Stores the edges of a task whose predecessors are not over. `gone` returns the end of one that is not stored.
fn put_edges(
    step: &Step<'_>,
    key: i64,
    since: i64,
    depends_on: &[Dependency],
    gone: impl Fn(&TaskId) -> Result<Status>,
) -> Result<PutEdges> {
    let mut edges = PutEdges { signals: 0, aborted_by: None };
    for Dependency { on, policy } in depends_on {
        let end = match find(step, on)? {
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
    let Dependencies { total, signals, aborted_by, external, .. } = dependencies;
    step.prepare(sql::INSERT_DEPENDENT)?.execute((key, total, signals)).or_store()?;
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
        let gone = |on: &TaskId| {
            let tombstone = tombstones::find(step.conn, on, step.now)?;
            Ok(tombstone.map_or(Status::Cancelled, |tombstone| tombstone.status))
        };
        let edges = put_edges(step, key, since, waits_for, gone)?;
        step.prepare(sql::COUNT_SIGNALS)?.execute((key, edges.signals)).or_store()?;
        if signals > 0 {
            external::begin_timeouts(step, key, 0)?;
        }
        if edges.aborted_by.is_some() || edges.signals == open {
            at_once.push((key, edges.aborted_by));
        }
        linked += 1;
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
        step.ledger.ended.push(Ended { key: predecessor, id, before, end });
    }
    drop(rows);
    if step.ledger.ended.is_empty() {
        return leave::release(step, key);
    }
    signal_all(step)
}
