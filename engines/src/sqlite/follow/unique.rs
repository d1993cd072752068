//! Unique keys: who holds one, and what a submission does when another task holds its key.

use jobbers_common::{
    engine::{Error, Result, backup::TakenKey},
    lifecycle::Status,
    name::{TaskId, TaskName},
    task::{
        NewTask,
        unique::{OnDuplicate, Unique},
    },
    time::Timestamp,
};
use rusqlite::OptionalExtension;

use crate::sqlite::{
    kernel::{row, step::Step},
    sql,
    store::error::{OrStore, corrupt},
};

/// The task that took a key last.
pub(crate) struct Taker {
    pub(crate) key: i64,
    pub(crate) id: TaskId,
    pub(crate) queue: i64,
    pub(crate) status: Status,
    /// Until when it holds the key, if the key has a span.
    pub(crate) until: Option<i64>,
    /// Whether it holds the key now, by its status and the time.
    holds: bool,
    /// The latest submission that it became.
    last_word: Option<(String, [u8; 16])>,
}

/// What a submission meets.
pub(crate) enum Met {
    /// No holder in conflict: it is accepted.
    Free,
    /// This task is its answer.
    Answer(Taker),
    /// This task must be cancelled.
    Replace(Taker),
    /// This task becomes the submission.
    Update(Taker),
}

/// What a submission must do about its unique key.
pub(crate) fn meet(step: &Step<'_>, new: &NewTask, unique: &Unique) -> Result<Met> {
    let Some(taker) = find(step, &new.name, unique)? else { return Ok(Met::Free) };
    let is_last_word =
        |(id, fingerprint): &(String, _)| *id == new.id.as_str() && *fingerprint == new.fingerprint().to_be_bytes();
    if taker.last_word.as_ref().is_some_and(is_last_word) {
        return Ok(Met::Answer(taker));
    }
    if !taker.holds || taker.id == new.id {
        return Ok(Met::Free);
    }
    match (unique.on_duplicate, taker.status) {
        (OnDuplicate::Return, _) => Ok(Met::Answer(taker)),
        (OnDuplicate::Replace | OnDuplicate::KeepLast, status) if status.is_finished() => Ok(Met::Free),
        (OnDuplicate::Reject, status) | (_, status @ Status::Started) => {
            Err(Error::Duplicate { id: new.id.clone(), key: unique.key.clone(), holder: taker.id, status })
        }
        (OnDuplicate::Replace, _) => Ok(Met::Replace(taker)),
        (OnDuplicate::KeepLast, _) => Ok(Met::Update(taker)),
    }
}

fn find(step: &Step<'_>, name: &TaskName, unique: &Unique) -> Result<Option<Taker>> {
    let mut statement = step.prepare(sql::FIND_KEY)?;
    let mut rows = statement.query((name.as_str(), unique.key.as_str())).or_store()?;
    let Some(row) = rows.next().or_store()? else { return Ok(None) };
    let mut columns = row::Columns::of(row);
    let (key, id, queue) = (columns.take("key")?, columns.name("id", TaskId::new)?, columns.take("queue")?);
    let (status, said) = (row::status(columns.take("status")?)?, row::uniqueness(&columns.take::<String>("said")?)?);
    let until: Option<i64> = columns.take("until")?;
    let last_word = columns.take::<Option<String>>("last_id")?.zip(columns.take("last_fingerprint")?);
    let holds = said.statuses.contains(status) && until.is_none_or(|until| until > step.now_micros());
    Ok(Some(Taker { key, id, queue, status, until, holds, last_word }))
}

/// The other task that holds a key.
pub(crate) fn held_by_another(
    step: &Step<'_>,
    id: &TaskId,
    name: &TaskName,
    unique: &Unique,
) -> Result<Option<TaskId>> {
    Ok(find(step, name, unique)?.filter(|taker| taker.holds && taker.id != *id).map(|taker| taker.id))
}

/// The uniqueness constraint of a stored task.
pub(crate) fn of_task(step: &Step<'_>, key: i64) -> Result<Option<(TaskName, Unique)>> {
    let found: Option<(String, String)> = step
        .prepare(sql::FIND_UNIQUENESS)?
        .query_row([key], |row| Ok((row.get("name")?, row.get("said")?)))
        .optional()
        .or_store()?;
    let Some((name, said)) = found else { return Ok(None) };
    Ok(Some((TaskName::new(name).map_err(|error| corrupt("a name", error))?, row::uniqueness(&said)?)))
}

/// Stores the uniqueness constraint of a new task.
pub(crate) fn keep(step: &Step<'_>, key: i64, unique: &Unique) -> Result<()> {
    let said = serde_json::to_string(unique).map_err(|error| Error::Invalid(error.to_string()))?;
    step.prepare(sql::INSERT_UNIQUENESS)?.execute((key, said)).or_store()?;
    Ok(())
}

/// Gives a task its key, for its whole span from now.
pub(crate) fn take(step: &Step<'_>, key: i64, name: &TaskName, unique: &Unique) -> Result<()> {
    let until = unique.span.map(|span| step.now.after(span)).map(Timestamp::as_micros);
    let none: (Option<&str>, Option<&[u8]>) = (None, None);
    step.prepare(sql::TAKE_KEY)?
        .execute((name.as_str(), unique.key.as_str(), key, until, none.0, none.1))
        .or_store()?;
    Ok(())
}

/// Gives a restored task its key, for as long as it held it.
pub(crate) fn restore(step: &Step<'_>, key: i64, name: &TaskName, unique: &Unique, taken: &TakenKey) -> Result<()> {
    let until = taken.until.map(Timestamp::as_micros);
    let (id, fingerprint) = match &taken.became {
        Some(became) => (Some(became.id.as_str()), Some(became.fingerprint.to_be_bytes())),
        None => (None, None),
    };
    let fingerprint = fingerprint.as_ref().map(|bytes| &bytes[..]);
    step.prepare(sql::TAKE_KEY)?
        .execute((name.as_str(), unique.key.as_str(), key, until, id, fingerprint))
        .or_store()?;
    Ok(())
}

/// Gives the key of a task to the one that replaces it, by this submission.
pub(crate) fn pass_on(step: &Step<'_>, taker: &Taker, to: i64, new: &NewTask, unique: &Unique) -> Result<()> {
    let fingerprint = new.fingerprint().to_be_bytes();
    let (name, id) = (new.name.as_str(), new.id.as_str());
    step.prepare(sql::TAKE_KEY)?
        .execute((name, unique.key.as_str(), to, taker.until, id, &fingerprint[..]))
        .or_store()?;
    Ok(())
}
