//! Decodes tasks from the answers of scripts. The strings' layout is in `layout.rs`.

use std::{collections::HashMap, ops::Range, time::Duration};

use bytes::Bytes;
use jobbers_common::{
    dependency::{
        Dependencies, Dependency, DependencyPolicy, EndedPredecessor,
        signal::{ExternalSignal, OnTimeout, SignalState},
    },
    engine::{
        DeadTask, Error, Result,
        backup::{StoredTask, SubmissionRecord, TakenKey},
    },
    lifecycle::Status,
    name::{SignalName, TaskId},
    payload::Payload,
    task::{
        ClaimedTask, Fence, Lease, Progress, Task,
        trace::{TRACEPARENT_BYTES, is_traceparent},
    },
    time::{Timestamp, micros},
};
use redis::Value;

use super::{
    errors::read_errors,
    layout::{BATCH_TASKS, COPY, DEPENDENT, KEPT, NEWS, SIGNAL},
    record::{Record, RecordState},
    reply::{array, bytes, digits, text, tuple},
    values::{count, part, read_payload, some_time, status_of, write_payload},
};

/// The first byte of news that contain a span.
const HAS_SPAN: u8 = b'T';

fn corrupt(what: &str) -> Error {
    Error::Corrupt(format!("a task's {what} can't be read"))
}

/// What is stored beside the record: the heartbeat of a running attempt, and what ended attempts left.
#[derive(Default)]
struct SideFields {
    last_span: Option<Box<str>>,
    heartbeat_at: Option<Timestamp>,
    progress: Option<Progress>,
    checkpoint: Option<Payload>,
}

impl SideFields {
    fn decode(from: &[u8]) -> Result<Self> {
        if from.is_empty() {
            return Ok(Self::default());
        }
        let (last_span, from) = match from.split_first() {
            Some((&HAS_SPAN, rest)) => {
                let (span, rest) = rest.split_at_checked(TRACEPARENT_BYTES).ok_or_else(|| corrupt("span"))?;
                (Some(std::str::from_utf8(span).map_err(|_| corrupt("span"))?.into()), rest)
            }
            _ => (None, from),
        };
        let fixed = part(from, ..NEWS.len(), "heartbeat")?;
        let length = digits(&fixed[const { NEWS.range("progress_length") }])?;
        let checkpoint_at = NEWS.len() + usize::try_from(length).map_err(|_| corrupt("progress"))?;
        let progress = part(from, NEWS.len()..checkpoint_at, "progress")?;
        Ok(Self {
            last_span,
            heartbeat_at: some_time(&fixed[const { NEWS.range("heartbeat_at") }])?,
            progress: if progress.is_empty() {
                None
            } else {
                Some(serde_json::from_slice(progress).map_err(|_| corrupt("progress"))?)
            },
            checkpoint: read_payload(&from[checkpoint_at..])?,
        })
    }
}

/// A task with its place in the list, for the cursor.
pub(crate) struct Seen {
    /// The task.
    pub(crate) task: Task,
    /// Whether its parameters are stored separately: then they are without their bytes.
    large: bool,
    /// Of its submission.
    fingerprint: u128,
    /// Its place among those of its priority; 0 for one that has none.
    position: u64,
    /// Its score or due time, as the server writes it; or its fence or revision, in 15 digits.
    pub(crate) place: String,
}

impl AsRef<Task> for Seen {
    fn as_ref(&self) -> &Task {
        &self.task
    }
}

/// Reads a view (`scripts/lib/kernel/view.lua`): without errors.
pub(crate) fn read_view(view: Value) -> Result<Seen> {
    let [id, record, expires_at, side, depends] = tuple(view)?;
    let id = TaskId::new(text(id)?).map_err(|_| corrupt("id"))?;
    let (expires_at, side) = (text(expires_at)?, SideFields::decode(&bytes(side)?)?);
    let record = Record::decode(bytes(record)?)?;
    let standing = &record.standing;
    let place = match standing.status {
        Status::Submitted => standing.score(record.priority).to_string(),
        Status::Scheduled => standing.ready_at.as_micros().to_string(),
        Status::Waiting => format!("{:015}", standing.position),
        _ => format!("{:015}", standing.revision),
    };
    let position = match standing.status {
        Status::Waiting | Status::Submitted | Status::Started => standing.position,
        _ => 0,
    };
    let (large, fingerprint) = (record.large, record.fingerprint);
    let mut dependencies = read_dependencies(standing.status, &bytes(depends)?)?;
    if let Some(dependencies) = &mut dependencies {
        dependencies.is_spontaneous = record.is_spontaneous;
    }
    let task = Task { dependencies, ..task_from(id, record, side, &expires_at)? };
    Ok(Seen { task, large, fingerprint, position, place })
}

/// The dependencies of a task, as a view has them.
fn read_dependencies(status: Status, from: &[u8]) -> Result<Option<Box<Dependencies>>> {
    if from.is_empty() {
        return Ok(None);
    }
    let (from, external) = match from.iter().position(|byte| *byte == FIRST_SIGNAL) {
        Some(at) => (&from[..at], read_signals(&from[at + 1..])?),
        None => (from, Vec::new()),
    };
    let (fixed, rest) = (part(from, ..DEPENDENT.len(), "dependencies")?, &from[DEPENDENT.len()..]);
    let mut dependencies = Dependencies {
        total: count(&fixed[const { DEPENDENT.range("total") }])?,
        signals: count(&fixed[const { DEPENDENT.range("signals") }])?,
        external,
        ..Dependencies::default()
    };
    match (status, rest.split_first()) {
        (Status::Waiting, _) => {
            let edges = rest.split(|byte| *byte == 0).filter(|edge| !edge.is_empty());
            dependencies.waits_for = edges.map(read_edge).collect::<Result<_>>()?;
        }
        (Status::Aborted, Some((end, id))) => {
            dependencies.aborted_by = Some(EndedPredecessor { id: read_id(id)?, status: status_of(&[*end])? });
        }
        _ => {}
    }
    Ok(Some(Box::new(dependencies)))
}

/// What precedes the signals from outside in the dependencies of a task.
pub(crate) const FIRST_SIGNAL: u8 = 1;

/// The signals from outside of a task, by their names.
fn read_signals(from: &[u8]) -> Result<Vec<ExternalSignal>> {
    let mut signals = Vec::new();
    for text in from.split(|byte| *byte == 0).filter(|text| !text.is_empty()) {
        let fixed = part(text, ..SIGNAL.len(), "signals")?;
        let letter = |field: Range<usize>| fixed[field].first().map_or(u8::MAX, |letter| letter.wrapping_sub(b'0'));
        let at = |field: Range<usize>| some_time(&fixed[field]);
        let timeout = at(const { SIGNAL.range("timeout") })?;
        let name = std::str::from_utf8(&text[SIGNAL.len()..]).ok().and_then(|name| SignalName::new(name).ok());
        signals.push(ExternalSignal {
            name: name.ok_or_else(|| corrupt("signals"))?,
            state: SignalState::from_code(letter(const { SIGNAL.range("state") })).ok_or_else(|| corrupt("signals"))?,
            timeout: timeout.map(|at| Duration::from_micros(at.as_micros().unsigned_abs())),
            due: at(const { SIGNAL.range("due") })?,
            on_timeout: OnTimeout::from_code(letter(const { SIGNAL.range("on_timeout") }))
                .ok_or_else(|| corrupt("signals"))?,
            at: at(const { SIGNAL.range("at") })?,
        });
    }
    signals.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(signals)
}

/// The signals from outside of a task, as [`read_signals`] reads them.
pub(crate) fn write_signals(signals: &[ExternalSignal]) -> String {
    let write = |ExternalSignal { name, state, timeout, due, on_timeout, at }: &ExternalSignal| {
        let [due, at] = [due, at].map(|at| at.map_or(0, Timestamp::as_micros));
        let timeout = timeout.map_or(0, micros);
        format!("{}{}{timeout:016}{due:016}{at:016}{name}\0", state.code(), on_timeout.code())
    };
    signals.iter().map(write).collect()
}

/// An edge in a view: a letter for its policy, and the predecessor's id.
fn read_edge(edge: &[u8]) -> Result<Dependency> {
    let (policy, on) = edge.split_first().ok_or_else(|| corrupt("dependencies"))?;
    let policy = DependencyPolicy::from_code(policy.wrapping_sub(b'0')).ok_or_else(|| corrupt("dependencies"))?;
    Ok(Dependency { on: read_id(on)?, policy })
}

fn read_id(bytes: &[u8]) -> Result<TaskId> {
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt("dependencies"))?;
    TaskId::new(text).map_err(|_| corrupt("dependencies"))
}

/// A task from its record, its news, and the end of its lease.
fn task_from(id: TaskId, record: Record, side: SideFields, expires_at: &str) -> Result<Task> {
    let RecordState { status, revision, ready_at, started_at, completed_at, attempt, crashes, .. } = record.standing;
    let worker = record.standing.worker;
    let lease = match (status, &worker) {
        (Status::Started, Some(worker)) => Some(Lease {
            worker: worker.clone(),
            fence: Fence(revision),
            expires_at: Timestamp::from_micros(expires_at.parse().map_err(|_| corrupt("lease"))?),
        }),
        _ => None,
    };
    Ok(Task {
        id,
        id_is_chosen: record.id_is_chosen,
        name: record.name,
        version: record.version,
        queue: record.queue,
        priority: record.priority,
        status,
        revision,
        parameters: Some(record.parameters),
        overrides: record.overrides,
        attempt,
        crashes,
        blames: record.standing.blames,
        suspicion: record.standing.suspicion,
        submitted_at: record.submitted_at,
        ready_at,
        started_at,
        heartbeat_at: side.heartbeat_at,
        completed_at,
        lease,
        worker,
        cancel_requested: record.standing.cancel_requested,
        progress: side.progress,
        checkpoint: side.checkpoint,
        result: record.result,
        errors: Vec::new(),
        dead_letter: record.standing.dead_letter,
        unique: record.unique,
        concurrency_key: record.concurrency_key,
        metadata: record.metadata,
        trace: record.trace,
        dependencies: None,
        last_span: side.last_span,
    })
}

/// Reads the answer of `get`, with the fingerprint of the task's submission.
pub(crate) fn read_task(answer: Value) -> Result<Option<DeadTask>> {
    if answer == Value::Nil {
        return Ok(None);
    }
    let [view, errors, body] = tuple(answer)?;
    whole(view, &bytes(errors)?, bytes(body)?).map(|(dead, _)| Some(dead))
}

/// Reads an answer of `dump`.
pub(crate) fn read_stored(answer: Value) -> Result<Option<StoredTask>> {
    if answer == Value::Nil {
        return Ok(None);
    }
    let [view, errors, body, kept, parents] = tuple(answer)?;
    let (DeadTask { task, fingerprint }, position) = whole(view, &bytes(errors)?, bytes(body)?)?;
    let kept = bytes(kept)?;
    let key = if kept.is_empty() { None } else { Some(read_taken(&kept)?) };
    let parents = bytes(parents)?;
    let parents = parents.split(|byte| *byte == 0).filter(|id| !id.is_empty()).map(read_id).collect::<Result<_>>()?;
    Ok(Some(StoredTask { task, fingerprint, position, key, parents }))
}

/// Reads an entry of `k:of`, besides the constraint in it.
fn read_taken(kept: &[u8]) -> Result<TakenKey> {
    let key_length = digits(part(kept, const { KEPT.range("key_length") }, "unique key")?)?;
    let after = KEPT.len() + usize::try_from(key_length).map_err(|_| corrupt("unique key"))?;
    let until = some_time(part(kept, const { KEPT.range("ends") }, "unique key")?)?;
    let became = match part(kept, after.., "unique key")? {
        [] => None,
        word => {
            let (fingerprint, id) = word.split_first_chunk().ok_or_else(|| corrupt("unique key"))?;
            Some(SubmissionRecord { id: read_id(id)?, fingerprint: u128::from_be_bytes(*fingerprint) })
        }
    };
    Ok(TakenKey { until, became })
}

/// A view and its side records; and the task's position.
fn whole(view: Value, errors: &[u8], body: Vec<u8>) -> Result<(DeadTask, u64)> {
    let Seen { mut task, large, fingerprint, position, .. } = read_view(view)?;
    task.errors = read_errors(errors)?;
    if large {
        task.parameters = task.parameters.map(|kept| Payload { bytes: body.into(), ..kept });
    }
    // One that completed may have let them go.
    let is_gone =
        |task: &Task| task.status == Status::Completed && task.parameters.as_ref().is_some_and(Payload::is_empty);
    if is_gone(&task) {
        task.parameters = None;
    }
    Ok((DeadTask { task, fingerprint }, position))
}

/// Reads a copy of the outbox.
pub(crate) fn read_copy(id: &TaskId, copy: &[u8]) -> Result<DeadTask> {
    let (lengths, mut rest) = copy.split_at_checked(COPY.len()).ok_or_else(|| corrupt("copy"))?;
    let mut piece = |range: Range<usize>| {
        let length = usize::try_from(digits(&lengths[range])?).map_err(|_| corrupt("copy"))?;
        let (piece, after) = rest.split_at_checked(length).ok_or_else(|| corrupt("copy"))?;
        rest = after;
        Ok::<_, Error>(piece.to_vec())
    };
    let record = piece(const { COPY.range("record_length") })?;
    let news = piece(const { COPY.range("news_length") })?;
    let errors = piece(const { COPY.range("errors_length") })?;
    let words = [id.as_str().as_bytes().to_vec(), record, Vec::new(), news, Vec::new()];
    let (dead, _) = whole(Value::Array(words.map(Value::BulkString).to_vec()), &errors, rest.to_vec())?;
    Ok(dead)
}

/// Writes the news of a task that is not running: the span of its last attempt, and its checkpoint.
pub(crate) fn write_news(last_span: Option<&str>, checkpoint: Option<&Payload>, into: &mut Vec<u8>) {
    write_side_fields(last_span, (None, None), checkpoint, into);
}

/// Writes all the news of a task: also the last heartbeat and progress of one that is over.
pub(crate) fn write_all_news(task: &Task, into: &mut Vec<u8>) {
    let heartbeat = (task.heartbeat_at, task.progress.as_ref());
    write_side_fields(task.last_span.as_deref(), heartbeat, task.checkpoint.as_ref(), into);
}

fn write_side_fields(
    last_span: Option<&str>,
    (heartbeat_at, progress): (Option<Timestamp>, Option<&Progress>),
    checkpoint: Option<&Payload>,
    into: &mut Vec<u8>,
) {
    if let Some(span) = last_span.filter(|span| is_traceparent(span)) {
        into.push(HAS_SPAN);
        into.extend_from_slice(span.as_bytes());
    }
    if checkpoint.is_some() || heartbeat_at.is_some() || progress.is_some() || !into.is_empty() {
        let progress = progress.and_then(|progress| serde_json::to_string(progress).ok()).unwrap_or_default();
        let at = heartbeat_at.map_or(0, Timestamp::as_micros);
        into.extend_from_slice(format!("{at:016}{:06}{progress}", progress.len()).as_bytes());
        write_payload(checkpoint, into);
    }
}

/// Reads one queue's part of a claim (`scripts/lib/verbs/claim.lua`); returns the tasks that were not handed out. A task that
/// can't be read does not block the others: its lease expires unassigned and counts as a crash, until it fails. Calls `note` with
/// each task that was leased in a batch, its record, and the fence of the first of its batch.
pub(crate) fn read_claims(
    answer: Value,
    started_at: Timestamp,
    into: &mut Vec<ClaimedTask>,
    note: &mut dyn FnMut(&ClaimedTask, Bytes, Fence),
) -> Result<Vec<NotHandedOut>> {
    let [_, first, ids, records, apart, lost, is_batched] = tuple(answer)?;
    let is_batched = super::reply::number(is_batched)? == 1;
    let first_fence = digits(&bytes(first)?)?;
    let mut pieces = HashMap::new();
    for entry in array(apart)? {
        let [place, side, body] = tuple(entry)?;
        pieces.insert(super::reply::number(place)?, (bytes(side)?, bytes(body)?));
    }
    let mut left_out = Vec::new();
    for ((place, id), record) in (1..).zip(array(ids)?).zip(array(records)?) {
        let (id, fence, record) = (text(id)?, Fence(first_fence + place - 1), Bytes::from(bytes(record)?));
        let task = claimed(&id, record.clone(), fence, started_at);
        match task.and_then(|task| add_apart(task, pieces.remove(&place))) {
            Ok(task) => {
                if is_batched {
                    note(&task, record, Fence(fence.0 - (place - 1) % BATCH_TASKS));
                }
                into.push(task);
            }
            Err(error) => left_out.push(NotHandedOut { id, why: error.to_string() }),
        }
    }
    let gone = array(lost)?
        .into_iter()
        .map(|id| Ok(NotHandedOut { id: text(id)?, why: "its record is gone, or says it is not ready".to_owned() }));
    left_out.extend(gone.collect::<Result<Vec<_>>>()?);
    Ok(left_out)
}

/// A task that a queue held and no worker can get.
pub(crate) struct NotHandedOut {
    pub(crate) id: String,
    pub(crate) why: String,
}

/// A task from its record before the claim; or, for a repeated answer, from its present record.
fn claimed(id: &str, record: Bytes, fence: Fence, started_at: Timestamp) -> Result<ClaimedTask> {
    let id = TaskId::new(id).map_err(|_| corrupt("id"))?;
    let record = Record::decode(record)?;
    let standing = record.standing;
    let is_leased = standing.status == Status::Started;
    Ok(ClaimedTask {
        id,
        name: record.name,
        version: record.version,
        queue: record.queue,
        priority: record.priority,
        concurrency_key: record.concurrency_key,
        parameters: record.parameters,
        overrides: record.overrides,
        metadata: record.metadata,
        attempt: if is_leased { standing.attempt } else { standing.attempt + 1 },
        crashes: standing.crashes,
        fence,
        submitted_at: record.submitted_at,
        ready_at: standing.ready_at,
        started_at,
        checkpoint: None,
        trace: record.trace,
        last_span: None,
    })
}

/// The side records of a task, if any: its news, its parameters.
type SideRecords = (Vec<u8>, Vec<u8>);

fn add_apart(mut task: ClaimedTask, apart: Option<SideRecords>) -> Result<ClaimedTask> {
    let Some((side, body)) = apart else { return Ok(task) };
    SideFields { checkpoint: task.checkpoint, last_span: task.last_span, .. } = SideFields::decode(&side)?;
    if !body.is_empty() {
        task.parameters.bytes = body.into();
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_read_with_and_without_a_span() {
        let (span, checkpoint) = ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Payload::json("1"));
        for span in [None, Some(span)] {
            for checkpoint in [None, Some(&checkpoint)] {
                let mut written = Vec::new();
                write_news(span, checkpoint, &mut written);
                let side = SideFields::decode(&written).unwrap();
                assert_eq!((side.last_span.as_deref(), side.checkpoint.as_ref()), (span, checkpoint));
                assert_eq!((side.heartbeat_at, side.progress), (None, None));
            }
        }
        let as_ever = SideFields::decode(b"1700000000000001000000\n1").unwrap();
        assert_eq!((as_ever.last_span, as_ever.checkpoint), (None, Some(checkpoint)));
        assert!(SideFields::decode(b"T00-4bf92f").is_err(), "a piece of one");
    }
}
