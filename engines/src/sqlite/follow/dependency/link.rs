//! New and restored tasks find their predecessors.

use jobbers_common::{
    dependency::{Dependencies, Dependency, EndedPredecessor, signal::SignalState},
    engine::{Error, Result, backup::Edges},
    lifecycle::Status,
    limits::DEPENDENCIES_A_STEP,
    name::TaskId,
    task::NewTask,
};
use rusqlite::OptionalExtension;

use super::{edges::put_edges, external, leave, pieces, signals::signal_all};
use crate::sqlite::{
    follow::{parents, tombstones},
    kernel::step::Step,
    sql,
    store::error::OrStore,
};

/// A new task that waits for others: its key and its position; and whether its edges are stored by later steps, in pieces.
pub(crate) type Successor<'a> = ((i64, i64, &'a NewTask), bool);

/// A new task that need not wait, by its key, and the predecessor that aborts it, if one does.
pub(crate) type AtOnce = (i64, Option<EndedPredecessor>);

/// Stores the edges of new tasks, all of which are stored already. Returns the tasks that need not wait.
pub(crate) fn link(step: &Step<'_>, new: &[Successor<'_>]) -> Result<Vec<AtOnce>> {
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

/// Stores how many dependencies a restored task has, its signals, and which predecessor aborted it.
pub(crate) fn restore(step: &Step<'_>, key: i64, dependencies: &Dependencies) -> Result<()> {
    let Dependencies { total, signals, is_spontaneous, aborted_by, external, .. } = dependencies;
    step.prepare(sql::INSERT_DEPENDENT)?.execute((key, total, signals, is_spontaneous)).or_store()?;
    external::put(step, key, external)?;
    if let Some(EndedPredecessor { id, status }) = aborted_by {
        step.prepare(sql::NOTE_ABORTED_BY)?.execute((key, id.as_str(), status.code())).or_store()?;
    }
    Ok(())
}

/// Gives restored tasks the edges they still had, unless they have some or do not wait. Returns how many it linked.
pub(crate) fn link_restored(step: &mut Step<'_>, tasks: &[Edges]) -> Result<u64> {
    let (mut at_once, mut linked) = (Vec::new(), 0);
    for Edges { id, waits_for } in tasks {
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get("key")?, row.get("position")?, row.get::<_, i64>("open")?, row.get::<_, i64>("external")?))
        };
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
pub(crate) fn move_at_once(step: &mut Step<'_>, moves: &[AtOnce]) -> Result<()> {
    signal_all(step)?;
    for (key, aborted_by) in moves {
        match aborted_by {
            Some(cause) => leave::abort(step, *key, Some(cause))?,
            None => leave::release(step, *key)?,
        }
    }
    signal_all(step)
}
