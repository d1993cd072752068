//! Reads whole tasks, and their failed attempts.

use jobbers_common::{
    dependency::{Dependencies, EndedPredecessor},
    engine::{Error, LostTask, Result, TaskFilter},
    name::{QueueName, TaskId, TaskName, WorkerId},
    policy::error_kind::ErrorKind,
    task::{AttemptError, FailureKind, Fence, Lease, Progress, Task, metadata::Metadata, suspicion::Suspicion},
};
use rusqlite::Row;
use serde::{
    Deserialize,
    de::{IntoDeserializer, value::Error as WordError},
};

use super::{
    row::{self, Columns},
    step::Step,
    view::View,
};
use crate::sqlite::{
    sql,
    store::error::{OrStore, corrupt},
};

/// A task, from the columns that `get_task` and `list_task` name, and its key.
pub(crate) fn task(row: &Row<'_>, view: &View<'_>) -> Result<(i64, Task)> {
    let mut columns = Columns::of(row);
    let key = columns.take("key")?;
    let mut task = Task {
        id: columns.name("id", TaskId::new)?,
        id_is_chosen: columns.take("id_is_chosen")?,
        name: columns.name("name", TaskName::new)?,
        version: columns.take("version")?,
        queue: view.queue_name(columns.take("queue")?)?,
        priority: columns.priority("rank")?,
        status: row::status(columns.take("status")?)?,
        revision: columns.take::<i64>("revision")?.unsigned_abs(),
        overrides: columns.overrides("overrides")?,
        attempt: columns.take("attempt")?,
        crashes: columns.take("crashes")?,
        blames: columns.take("blames")?,
        suspicion: Suspicion::new(columns.take("losses")?, columns.take("ran_s")?),
        submitted_at: columns.time("submitted_at")?,
        ready_at: columns.time("ready_at")?,
        started_at: columns.time_or_none("started_at")?,
        heartbeat_at: columns.time_or_none("heartbeat_at")?,
        completed_at: columns.time_or_none("completed_at")?,
        worker: columns.take::<Option<String>>("worker")?.map(row::worker).transpose()?,
        lease: None,
        cancel_requested: false,
        progress: None,
        dead_letter: false,
        unique: None,
        dependencies: None,
        concurrency_key: None,
        metadata: Metadata::default(),
        trace: None,
        last_span: None,
        parameters: None,
        result: None,
        checkpoint: None,
        errors: Vec::new(),
    };
    let fence: Option<i64> = columns.take("fence")?;
    if let (Some(expires_at), Some(fence), Some(worker)) =
        (columns.time_or_none("lease_expires_at")?, fence, &task.worker)
    {
        task.lease = Some(Lease { worker: worker.clone(), fence: Fence(fence.unsigned_abs()), expires_at });
    }
    task.cancel_requested = columns.take("cancel_requested")?;
    let (fraction, message) =
        (columns.take::<Option<f64>>("progress")?, columns.take::<Option<String>>("progress_message")?);
    task.progress = fraction.map(|fraction| Progress { fraction, message: message.unwrap_or_default() });
    task.dead_letter = columns.take("dead_letter")?;
    task.trace = columns.trace("trace")?;
    task.last_span = columns.trace("last_span")?;
    task.parameters = columns.payload("parameters_type", "parameters")?;
    task.result = columns.payload("result_type", "result")?;
    task.checkpoint = columns.payload("checkpoint_type", "checkpoint")?;
    task.unique =
        columns.take::<Option<String>>("said")?.map(|said| row::uniqueness(&said).map(Box::new)).transpose()?;
    task.concurrency_key = columns.concurrency_key("concurrency_key")?;
    task.metadata = columns.metadata("metadata")?;
    let (total, signals) = (columns.take::<Option<u32>>("total")?, columns.take::<Option<u32>>("signals")?);
    let aborted_by = ended_predecessor(columns.take("aborted_by")?, columns.take("aborted_end")?)?;
    let is_spontaneous = columns.take::<Option<bool>>("spontaneous")?.unwrap_or_default();
    task.dependencies = total.zip(signals).map(|(total, signals)| {
        Box::new(Dependencies { total, signals, is_spontaneous, aborted_by, ..Dependencies::default() })
    });
    Ok((key, task))
}

/// A task as lists show it, if it exists and matches.
pub(crate) fn find_match(view: &View<'_>, key: i64, filter: &TaskFilter) -> Result<Option<Task>> {
    let mut statement = view.prepare(sql::LIST_TASK)?;
    let mut rows = statement.query([key]).or_store()?;
    let Some(found) = rows.next().or_store()? else { return Ok(None) };
    let (_, task) = task(found, view)?;
    let matches = filter.matches_except_error(&task)
        && (filter.error.is_none() || filter.matches_error(&task, latest_failure(view, key)?.as_ref()));
    Ok(matches.then_some(task))
}

fn latest_failure(view: &View<'_>, key: i64) -> Result<Option<AttemptError>> {
    let mut statement = view.prepare(sql::LATEST_FAILURE)?;
    let mut rows = statement.query([key]).or_store()?;
    rows.next().or_store()?.map(failure).transpose()
}

/// The predecessor that aborted a task, if one did.
fn ended_predecessor(id: Option<String>, end: Option<u8>) -> Result<Option<EndedPredecessor>> {
    let Some((id, end)) = id.zip(end) else { return Ok(None) };
    let id = TaskId::new(id).map_err(|error| corrupt("a predecessor", error))?;
    Ok(Some(EndedPredecessor { id, status: row::status(end)? }))
}

/// A failed attempt, from the columns that `failures` names.
pub(crate) fn failure(row: &Row<'_>) -> Result<AttemptError> {
    let mut columns = Columns::of(row);
    Ok(AttemptError {
        at: columns.time("at")?,
        attempt: columns.take("attempt")?,
        worker: columns.name("worker", WorkerId::new)?,
        kind: kind(columns.text("kind")?)?,
        message: columns.take("message")?,
        error_kind: columns.take::<Option<String>>("error_kind")?.map(error_kind).transpose()?,
    })
}

fn error_kind(text: String) -> Result<ErrorKind> {
    ErrorKind::new(text).map_err(|error| corrupt("an error's kind", error))
}

fn kind(text: &str) -> Result<FailureKind, Error> {
    let kind: Result<FailureKind, WordError> = FailureKind::deserialize(text.into_deserializer());
    kind.map_err(|error| corrupt("a failure's kind", error))
}

/// A task that a claim or the end of its lease has ended.
pub(crate) fn lost(step: &Step<'_>, key: i64) -> Result<LostTask> {
    let mut statement = step.prepare(sql::LOST_TASK)?;
    let mut rows = statement.query([key]).or_store()?;
    let row = rows.next().or_store()?.ok_or_else(|| corrupt("a lease that was taken back", key))?;
    let mut columns = Columns::of(row);
    Ok(LostTask {
        queue: columns.name("queue", QueueName::new)?,
        name: columns.name("name", TaskName::new)?,
        version: columns.take("version")?,
        status: row::status(columns.take("status")?)?,
        dead_letter: columns.take("dead_letter")?,
    })
}
