//! Reads rows as tasks.

use bytes::Bytes;
use jobbers_common::{
    dependency::{Dependencies, EndedPredecessor},
    engine::{Error, Result},
    error_kind::ErrorKind,
    gate::ConcurrencyKey,
    lifecycle::Status,
    metadata::Metadata,
    name::{NameError, TaskId, WorkerId},
    payload::Payload,
    policy::PolicyOverrides,
    suspicion::Suspicion,
    task::{AttemptError, FailureKind, Fence, Lease, Priority, Progress, Task},
    time::Timestamp,
};
use rusqlite::{Row, types::FromSql};
use serde::{
    Deserialize,
    de::{IntoDeserializer, value::Error as WordError},
};

use super::{
    error::{OrStore, corrupt},
    unique,
    view::View,
};

/// Reads a row's columns one after the other, in the order its statement names them.
pub(super) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<T: FromSql>(&mut self) -> Result<T> {
        let column = self.next;
        self.next += 1;
        self.row.get(column).or_store()
    }

    fn text(&mut self) -> Result<&'r str> {
        let column = self.next;
        self.next += 1;
        self.row.get_ref(column).or_store()?.as_str().map_err(|error| corrupt("a text", error))
    }

    pub(super) fn name<N>(&mut self, new: impl FnOnce(&'r str) -> Result<N, NameError>) -> Result<N> {
        new(self.text()?).map_err(|error| corrupt("a name", error))
    }

    pub(super) fn time(&mut self) -> Result<Timestamp> {
        self.take().map(Timestamp::from_micros)
    }

    fn time_or_none(&mut self) -> Result<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>()?.map(Timestamp::from_micros))
    }

    pub(super) fn priority(&mut self) -> Result<Priority> {
        let rank: u8 = self.take()?;
        9_u8.checked_sub(rank).and_then(Priority::new).ok_or_else(|| corrupt("a rank", rank))
    }

    pub(super) fn overrides(&mut self) -> Result<PolicyOverrides> {
        overrides(self.take::<Option<String>>()?.as_deref())
    }

    pub(super) fn trace(&mut self) -> Result<Option<Box<str>>> {
        Ok(self.take::<Option<String>>()?.map(Into::into))
    }

    pub(super) fn metadata(&mut self) -> Result<Metadata> {
        let text: Option<String> = self.take()?;
        text.map_or_else(|| Ok(Metadata::default()), |text| serde_json::from_str(&text))
            .map_err(|error| corrupt("metadata", error))
    }

    /// A type and its bytes.
    pub(super) fn payload(&mut self) -> Result<Option<Payload>> {
        let content_type: Option<String> = self.take()?;
        let bytes: Option<Vec<u8>> = self.take()?;
        Ok(bytes.map(|bytes| Payload { content_type: content_type.map(Into::into), bytes: Bytes::from(bytes) }))
    }
}

/// The status of a stored number.
pub(super) fn status(code: u8) -> Result<Status> {
    Status::from_code(code).ok_or_else(|| corrupt("a status", code))
}

/// The overrides of a submission, as stored.
pub(super) fn overrides(text: Option<&str>) -> Result<PolicyOverrides> {
    text.map_or_else(|| Ok(PolicyOverrides::default()), serde_json::from_str)
        .map_err(|error| corrupt("overrides", error))
}

/// Metadata, as it is stored.
pub(super) fn stored_metadata(metadata: &Metadata) -> Result<Option<String>> {
    let stored = (!metadata.is_empty()).then(|| serde_json::to_string(metadata));
    stored.transpose().map_err(|error| Error::Invalid(error.to_string()))
}

/// A task, from the columns that `get_task` and `list_task` name, and its key.
pub(super) fn task(row: &Row<'_>, view: &View<'_>) -> Result<(i64, Task)> {
    let mut columns = Columns::of(row);
    let key = columns.take()?;
    let mut task = Task {
        id: columns.name(TaskId::new)?,
        id_is_chosen: columns.take()?,
        name: columns.name(jobbers_common::name::TaskName::new)?,
        version: columns.take()?,
        queue: view.queue_name(columns.take()?)?,
        priority: columns.priority()?,
        status: status(columns.take()?)?,
        revision: columns.take::<i64>()?.unsigned_abs(),
        overrides: columns.overrides()?,
        attempt: columns.take()?,
        crashes: columns.take()?,
        blames: columns.take()?,
        suspicion: Suspicion::new(columns.take()?, columns.take()?),
        submitted_at: columns.time()?,
        ready_at: columns.time()?,
        started_at: columns.time_or_none()?,
        heartbeat_at: columns.time_or_none()?,
        completed_at: columns.time_or_none()?,
        worker: columns.take::<Option<String>>()?.map(worker).transpose()?,
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
    let fence: Option<i64> = columns.take()?;
    if let (Some(expires_at), Some(fence), Some(worker)) = (columns.time_or_none()?, fence, &task.worker) {
        task.lease = Some(Lease { worker: worker.clone(), fence: Fence(fence.unsigned_abs()), expires_at });
    }
    task.cancel_requested = columns.take()?;
    let (fraction, message) = (columns.take::<Option<f64>>()?, columns.take::<Option<String>>()?);
    task.progress = fraction.map(|fraction| Progress { fraction, message: message.unwrap_or_default() });
    task.dead_letter = columns.take()?;
    task.trace = columns.trace()?;
    task.last_span = columns.trace()?;
    task.parameters = columns.payload()?;
    task.result = columns.payload()?;
    task.checkpoint = columns.payload()?;
    task.unique = columns.take::<Option<String>>()?.map(|said| unique::read(&said).map(Box::new)).transpose()?;
    let told = columns.take::<Option<String>>()?.map(ConcurrencyKey::new).transpose();
    task.concurrency_key = told.map_err(|error| corrupt("a concurrency key", error))?;
    task.metadata = columns.metadata()?;
    let (total, signals) = (columns.take::<Option<u32>>()?, columns.take::<Option<u32>>()?);
    let aborted_by = ended_predecessor(columns.take()?, columns.take()?)?;
    let is_spontaneous = columns.take::<Option<bool>>()?.unwrap_or_default();
    task.dependencies = total.zip(signals).map(|(total, signals)| {
        Box::new(Dependencies { total, signals, is_spontaneous, aborted_by, ..Dependencies::default() })
    });
    Ok((key, task))
}

/// The predecessor that aborted a task, if one did.
fn ended_predecessor(id: Option<String>, end: Option<u8>) -> Result<Option<EndedPredecessor>> {
    let Some((id, end)) = id.zip(end) else { return Ok(None) };
    let id = TaskId::new(id).map_err(|error| corrupt("a predecessor", error))?;
    Ok(Some(EndedPredecessor { id, status: status(end)? }))
}

/// A stored worker's id.
pub(super) fn worker(text: String) -> Result<WorkerId> {
    WorkerId::new(text).map_err(|error| corrupt("a worker", error))
}

/// A failed attempt, from the columns that `failures` names.
pub(super) fn failure(row: &Row<'_>) -> Result<AttemptError> {
    let mut columns = Columns::of(row);
    Ok(AttemptError {
        at: columns.time()?,
        attempt: columns.take()?,
        worker: columns.name(WorkerId::new)?,
        kind: kind(columns.text()?)?,
        message: columns.take()?,
        error_kind: columns.take::<Option<String>>()?.map(error_kind).transpose()?,
    })
}

fn error_kind(text: String) -> Result<ErrorKind> {
    ErrorKind::new(text).map_err(|error| corrupt("an error's kind", error))
}

fn kind(text: &str) -> Result<FailureKind, Error> {
    let kind: Result<FailureKind, WordError> = FailureKind::deserialize(text.into_deserializer());
    kind.map_err(|error| corrupt("a failure's kind", error))
}
