//! Finished tasks of several queues and endings, merged into one sequence by revision.
//!
//! The index has one run per queue and ending, so that lists and prunings of one of them skip no others. Each run is in
//! order; here they are merged.

use jobbers_common::{engine::Result, lifecycle::Status};

use super::{removal::Doomed, row, view::View};
use crate::sqlite::{sql, store::error::OrStore};

/// A finished task: its place in the sequence, and its queue and ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) revision: i64,
    pub(crate) key: i64,
    pub(crate) queue: i64,
    pub(crate) status: Status,
}

impl Finished {
    /// To be deleted.
    pub(crate) const fn doomed(&self) -> Doomed {
        Doomed { key: self.key, queue: self.queue, status: self.status }
    }
}

/// The direction of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkDirection {
    /// From the latest, below this revision.
    Latest(i64),
    /// From the oldest, above this revision.
    Oldest(i64),
}

/// The first `limit` tasks of one queue or of all, of these endings.
pub(crate) fn first(
    view: &View<'_>,
    queue: Option<i64>,
    wanted: impl Fn(Status) -> bool,
    from: WalkDirection,
    limit: usize,
) -> Result<Vec<Finished>> {
    let runs = match queue {
        Some(queue) => runs(view, queue, wanted)?,
        None => first_runs(view, wanted, from, limit)?,
    };
    merge(view, &runs, from, limit)
}

/// The runs that begin first. Each holds at least one task, so the first `limit` tasks are all in these runs.
fn first_runs(
    view: &View<'_>,
    wanted: impl Fn(Status) -> bool,
    from: WalkDirection,
    limit: usize,
) -> Result<Vec<(i64, Status)>> {
    let (sql, bound) = match from {
        WalkDirection::Latest(below) => (sql::LATEST_RUNS, below),
        WalkDirection::Oldest(above) => (sql::OLDEST_RUNS, above),
    };
    let statuses = Status::ALL.into_iter().filter(|status| wanted(*status));
    let statuses: i64 = statuses.map(|status| 1 << status.code()).sum();
    let mut statement = view.prepare(sql)?;
    let mut rows = statement.query((statuses, bound, sql::count(limit))).or_store()?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        runs.push((row.get("queue").or_store()?, row::status(row.get("status").or_store()?)?));
    }
    Ok(runs)
}

/// The first `limit` tasks of the given runs.
pub(crate) fn merge(
    view: &View<'_>,
    runs: &[(i64, Status)],
    from: WalkDirection,
    limit: usize,
) -> Result<Vec<Finished>> {
    let (sql, bound) = match from {
        WalkDirection::Latest(below) => (sql::FINISHED_LATEST, below),
        WalkDirection::Oldest(above) => (sql::FINISHED_OLDEST, above),
    };
    let mut heads = Vec::new();
    for run in runs {
        heads.extend(read(view, sql, *run, bound, 1)?);
    }
    sort(&mut heads, from);
    let mut found: Vec<Finished> = Vec::new();
    // Run by run, the one that begins first, until the next run begins after everything wanted.
    for head in heads {
        if found.get(limit.wrapping_sub(1)).is_some_and(|last| !is_before(&head, last, from)) {
            break;
        }
        found.extend(read(view, sql, (head.queue, head.status), bound, limit)?);
        sort(&mut found, from);
        found.truncate(limit);
    }
    Ok(found)
}

fn read(view: &View<'_>, sql: &str, run: (i64, Status), bound: i64, limit: usize) -> Result<Vec<Finished>> {
    let (queue, status) = run;
    let mut statement = view.prepare(sql)?;
    let rows = statement
        .query_map((queue, status.code(), bound, sql::count(limit)), |row| {
            Ok(Finished { revision: row.get("revision")?, key: row.get("key")?, queue, status })
        })
        .or_store()?;
    rows.collect::<rusqlite::Result<_>>().or_store()
}

fn is_before(one: &Finished, other: &Finished, from: WalkDirection) -> bool {
    match from {
        WalkDirection::Latest(_) => one.revision > other.revision,
        WalkDirection::Oldest(_) => one.revision < other.revision,
    }
}

fn sort(tasks: &mut [Finished], from: WalkDirection) {
    tasks.sort_unstable_by_key(|task| match from {
        WalkDirection::Latest(_) => -task.revision,
        WalkDirection::Oldest(_) => task.revision,
    });
}

/// The runs of a queue that hold tasks, of these endings.
pub(crate) fn runs(view: &View<'_>, queue: i64, wanted: impl Fn(Status) -> bool) -> Result<Vec<(i64, Status)>> {
    let tallies = view.tallies(Some(queue))?.into_iter();
    Ok(tallies
        .filter(|(_, status, _)| status.is_finished() && wanted(*status))
        .map(|(queue, status, _)| (queue, status))
        .collect())
}
