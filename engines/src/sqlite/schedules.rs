//! Schedules: compare-and-set on a revision, and the step that fires.

use jobbers_common::{
    engine::{
        DueSchedules, Error, Fire, Fired, IfBusy, Launch, Previous, PutRun, PutSchedule, Result, StoredSchedule, Submit,
    },
    limits::MAX_SCHEDULES,
    name::{ScheduleName, TaskId},
    schedule::entry::ScheduleEntry,
    time::Timestamp,
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    kernel::{row, step::Step, view::View},
    sql,
    store::error::OrStore,
    verbs::{lease, submit},
    workflows,
};

/// Creates or replaces a schedule; `text` is the entry as it is stored.
pub(super) fn put(step: &mut Step<'_>, entry: &ScheduleEntry, text: &str, put: PutSchedule) -> Result<u64> {
    let name = &entry.schedule.name;
    match (put, revision_of(step, name)?) {
        (PutSchedule::Create, Some(_)) => return Err(Error::Exists(format!("schedule {name}"))),
        (PutSchedule::Create, None) => check_room(step)?,
        (PutSchedule::Replace(_), None) => return Err(Error::UnknownSchedule(name.clone())),
        (PutSchedule::Replace(expected), Some(revision)) if expected != revision => {
            return Err(Error::Changed(format!("schedule {name}")));
        }
        (PutSchedule::Replace(_), Some(_)) => {}
    }
    store(step, entry, text)
}

fn check_room(step: &Step<'_>) -> Result<()> {
    let held: i64 = step.prepare(sql::COUNT_SCHEDULES)?.query_row([], |row| row.get(0)).or_store()?;
    if held < sql::count(MAX_SCHEDULES) {
        return Ok(());
    }
    Err(Error::Invalid(format!("a store holds at most {MAX_SCHEDULES} schedules")))
}

fn store(step: &mut Step<'_>, entry: &ScheduleEntry, text: &str) -> Result<u64> {
    let revision = step.next_revision();
    let next_at = entry.next_at.map(Timestamp::as_micros);
    let name = entry.schedule.name.as_str();
    step.prepare(sql::PUT_SCHEDULE)?.execute((name, revision, next_at, text)).or_store()?;
    Ok(revision.unsigned_abs())
}

fn revision_of(step: &Step<'_>, name: &ScheduleName) -> Result<Option<u64>> {
    let mut statement = step.prepare(sql::SCHEDULE_REVISION)?;
    let found: Option<i64> = statement.query_row([name.as_str()], |row| row.get(0)).optional().or_store()?;
    Ok(found.map(i64::unsigned_abs))
}

/// A schedule.
pub(super) fn find(conn: &Connection, name: &ScheduleName) -> Result<Option<StoredSchedule>> {
    let mut statement = conn.prepare_cached(sql::FIND_SCHEDULE).or_store()?;
    let found = statement
        .query_row([name.as_str()], |row| Ok((row.get("entry")?, row.get("revision")?)))
        .optional()
        .or_store()?;
    found.map(|(text, revision): (String, i64)| read(&text, revision)).transpose()
}

fn read(text: &str, revision: i64) -> Result<StoredSchedule> {
    Ok(StoredSchedule { entry: ScheduleEntry::decode(text)?, revision: revision.unsigned_abs() })
}

/// Schedules in the order of their names.
pub(super) fn list(view: &View<'_>, after: Option<&ScheduleName>, limit: usize) -> Result<Vec<StoredSchedule>> {
    let mut statement = view.conn.prepare_cached(sql::LIST_SCHEDULES).or_store()?;
    let after = after.map_or("", ScheduleName::as_str);
    let mut rows = statement.query((after, sql::count(limit))).or_store()?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        found.push(read(&row.get::<_, String>("entry").or_store()?, row.get("revision").or_store()?)?);
    }
    Ok(found)
}

/// Deletes a schedule.
pub(super) fn delete(step: &Step<'_>, name: &ScheduleName, expected: Option<u64>) -> Result<()> {
    let revision = revision_of(step, name)?.ok_or_else(|| Error::UnknownSchedule(name.clone()))?;
    if expected.is_some_and(|expected| expected != revision) {
        return Err(Error::Changed(format!("schedule {name}")));
    }
    step.prepare(sql::DELETE_SCHEDULE)?.execute([name.as_str()]).or_store()?;
    Ok(())
}

/// The schedules that are due, and when the next one is.
pub(super) fn due(view: &View<'_>, limit: usize) -> Result<DueSchedules> {
    let mut statement = view.conn.prepare_cached(sql::DUE_SCHEDULES).or_store()?;
    let mut rows = statement.query([sql::count(limit + 1)]).or_store()?;
    let mut found = DueSchedules { now: view.now, due: Vec::new(), next_at: None };
    while let Some(row) = rows.next().or_store()? {
        let at = Timestamp::from_micros(row.get("next_at").or_store()?);
        if at > view.now || found.due.len() == limit {
            found.next_at = Some(at);
            break;
        }
        found.due.push(read(&row.get::<_, String>("entry").or_store()?, row.get("revision").or_store()?)?);
    }
    Ok(found)
}

/// A step of a schedule, with all it stores as it is stored.
pub(super) struct PreparedStep {
    fire: Fire,
    text: String,
    held: Option<String>,
    /// The task that it submits.
    batch: Option<Submit>,
    /// The run of a workflow that it creates.
    run: Option<workflows::PreparedRun>,
    /// The latest run, if it is one of a workflow, as it becomes if the step cancels it.
    cancelled: Option<workflows::PreparedRun>,
}

impl PreparedStep {
    /// Checks a step and encodes what it stores.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub(super) fn of(fire: Fire) -> Result<Self> {
        fire.validate()?;
        let held = match &fire.if_busy {
            IfBusy::Hold(entry) => Some(entry.encode()?),
            IfBusy::Start | IfBusy::Cancel => None,
        };
        let run = match &fire.launch {
            Some(Launch::Workflow(run, definition)) => {
                Some(workflows::PreparedRun::of((**run).clone(), PutRun::Create(definition.clone()))?)
            }
            Some(Launch::Task(_)) | None => None,
        };
        let cancelled = match &fire.previous {
            Some(Previous::Workflow { cancelled, revision }) => {
                Some(workflows::PreparedRun::of((**cancelled).clone(), PutRun::Replace(*revision))?)
            }
            Some(Previous::Task(_)) | None => None,
        };
        Ok(Self { text: fire.entry.encode()?, held, batch: fire.batch(), run, cancelled, fire })
    }

    /// About how many bytes it adds.
    pub(super) fn growth(&self) -> u64 {
        let batch = self.batch.as_ref().map_or(0, submit::growth);
        self.text.len() as u64 + batch + self.run.as_ref().map_or(0, workflows::PreparedRun::growth)
    }
}

/// Carries out a step if the schedule has the expected revision.
pub(super) fn fire(step: &mut Step<'_>, prepared: &PreparedStep) -> Result<Fired> {
    let PreparedStep { fire, text, held, batch, run, cancelled } = prepared;
    if revision_of(step, fire.name())? != Some(fire.revision) {
        return Ok(Fired::Changed);
    }
    let is_busy = match &fire.previous {
        None => false,
        Some(Previous::Task(id)) => is_live(step, id)?,
        Some(Previous::Workflow { cancelled, revision }) => {
            if workflows::revision_of(step, &cancelled.id)? != Some(*revision) {
                return Ok(Fired::Changed);
            }
            true
        }
    };
    if let (true, IfBusy::Hold(entry), Some(held)) = (is_busy, &fire.if_busy, held) {
        return Ok(Fired::Held { revision: store(step, entry, held)? });
    }
    let submitted = match batch {
        Some(batch) => submit::submit(step, batch)?.pop(),
        None => None,
    };
    if let Some(run) = run {
        workflows::put(step, run)?;
    }
    if is_busy && fire.if_busy == IfBusy::Cancel {
        if let Some(Previous::Task(previous)) = &fire.previous {
            lease::cancel(step, std::slice::from_ref(previous))?;
        }
        if let Some(cancelled) = cancelled {
            workflows::put(step, cancelled)?;
        }
    }
    Ok(Fired::Done { revision: store(step, &fire.entry, text)?, submitted })
}

/// Whether a task is stored and not over.
fn is_live(step: &Step<'_>, id: &TaskId) -> Result<bool> {
    let mut statement = step.prepare(sql::FIND_SUBMISSION)?;
    let code: Option<u8> = statement.query_row([id.as_str()], |row| row.get("status")).optional().or_store()?;
    Ok(code.map(row::status).transpose()?.is_some_and(|status| !status.is_finished()))
}
