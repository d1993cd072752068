//! Edges between stored tasks. Why no two calls together close a circle is in `jobbers_common::engine::dependencies`.

use std::collections::HashMap;

use jobbers_common::{
    engine::{
        Result,
        dependencies::{AddRefusal, CircleSearch, NewDependency, find_circle},
    },
    lifecycle::{Move, Status},
    limits::{MAX_DEPENDENCIES, MAX_EDGES_CHECKED},
    name::TaskId,
};
use rusqlite::OptionalExtension;

use super::{edges::policy, pieces};
use crate::sqlite::{
    follow::{parents, tombstones, unique},
    kernel::{
        find::{Found, find},
        step::Step,
    },
    sql,
    store::error::{OrStore, corrupt},
};

/// About how many bytes an edge adds.
const EDGE_BYTES: u64 = 100;

/// About how many bytes a call adds.
pub(crate) const fn growth(edges: usize) -> u64 {
    EDGE_BYTES * edges as u64
}

/// The tasks that a call names.
type NamedTasks<'a> = HashMap<&'a TaskId, Option<Found>>;

/// An edge that is not stored yet, by the keys of its tasks.
struct NewEdge<'a> {
    edge: &'a NewDependency,
    run: i64,
    after: i64,
}

/// Adds edges between stored tasks; returns for each whether it is new. `None`: edges of earlier calls had to be stored first, as
/// a circle may lead through them; this stored some.
pub(crate) fn add(step: &mut Step<'_>, edges: &[NewDependency]) -> Result<Option<Vec<bool>>> {
    if pieces::are_left(step)? {
        pieces::link_some(step)?;
        return Ok(None);
    }
    let mut named = NamedTasks::new();
    for id in edges.iter().flat_map(|edge| [&edge.run, &edge.after]) {
        if !named.contains_key(id) {
            named.insert(id, find(step, id)?);
        }
    }
    let (mut answers, mut new) = (Vec::with_capacity(edges.len()), Vec::new());
    for edge in edges {
        let found = check(step, edge, &named)?;
        answers.push(found.is_some());
        new.extend(found);
    }
    let totals = new.iter().map(|edge| count_with(step, edge, &new, &named)).collect::<Result<Vec<i64>>>()?;
    check_circle(step, &new)?;
    for NewEdge { edge, .. } in &new {
        if let Some(found) = named.remove(&edge.run).flatten().filter(|found| found.status != Status::Waiting) {
            wait(step, &found)?;
        }
    }
    let since = step.next_revision();
    for (NewEdge { edge, run, after }, total) in new.into_iter().zip(totals) {
        step.prepare(sql::INSERT_DEPENDENCY)?.execute((after, since, run, edge.policy.code())).or_store()?;
        step.prepare(sql::SET_DEPENDENCIES)?.execute((run, total)).or_store()?;
        step.prepare(sql::LINK_TASK)?.execute([after]).or_store()?;
        parents::add(step, run, &edge.after)?;
    }
    Ok(Some(answers))
}

/// Checks an edge by itself; `None` if it is stored already.
fn check<'a>(step: &Step<'_>, edge: &'a NewDependency, named: &NamedTasks<'_>) -> Result<Option<NewEdge<'a>>> {
    let of = |id| named.get(id).and_then(Option::as_ref);
    let (run, after) = (of(&edge.run), of(&edge.after));
    let ended = match after {
        Some(found) => Some(found.status),
        None => tombstones::find(step.conn, &edge.after, step.now)?.map(|tombstone| tombstone.status),
    };
    let is_unique = run.map(|found| unique::of_task(step, found.key)).transpose()?.flatten().is_some();
    edge.check_states(run.map(|found| (found.status, is_unique)), ended)?;
    let (Some(run), Some(after)) = (run, after) else { return Err(corrupt("a tombstone", &edge.after)) };
    let mut stored = step.prepare(sql::DEPENDENCY_POLICY)?;
    let known: Option<u8> = stored.query_row((run.key, after.key), |row| row.get(0)).optional().or_store()?;
    match known {
        Some(code) => edge.check_stored(policy(code)?).map(|()| None),
        None => Ok(Some(NewEdge { edge, run: run.key, after: after.key })),
    }
}

/// How many dependencies a task has with the new ones. Those that it did not wait for any more do not count.
fn count_with(step: &Step<'_>, edge: &NewEdge<'_>, new: &[NewEdge<'_>], named: &NamedTasks<'_>) -> Result<i64> {
    let waits = named[&edge.edge.run].as_ref().is_some_and(|found| found.status == Status::Waiting);
    let read = |row: &rusqlite::Row<'_>| Ok((row.get("total")?, row.get("signals")?));
    let known = step.prepare(sql::FIND_DEPENDENT)?.query_row([edge.run], read).optional().or_store()?;
    let before = known.map_or(0, |(total, signals): (i64, i64)| if waits { total } else { signals });
    let total = before + sql::count(new.iter().filter(|other| other.run == edge.run).count());
    if total > sql::count(MAX_DEPENDENCIES) {
        return Err(edge.edge.refused(AddRefusal::TooMany));
    }
    Ok(total)
}

/// Refuses a circle: follows the successors of the tasks that are to wait, else the predecessors of the others.
fn check_circle(step: &Step<'_>, new: &[NewEdge<'_>]) -> Result<()> {
    let Some(first) = new.first() else { return Ok(()) };
    let (mut out, mut back) = (HashMap::<i64, Vec<i64>>::new(), HashMap::<i64, Vec<i64>>::new());
    for NewEdge { run, after, .. } in new {
        out.entry(*after).or_default().push(*run);
        back.entry(*run).or_default().push(*after);
    }
    match search(step, new.iter().map(|edge| edge.run), sql::NEXT_SUCCESSORS, &out)? {
        CircleSearch::Clear => return Ok(()),
        CircleSearch::Circle(way) => return Err(first.edge.refused(AddRefusal::Circle(names(step, way)?))),
        CircleSearch::TooMany => {}
    }
    match search(step, new.iter().map(|edge| edge.after), sql::NEXT_PREDECESSORS, &back)? {
        CircleSearch::Clear => Ok(()),
        CircleSearch::Circle(mut way) => {
            way.reverse();
            Err(first.edge.refused(AddRefusal::Circle(names(step, way)?)))
        }
        CircleSearch::TooMany => Err(first.edge.refused(AddRefusal::TooManyToCheck)),
    }
}

fn search(
    step: &Step<'_>,
    starts: impl Iterator<Item = i64>,
    statement: &'static str,
    new: &HashMap<i64, Vec<i64>>,
) -> Result<CircleSearch<i64>> {
    let mut statement = step.prepare(statement)?;
    let next = |key: &i64, most: usize| {
        let rows = statement.query_map((*key, sql::count(most + 1)), |row| row.get(0)).or_store()?;
        let mut found = rows.collect::<rusqlite::Result<Vec<i64>>>().or_store()?;
        found.extend(new.get(key).into_iter().flatten());
        Ok(found)
    };
    find_circle(starts, MAX_EDGES_CHECKED, next)
}

fn names(step: &Step<'_>, keys: Vec<i64>) -> Result<Vec<TaskId>> {
    let mut statement = step.prepare(sql::TASK_ID)?;
    let mut name = |key: i64| {
        let id: String = statement.query_row([key], |row| row.get(0)).or_store()?;
        TaskId::new(id).map_err(|error| corrupt("a task's id", error))
    };
    keys.into_iter().map(&mut name).collect()
}

/// Moves a task that is scheduled or submitted to those that wait.
fn wait(step: &mut Step<'_>, found: &Found) -> Result<()> {
    let revision = step.next_revision();
    step.prepare(sql::WAIT_FOR_OTHERS)?.execute((found.key, revision)).or_store()?;
    step.note_moved(found.key, found.queue, found.status, Move::Depend, Status::Waiting)
}
