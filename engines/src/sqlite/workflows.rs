//! Runs of workflows: compare-and-set on a revision; and where their tasks stand.

use jobbers_common::{
    engine::{
        DueRuns, Error, PutRun, Result, RunCounts, RunQuery, StoredRun, TaskTimes,
        workflows::{decode_run, encode_run, validate_definition},
    },
    lifecycle::Status,
    limits::MAX_RUNS,
    name::{TaskId, WorkflowId},
    time::Timestamp,
    workflow::{Run, run_of},
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    kernel::{row, step::Step, view::View},
    sql,
    store::error::OrStore,
};

/// A run as it is to be stored.
pub(super) struct PreparedRun {
    run: Run,
    text: String,
    put: PutRun,
}

impl PreparedRun {
    /// Checks a run and writes it out.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn of(run: Run, put: PutRun) -> Result<Self> {
        if let PutRun::Create(definition) = &put {
            validate_definition(definition)?;
        }
        Ok(Self { text: encode_run(&run)?, run, put })
    }

    /// About how many bytes it adds.
    pub(super) fn growth(&self) -> u64 {
        let definition = match &self.put {
            PutRun::Create(definition) => definition.len(),
            PutRun::Replace(_) => 0,
        };
        (self.text.len() + definition) as u64
    }
}

/// Creates or replaces a run.
pub(super) fn put(step: &mut Step<'_>, prepared: &PreparedRun) -> Result<u64> {
    let PreparedRun { run, text, put } = prepared;
    let id = run.id.as_str();
    match (put, revision_of(step, &run.id)?) {
        (PutRun::Create(_), Some(_)) => return Err(Error::Exists(format!("workflow {id}"))),
        (PutRun::Create(definition), None) => {
            check_room(step)?;
            step.prepare(sql::PUT_WORKFLOW_DEFINITION)?.execute((id, definition)).or_store()?;
        }
        (PutRun::Replace(_), None) => return Err(Error::UnknownWorkflow(run.id.clone())),
        (PutRun::Replace(expected), Some(revision)) if *expected != revision => {
            return Err(Error::Changed(format!("workflow {id}")));
        }
        (PutRun::Replace(_), Some(_)) => {}
    }
    let revision = step.next_revision();
    let (created_at, next_at) = (run.created_at.as_micros(), run.next_at.map(Timestamp::as_micros));
    let mut statement = step.prepare(sql::PUT_WORKFLOW)?;
    statement.execute((id, revision, run.state.code(), created_at, next_at, text)).or_store()?;
    Ok(revision.unsigned_abs())
}

fn check_room(step: &Step<'_>) -> Result<()> {
    if count(step.conn)?.iter().sum::<u64>() < MAX_RUNS as u64 {
        return Ok(());
    }
    Err(Error::Invalid(format!("a store holds at most {MAX_RUNS} workflows")))
}

/// The revision of a run.
pub(super) fn revision_of(step: &Step<'_>, id: &WorkflowId) -> Result<Option<u64>> {
    let mut statement = step.prepare(sql::WORKFLOW_REVISION)?;
    let found: Option<i64> = statement.query_row([id.as_str()], |row| row.get(0)).optional().or_store()?;
    Ok(found.map(i64::unsigned_abs))
}

fn read(text: &str, revision: i64) -> Result<StoredRun> {
    Ok(StoredRun { run: decode_run(text)?, revision: revision.unsigned_abs() })
}

/// A run.
pub(super) fn find(conn: &Connection, id: &WorkflowId) -> Result<Option<StoredRun>> {
    let mut statement = conn.prepare_cached(sql::FIND_WORKFLOW).or_store()?;
    let found =
        statement.query_row([id.as_str()], |row| Ok((row.get("run")?, row.get("revision")?))).optional().or_store()?;
    found.map(|(text, revision): (String, i64)| read(&text, revision)).transpose()
}

/// The definition of a run.
pub(super) fn definition(conn: &Connection, id: &WorkflowId) -> Result<Option<String>> {
    let mut statement = conn.prepare_cached(sql::FIND_WORKFLOW_DEFINITION).or_store()?;
    statement.query_row([id.as_str()], |row| row.get(0)).optional().or_store()
}

/// Runs by the time of their creation.
pub(super) fn list(conn: &Connection, query: &RunQuery) -> Result<Vec<StoredRun>> {
    let statement = match (query.state, query.oldest_first) {
        (None, false) => sql::LIST_WORKFLOWS,
        (None, true) => sql::LIST_WORKFLOWS_OLDEST,
        (Some(_), false) => sql::LIST_WORKFLOWS_IN,
        (Some(_), true) => sql::LIST_WORKFLOWS_OLDEST_IN,
    };
    let mut statement = conn.prepare_cached(statement).or_store()?;
    let from = if query.oldest_first { i64::MIN } else { i64::MAX };
    let (created_at, id) = query.after.as_ref().map_or((from, ""), |(at, id)| (at.as_micros(), id.as_str()));
    let limit = sql::count(query.limit);
    let mut rows = match query.state {
        None => statement.query((created_at, id, limit)).or_store()?,
        Some(state) => statement.query((created_at, id, limit, state.code())).or_store()?,
    };
    let mut found = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        found.push(read(&row.get::<_, String>("run").or_store()?, row.get("revision").or_store()?)?);
    }
    Ok(found)
}

/// Deletes a run with its definition.
pub(super) fn delete(step: &Step<'_>, id: &WorkflowId, expected: u64) -> Result<()> {
    let revision = revision_of(step, id)?.ok_or_else(|| Error::UnknownWorkflow(id.clone()))?;
    if expected != revision {
        return Err(Error::Changed(format!("workflow {id}")));
    }
    step.prepare(sql::DELETE_WORKFLOW)?.execute([id.as_str()]).or_store()?;
    step.prepare(sql::DELETE_WORKFLOW_DEFINITION)?.execute([id.as_str()]).or_store()?;
    Ok(())
}

/// A task was sent again, or has replaced one of its id: if it is one of a run, the run is due under another revision.
pub(super) fn touch(step: &mut Step<'_>, task: &TaskId) -> Result<()> {
    let Some((run, _)) = run_of(task) else { return Ok(()) };
    let revision = step.next_revision();
    step.prepare(sql::TOUCH_WORKFLOW)?.execute((run.as_str(), revision, step.now_micros())).or_store()?;
    Ok(())
}

/// The runs that are due, and when the next one is.
pub(super) fn due(view: &View<'_>, limit: usize) -> Result<DueRuns> {
    let mut statement = view.conn.prepare_cached(sql::DUE_WORKFLOWS).or_store()?;
    let mut rows = statement.query([sql::count(limit + 1)]).or_store()?;
    let mut found = DueRuns { now: view.now, due: Vec::new(), next_at: None };
    while let Some(row) = rows.next().or_store()? {
        let at = Timestamp::from_micros(row.get("next_at").or_store()?);
        if at > view.now || found.due.len() == limit {
            found.next_at = Some(at);
            break;
        }
        found.due.push(read(&row.get::<_, String>("run").or_store()?, row.get("revision").or_store()?)?);
    }
    Ok(found)
}

/// How many runs there are by state.
pub(super) fn count(conn: &Connection) -> Result<RunCounts> {
    let mut statement = conn.prepare_cached(sql::COUNT_WORKFLOWS).or_store()?;
    let mut rows = statement.query([]).or_store()?;
    let mut counts = RunCounts::default();
    while let Some(row) = rows.next().or_store()? {
        let state: u8 = row.get("state").or_store()?;
        if let Some(count) = counts.get_mut(usize::from(state)) {
            *count = row.get::<_, i64>("runs").or_store()?.unsigned_abs();
        }
    }
    Ok(counts)
}

/// Where tasks stand.
pub(super) fn statuses(view: &View<'_>, ids: &[TaskId]) -> Result<Vec<Option<Status>>> {
    let mut statement = view.conn.prepare_cached(sql::TASK_STATUS).or_store()?;
    let mut status = |id: &TaskId| {
        let found = statement.query_row((id.as_str(), view.now.as_micros()), |row| row.get(0));
        found.optional().or_store()?.map(row::status).transpose()
    };
    ids.iter().map(&mut status).collect()
}

/// When tasks last started and when they were over.
pub(super) fn times(view: &View<'_>, ids: &[TaskId]) -> Result<Vec<TaskTimes>> {
    let mut statement = view.conn.prepare_cached(sql::TASK_TIMES).or_store()?;
    let mut times = |id: &TaskId| {
        let found = statement.query_row((id.as_str(), view.now.as_micros()), |row| {
            let time = |name| row.get::<_, Option<i64>>(name).map(|at| at.map(Timestamp::from_micros));
            Ok(TaskTimes { started_at: time("started_at")?, finished_at: time("completed_at")? })
        });
        found.optional().or_store().map(Option::unwrap_or_default)
    };
    ids.iter().map(&mut times).collect()
}
