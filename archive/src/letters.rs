//! Letters: inserting, finding and deleting them, and the histories of their tasks.

use std::borrow::Cow;

use jobbers_common::{
    engine::DeadTask,
    lifecycle::Status,
    name::{QueueName, TaskId, TaskName, WorkerId},
    policy::error_kind::ErrorKind,
    task::{AttemptError, FailureKind, Task, dead_letter::LetterState},
    time::Timestamp,
};
use jobbers_sqlite_file::Quota;
use rusqlite::{Row, Transaction};
use serde::{Deserialize, Serialize};

use crate::{
    Archive,
    error::{Error, Result, corrupt},
    filter::{Filter, bind},
    fingerprint, sql,
};

/// The most letters on one page.
pub const MAX_PAGE: usize = 1_000;
/// The most groups in one answer.
pub const MAX_GROUPS: usize = 1_000;

/// A letter without its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its place in the order of arrival.
    pub key: i64,
    /// The task.
    pub id: TaskId,
    /// The task's revision when it ended.
    pub revision: u64,
    /// The task's queue.
    pub queue: QueueName,
    /// The name of the task function.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// How it ended.
    pub status: Status,
    /// When it ended.
    pub failed_at: Timestamp,
    /// The number of its attempts.
    pub attempt: u32,
    /// The worker that ran it last.
    pub worker: Option<WorkerId>,
    /// The kind of its last failure.
    pub kind: Option<FailureKind>,
    /// The message of its last failure; empty where it is a sensitive task's own.
    pub error: String,
    /// What its error has in common with others, see [`fingerprint::of`].
    pub fingerprint: String,
    /// Its state.
    pub state: LetterState,
    /// When it was sent again.
    pub resubmitted_at: Option<Timestamp>,
    /// The operation that is sending or has sent it again.
    pub operation: Option<String>,
    /// Whether its task is sensitive.
    pub is_sensitive: bool,
}

/// A letter with its task.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// The fields that lists show.
    pub summary: Summary,
    /// The whole task.
    pub dead: DeadTask,
}

/// A page of letters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LetterPage {
    /// The letters, the latest first.
    pub letters: Vec<Summary>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

/// Letters with one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Their queue.
    pub queue: QueueName,
    /// Their task's name.
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// What their last errors have in common.
    pub fingerprint: String,
    /// The number of letters.
    pub count: u64,
    /// When the first failed.
    pub first_seen: Timestamp,
    /// When the last failed.
    pub last_seen: Timestamp,
    /// One of their messages.
    pub example: String,
}

/// The dead letters of one queue and task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingLetters {
    /// Their queue.
    pub queue: QueueName,
    /// Their task's name.
    pub name: TaskName,
    /// The number of letters.
    pub count: u64,
    /// When the first of them failed.
    pub first_failed_at: Timestamp,
}

impl Archive {
    /// Inserts copies of the outbox, each once, with the failures of their tasks. Returns how many were new.
    ///
    /// # Errors
    /// [`Error::Full`]; those of the file. All are inserted or none. Safe to repeat.
    pub fn put(&self, copies: &[DeadTask]) -> Result<u64> {
        self.write(|transaction| {
            let mut added = 0;
            for copy in copies {
                added += u64::from(put_one(transaction, copy, self.quota)?);
            }
            Ok(added)
        })
    }

    /// Letters that match, the latest first, up to `limit` of them, which is at most [`MAX_PAGE`].
    ///
    /// # Errors
    /// [`Error::ForeignCursor`]; those of the file.
    pub fn page(&self, filter: &Filter, limit: usize, cursor: Option<&str>) -> Result<LetterPage> {
        let before: Option<i64> = cursor.map(|text| text.parse().map_err(|_| Error::ForeignCursor)).transpose()?;
        let limit = limit.clamp(1, MAX_PAGE);
        self.read(|transaction| {
            let mut statement = filter.prepare(transaction, sql::PAGE)?;
            bind(&mut statement, ":before", before.unwrap_or(i64::MAX))?;
            bind(&mut statement, ":limit", sql::count(limit + 1))?;
            let mut rows = statement.raw_query();
            let mut letters = Vec::new();
            while let Some(row) = rows.next()? {
                letters.push(summary(row)?);
            }
            let has_more = letters.len() > limit;
            letters.truncate(limit);
            let next = letters.last().filter(|_| has_more).map(|last| last.key.to_string());
            Ok(LetterPage { letters, next })
        })
    }

    /// How many letters match.
    ///
    /// # Errors
    /// Those of the file.
    pub fn count(&self, filter: &Filter) -> Result<u64> {
        self.read(|transaction| {
            let mut statement = filter.prepare(transaction, sql::COUNT_LETTERS)?;
            let mut rows = statement.raw_query();
            let count: i64 = rows.next()?.map_or(Ok(0), |row| row.get(0))?;
            Ok(count.unsigned_abs())
        })
    }

    /// Letters that match, by cause; the largest groups first, at most [`MAX_GROUPS`].
    ///
    /// # Errors
    /// Those of the file.
    pub fn groups(&self, filter: &Filter) -> Result<Vec<Group>> {
        self.read(|transaction| {
            let mut statement = filter.prepare(transaction, sql::GROUPS)?;
            bind(&mut statement, ":limit", sql::count(MAX_GROUPS))?;
            let mut rows = statement.raw_query();
            let mut groups = Vec::new();
            while let Some(row) = rows.next()? {
                groups.push(Group {
                    queue: name(row, "queue", QueueName::new)?,
                    name: name(row, "name", TaskName::new)?,
                    version: row.get("version")?,
                    fingerprint: row.get("fingerprint")?,
                    count: row.get::<_, i64>("letters")?.unsigned_abs(),
                    first_seen: Timestamp::from_micros(row.get("first_seen")?),
                    last_seen: Timestamp::from_micros(row.get("last_seen")?),
                    example: row.get("example")?,
                });
            }
            Ok(groups)
        })
    }

    /// The latest letter of a task, with the whole task.
    ///
    /// # Errors
    /// Those of the file.
    pub fn letter(&self, id: &TaskId) -> Result<Option<Letter>> {
        self.read(|transaction| latest(transaction, id))
    }

    /// Every failure of a task, the oldest first; `None` for a task without letters.
    ///
    /// # Errors
    /// Those of the file.
    pub fn history(&self, id: &TaskId) -> Result<Option<Vec<AttemptError>>> {
        self.read(|transaction| {
            let failures = failures(transaction, id)?;
            if failures.is_empty() && latest(transaction, id)?.is_none() {
                return Ok(None);
            }
            Ok(Some(failures))
        })
    }

    /// The number of dead letters of each queue and task. The cost does not depend on the number of letters.
    ///
    /// # Errors
    /// Those of the file.
    pub fn waiting(&self) -> Result<Vec<WaitingLetters>> {
        self.read(|transaction| {
            let mut statement = transaction.prepare_cached(sql::WAITING)?;
            let mut rows = statement.raw_query();
            let mut waiting = Vec::new();
            while let Some(row) = rows.next()? {
                waiting.push(WaitingLetters {
                    queue: name(row, "queue", QueueName::new)?,
                    name: name(row, "name", TaskName::new)?,
                    count: row.get::<_, i64>("letters")?.unsigned_abs(),
                    first_failed_at: Timestamp::from_micros(
                        row.get::<_, Option<i64>>("first_failed_at")?.unwrap_or_default(),
                    ),
                });
            }
            Ok(waiting)
        })
    }
}

/// Every failure of a task, the oldest first.
pub(crate) fn failures(transaction: &Transaction<'_>, id: &TaskId) -> Result<Vec<AttemptError>> {
    let mut statement = transaction.prepare_cached(sql::HISTORY)?;
    let mut rows = statement.query([id.as_str()])?;
    let mut failures = Vec::new();
    while let Some(row) = rows.next()? {
        failures.push(AttemptError {
            at: Timestamp::from_micros(row.get("at")?),
            attempt: row.get("attempt")?,
            worker: name(row, "worker", WorkerId::new)?,
            kind: word(&row.get::<_, String>("kind")?)?,
            message: row.get("message")?,
            error_kind: row.get::<_, Option<String>>("error_kind")?.and_then(|kind| ErrorKind::new(kind).ok()),
        });
    }
    Ok(failures)
}

/// Inserts a copy, with its failures, unless it exists. Returns whether it is new.
pub(crate) fn put_one(transaction: &Transaction<'_>, copy: &DeadTask, quota: Quota) -> Result<bool> {
    let mut bytes = Vec::new();
    copy.serialize(&mut rmp_serde::Serializer::new(&mut bytes).with_struct_map())
        .map_err(|error| corrupt("a letter can't be written", error))?;
    quota.check(transaction, bytes.len() as u64)?;
    let task = &copy.task;
    let is_sensitive = task.metadata.is_sensitive();
    let failures = searchable(task, &task.errors);
    let last = failures.last();
    let error = last.map_or("", |error| error.message.as_str());
    let revision = task.revision.cast_signed();
    let added = transaction.prepare_cached(sql::INSERT_LETTER)?.execute((
        task.id.as_str(),
        revision,
        task.queue.as_str(),
        task.name.as_str(),
        task.version,
        task.status.as_str(),
        task.completed_at.map_or(0, Timestamp::as_micros),
        task.attempt,
        task.worker.as_ref().map(|worker| worker.as_str()),
        last.map(|error| error.kind.as_str()),
        error,
        if is_sensitive { last.map(fingerprint::of_sensitive).unwrap_or_default() } else { fingerprint::of(error) },
        bytes,
        is_sensitive,
    ))?;
    transaction.prepare_cached(sql::SUPERSEDE)?.execute([task.id.as_str()])?;
    insert_failures(transaction, task, &task.errors)?;
    Ok(added > 0)
}

/// The failures of a task as searches and histories have them: of a sensitive task without its own words, which are only in
/// the copy.
pub(crate) fn searchable<'a>(task: &Task, failures: &'a [AttemptError]) -> Cow<'a, [AttemptError]> {
    match task.metadata.is_sensitive() {
        true => failures.iter().map(AttemptError::hidden).collect(),
        false => failures.into(),
    }
}

/// Adds failures to a task's history, each once.
pub(crate) fn insert_failures(transaction: &Transaction<'_>, task: &Task, failures: &[AttemptError]) -> Result<()> {
    for error in &*searchable(task, failures) {
        transaction.prepare_cached(sql::INSERT_FAILURE)?.execute((
            task.id.as_str(),
            error.at.as_micros(),
            error.attempt,
            error.worker.as_str(),
            error.kind.as_str(),
            &error.message,
            error.error_kind.as_ref().map(ErrorKind::as_str),
        ))?;
    }
    Ok(())
}

/// The latest letter of a task.
pub(crate) fn latest(transaction: &Transaction<'_>, id: &TaskId) -> Result<Option<Letter>> {
    let mut statement = transaction.prepare_cached(sql::LATEST_LETTER)?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Letter { summary: summary(row)?, dead: read_copy(row)? }))
}

/// Reads the copy of a row.
pub(crate) fn read_copy(row: &Row<'_>) -> Result<DeadTask> {
    let bytes = row.get_ref("copy")?.as_blob().map_err(|error| corrupt("a letter", error))?;
    rmp_serde::from_slice(bytes).map_err(|error| corrupt("a letter", error))
}

fn summary(row: &Row<'_>) -> Result<Summary> {
    let time = |micros: Option<i64>| micros.map(Timestamp::from_micros);
    Ok(Summary {
        key: row.get("key")?,
        id: name(row, "id", TaskId::new)?,
        revision: row.get::<_, i64>("revision")?.unsigned_abs(),
        queue: name(row, "queue", QueueName::new)?,
        name: name(row, "name", TaskName::new)?,
        version: row.get("version")?,
        status: word(&row.get::<_, String>("status")?)?,
        failed_at: Timestamp::from_micros(row.get("failed_at")?),
        attempt: row.get("attempt")?,
        worker: row
            .get::<_, Option<String>>("worker")?
            .map(WorkerId::new)
            .transpose()
            .map_err(|error| corrupt("a worker", error))?,
        kind: row.get::<_, Option<String>>("kind")?.map(|kind| word(&kind)).transpose()?,
        error: row.get("error")?,
        fingerprint: row.get("fingerprint")?,
        state: word(&row.get::<_, String>("state")?)?,
        resubmitted_at: time(row.get("resubmitted_at")?),
        operation: row.get("operation")?,
        is_sensitive: row.get("sensitive")?,
    })
}

/// Reads a name from a column.
pub(crate) fn name<T, E: std::fmt::Display>(
    row: &Row<'_>,
    column: &str,
    new: impl FnOnce(String) -> Result<T, E>,
) -> Result<T> {
    new(row.get(column)?).map_err(|error| corrupt("a name", error))
}

/// Reads a word that names one of a fixed set of values.
pub(crate) fn word<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T> {
    let reader = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
    T::deserialize(reader).map_err(|error| corrupt("a word", error))
}
