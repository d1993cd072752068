//! Dependencies of tasks that wait for many others, stored a piece at a time: see `crate::pieces`.

use jobbers_common::{
    dependency::Dependency, engine::Result, lifecycle::Status, limits::DEPENDENCIES_A_PIECE, name::TaskId,
};
use rusqlite::OptionalExtension;

use super::{
    edges::{PutEdges, policy, put_edges},
    external, leave,
    signals::signal_all,
};
use crate::sqlite::{
    follow::{parents, tombstones},
    kernel::{find::Found, step::Step},
    sql,
    store::error::{OrStore, corrupt},
};

/// Leaves the dependencies of a task to later steps, in pieces. `holds`: they are to be stored as its predecessors too.
pub(super) fn put(step: &Step<'_>, key: i64, since: i64, depends_on: &[Dependency], holds: bool) -> Result<()> {
    for (number, piece) in depends_on.chunks(DEPENDENCIES_A_PIECE).enumerate() {
        let edges: Vec<(u8, &TaskId)> = piece.iter().map(|edge| (edge.policy.code(), &edge.on)).collect();
        let edges = serde_json::to_string(&edges).map_err(|error| corrupt("edges", error))?;
        let place = holds.then(|| sql::count(number * DEPENDENCIES_A_PIECE));
        step.prepare(sql::PUT_LINK_DUE)?.execute((key, since, place, edges)).or_store()?;
    }
    Ok(())
}

/// Whether pieces are left to store.
pub(super) fn are_left(step: &Step<'_>) -> Result<bool> {
    step.prepare(sql::ANY_LINK_DUE)?.exists([]).or_store()
}

/// Stores the next pieces, up to the edges of a whole one. Returns whether there were any.
pub(crate) fn link_some(step: &mut Step<'_>) -> Result<bool> {
    let mut left = DEPENDENCIES_A_PIECE;
    while left > 0 {
        let Some(count) = link_next(step)? else { return Ok(left < DEPENDENCIES_A_PIECE) };
        left = left.saturating_sub(count.max(1));
    }
    Ok(true)
}

/// Stores the next piece. One whose task waits no longer, or is another by now, is dropped. Returns how many edges it stored.
fn link_next(step: &mut Step<'_>) -> Result<Option<usize>> {
    let read = |row: &rusqlite::Row<'_>| {
        Ok((row.get("number")?, row.get("successor")?, row.get("since")?, row.get("place")?, row.get("edges")?))
    };
    let next = step.prepare(sql::NEXT_LINK_DUE)?.query_row([], read).optional().or_store()?;
    let Some((number, key, since, place, edges)): Option<(i64, i64, i64, Option<i64>, String)> = next else {
        return Ok(None);
    };
    step.prepare(sql::DELETE_LINK_DUE)?.execute([number]).or_store()?;
    if !step.prepare(sql::WAITS_SINCE)?.exists((key, since)).or_store()? {
        return Ok(Some(0));
    }
    let edges: Vec<(u8, TaskId)> =
        serde_json::from_str(&edges).map_err(|error| corrupt("edges that are to be stored", error))?;
    let edge = |(code, on)| Ok(Dependency { on, policy: policy(code)? });
    let edges = edges.into_iter().map(edge).collect::<Result<Vec<_>>>()?;
    link(step, key, since, place, &edges)?;
    Ok(Some(edges.len()))
}

fn link(step: &mut Step<'_>, key: i64, since: i64, place: Option<i64>, edges: &[Dependency]) -> Result<()> {
    // One that was deleted since the submission named it counts as cancelled, as one that is purged does.
    let gone = |on: &TaskId| {
        let tombstone = tombstones::find(step.conn, on, step.now)?;
        Ok(tombstone.map_or(Status::Cancelled, |tombstone| tombstone.status))
    };
    // One that took the place of the task which the submission named does not count as that: it may wait for this one. A
    // restored task has edges that were added later, too.
    let is_another =
        |found: &Found| Ok(place.is_some() && step.prepare(sql::SUBMITTED_AFTER)?.exists((found.key, key)).or_store()?);
    let PutEdges { signals, aborted_by } = put_edges(step, (key, since), edges, gone, is_another)?;
    if let Some(place) = place {
        parents::restore(step, key, place, edges.iter().map(|edge| &edge.on))?;
    }
    step.prepare(sql::COUNT_SIGNALS)?.execute((key, signals)).or_store()?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("total")?, row.get("signals")?));
    let (total, signalled): (i64, i64) = step.prepare(sql::FIND_DEPENDENT)?.query_row([key], read).or_store()?;
    if let Some(cause) = aborted_by {
        leave::abort(step, key, Some(&cause))?;
    } else if signalled == total {
        leave::release(step, key)?;
    } else {
        external::begin_timeouts(step, key, u32::try_from(total - signalled).unwrap_or(u32::MAX))?;
    }
    signal_all(step)
}
