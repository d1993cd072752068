//! Putting a task together from what scripts answer. The strings' layout is the table in `scripts/lib/moves.lua`.

use std::collections::HashMap;

use jobbers_common::{
    engine::{DeadTask, Error, Result},
    lifecycle::Status,
    name::{TaskId, WorkerId},
    payload::Payload,
    task::{ClaimedTask, Fence, Lease, Progress, Task},
    time::Timestamp,
    trace::{TRACEPARENT_BYTES, is_traceparent},
};
use redis::Value;

use super::{
    errors::read_errors,
    record::{Record, time},
    reply::{array, bytes, digits, text, tuple},
};

const LEASE_BYTES: usize = 80;
/// Where what a lease says begins: behind its letter; and in a finished state, behind that of its copy.
const FACTS_AT: usize = 1;
const LAST_FACTS_AT: usize = 36;
const CANCEL_REQUESTED: u8 = b'K';
/// How news begin that tell a span.
const HAS_SPAN: u8 = b'T';

fn corrupt(what: &str) -> Error {
    Error::Corrupt(format!("a task's {what} can't be read"))
}

/// A slice, or a complaint.
pub(super) fn part<'a>(
    from: &'a [u8],
    range: impl std::slice::SliceIndex<[u8], Output = [u8]>,
    what: &str,
) -> Result<&'a [u8]> {
    from.get(range).ok_or_else(|| corrupt(what))
}

/// A number in digits as a count.
pub(super) fn count(text: &[u8]) -> Result<u32> {
    u32::try_from(digits(text)?).map_err(|_| corrupt("count"))
}

/// A worker's name, of which an empty one is none.
pub(super) fn worker(name: &[u8]) -> Result<Option<WorkerId>> {
    if name.is_empty() {
        return Ok(None);
    }
    let name = std::str::from_utf8(name).map_err(|_| corrupt("worker"))?;
    WorkerId::new(name).map(Some).map_err(|_| corrupt("worker"))
}

/// A time, of which zeros are none.
fn some_time(digits: &[u8]) -> Result<Option<Timestamp>> {
    time(digits).map(|at| (at.as_micros() != 0).then_some(at))
}

/// A score of a sorted set as a whole number.
fn score(text: &[u8]) -> Result<i64> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| corrupt("place"))
}

/// What a lease says, also of a task that is over; without its first letter.
struct Facts<'a> {
    fence: Fence,
    started_at: Option<Timestamp>,
    ready_at: Timestamp,
    attempt: u32,
    crashes: u32,
    worker: Option<WorkerId>,
    /// What follows the worker.
    rest: &'a [u8],
}

fn facts(from: &[u8]) -> Result<Facts<'_>> {
    let fixed = part(from, ..LEASE_BYTES - 1, "lease")?;
    let tail = &from[LEASE_BYTES - 1..];
    let end = tail.iter().position(|byte| *byte == b'\n').unwrap_or(tail.len());
    let split = tail[..end].iter().position(|byte| *byte == b';').ok_or_else(|| corrupt("lease"))?;
    Ok(Facts {
        fence: Fence(digits(&fixed[..15])?),
        started_at: some_time(&fixed[15..31])?,
        ready_at: time(&fixed[31..47])?,
        attempt: count(&fixed[47..53])?,
        crashes: count(&fixed[53..56])?,
        worker: worker(&tail[split + 1..end])?,
        rest: tail.get(end + 1..).unwrap_or_default(),
    })
}

/// What earlier attempts left.
pub(super) struct Carry {
    revision: u64,
    ready_at: Timestamp,
    attempt: u32,
    crashes: u32,
    started_at: Option<Timestamp>,
    worker: Option<WorkerId>,
}

impl Carry {
    fn decode(from: &[u8]) -> Result<Option<Self>> {
        if from.is_empty() {
            return Ok(None);
        }
        let fixed = part(from, ..57, "history")?;
        Ok(Some(Self {
            revision: digits(&fixed[..15])?,
            ready_at: time(&fixed[15..31])?,
            attempt: count(&fixed[31..37])?,
            crashes: count(&fixed[37..40])?,
            started_at: some_time(&fixed[40..56])?,
            worker: worker(&from[57..])?,
        }))
    }
}

/// What a running task told, and the last that ended left.
#[derive(Default)]
struct Told {
    last_span: Option<Box<str>>,
    heartbeat_at: Option<Timestamp>,
    progress: Option<Progress>,
    checkpoint: Option<Payload>,
}

impl Told {
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
        let fixed = part(from, ..22, "heartbeat")?;
        let checkpoint_at = 22 + usize::try_from(digits(&fixed[16..])?).map_err(|_| corrupt("progress"))?;
        let progress = part(from, 22..checkpoint_at, "progress")?;
        Ok(Self {
            last_span,
            heartbeat_at: some_time(&fixed[..16])?,
            progress: if progress.is_empty() {
                None
            } else {
                Some(serde_json::from_slice(progress).map_err(|_| corrupt("progress"))?)
            },
            checkpoint: read_payload(&from[checkpoint_at..])?,
        })
    }
}

/// Writes a result or a checkpoint: nothing for none, else the content type, a line feed, and the bytes.
pub(super) fn write_payload(payload: Option<&Payload>, into: &mut Vec<u8>) {
    if let Some(payload) = payload {
        into.extend_from_slice(payload.content_type.as_deref().unwrap_or_default().as_bytes());
        into.push(b'\n');
        into.extend_from_slice(&payload.bytes);
    }
}

fn read_payload(from: &[u8]) -> Result<Option<Payload>> {
    if from.is_empty() {
        return Ok(None);
    }
    let end = from.iter().position(|byte| *byte == b'\n').ok_or_else(|| corrupt("payload"))?;
    let content_type = std::str::from_utf8(&from[..end]).map_err(|_| corrupt("content type"))?;
    Ok(Some(Payload {
        content_type: (!content_type.is_empty()).then(|| content_type.into()),
        bytes: from[end + 1..].to_vec().into(),
    }))
}

/// Where a list goes on after a task, besides its id.
pub(super) struct Seen {
    /// The task.
    pub(super) task: Task,
    /// Whether its parameters lie apart: then they are without their bytes.
    large: bool,
    /// Of its submission.
    fingerprint: u128,
    /// Its score or due time, as the server writes it; or its fence or revision, in 15 digits.
    pub(super) place: String,
}

/// Reads a view (`scripts/lib/view.lua`): without errors.
pub(super) fn read_view(view: Value) -> Result<Seen> {
    let [id, record, status, place, state, carry, told] = tuple(view)?;
    let id = TaskId::new(text(id)?).map_err(|_| corrupt("id"))?;
    let status = status_of(&bytes(status)?)?;
    let record = Record::decode(bytes(record)?)?;
    let (place, state) = (text(place)?, bytes(state)?);
    let told = Told::decode(&bytes(told)?)?;
    let carry = Carry::decode(&bytes(carry)?)?;
    let (large, fingerprint) = (record.large, record.fingerprint);
    let mut task = waiting(id, record, status, carry);
    let mut go_on = place.clone();
    (task.heartbeat_at, task.progress, task.checkpoint) = (told.heartbeat_at, told.progress, told.checkpoint);
    task.last_span = told.last_span;
    match status {
        Status::Submitted => {
            let positive = score(place.as_bytes())?.rem_euclid(1_000_000_000_000_000);
            task.revision = task.revision.max(u64::try_from(positive).unwrap_or(0));
        }
        Status::Started => {
            start(&mut task, &state, score(place.as_bytes())?)?;
            go_on = format!("{:015}", task.revision);
        }
        status if status.is_finished() => {
            end(&mut task, &state)?;
            go_on = format!("{:015}", task.revision);
        }
        _ => {}
    }
    Ok(Seen { task, large, fingerprint, place: go_on })
}

/// The status of a stored digit.
pub(super) fn status_of(digit: &[u8]) -> Result<Status> {
    match digit {
        [digit] => Status::from_code(digit.wrapping_sub(b'0')).ok_or_else(|| corrupt("status")),
        _ => Err(corrupt("status")),
    }
}

/// A task as it stands in a queue or scheduled.
fn waiting(id: TaskId, record: Record, status: Status, carry: Option<Carry>) -> Task {
    let carry = carry.unwrap_or(Carry {
        revision: 0,
        ready_at: record.submitted_at,
        attempt: 0,
        crashes: 0,
        started_at: None,
        worker: None,
    });
    Task {
        id,
        name: record.name,
        version: record.version,
        queue: record.queue,
        priority: record.priority,
        status,
        revision: carry.revision,
        parameters: Some(record.parameters),
        overrides: record.overrides,
        attempt: carry.attempt,
        crashes: carry.crashes,
        submitted_at: record.submitted_at,
        ready_at: carry.ready_at,
        started_at: carry.started_at,
        heartbeat_at: None,
        completed_at: None,
        lease: None,
        worker: carry.worker,
        cancel_requested: false,
        progress: None,
        checkpoint: None,
        result: None,
        errors: Vec::new(),
        dead_letter: false,
        unique: record.unique,
        concurrency_key: record.concurrency_key,
        trace: record.trace,
        last_span: None,
    }
}

fn take_facts(task: &mut Task, facts: &Facts<'_>) {
    (task.started_at, task.ready_at) = (facts.started_at, facts.ready_at);
    (task.attempt, task.crashes) = (facts.attempt, facts.crashes);
    task.worker.clone_from(&facts.worker);
}

/// Adds what a lease says.
fn start(task: &mut Task, state: &[u8], expires_at: i64) -> Result<()> {
    let facts = facts(part(state, FACTS_AT.., "lease")?)?;
    take_facts(task, &facts);
    task.revision = facts.fence.0;
    task.cancel_requested = state[0] == CANCEL_REQUESTED;
    let worker = facts.worker.ok_or_else(|| corrupt("lease"))?;
    task.lease = Some(Lease { worker, fence: facts.fence, expires_at: Timestamp::from_micros(expires_at) });
    Ok(())
}

/// Adds what a finished state says.
fn end(task: &mut Task, state: &[u8]) -> Result<()> {
    let facts = facts(part(state, LAST_FACTS_AT.., "ending")?)?;
    take_facts(task, &facts);
    task.completed_at = Some(time(&state[2..18])?);
    task.revision = digits(&state[18..33])?;
    task.dead_letter = state[33] == b'1';
    task.result = read_payload(facts.rest)?;
    Ok(())
}

/// Reads what `get` answers; with the fingerprint of the task's submission.
pub(super) fn read_task(answer: Value) -> Result<Option<DeadTask>> {
    if answer == Value::Nil {
        return Ok(None);
    }
    let [view, errors, body] = tuple(answer)?;
    whole(view, &bytes(errors)?, bytes(body)?).map(Some)
}

/// A view and what lies apart from it.
fn whole(view: Value, errors: &[u8], body: Vec<u8>) -> Result<DeadTask> {
    let Seen { mut task, large, fingerprint, .. } = read_view(view)?;
    task.errors = read_errors(errors)?;
    if large {
        // Let go when it completed.
        let is_gone = body.is_empty();
        task.parameters = task.parameters.filter(|_| !is_gone).map(|kept| Payload { bytes: body.into(), ..kept });
    }
    Ok(DeadTask { task, fingerprint })
}

/// Reads a copy of the outbox.
pub(super) fn read_copy(id: &TaskId, copy: &[u8]) -> Result<DeadTask> {
    const LENGTHS: usize = 32;
    let lengths = part(copy, ..LENGTHS, "copy")?;
    let mut rest = &copy[LENGTHS..];
    let mut pieces = Vec::with_capacity(4);
    for length in lengths.chunks(8) {
        let length = usize::try_from(digits(length)?).map_err(|_| corrupt("copy"))?;
        let (piece, after) = rest.split_at_checked(length).ok_or_else(|| corrupt("copy"))?;
        pieces.push(piece.to_vec());
        rest = after;
    }
    let [record, state, news, errors] = <[Vec<u8>; 4]>::try_from(pieces).map_err(|_| corrupt("copy"))?;
    let status = part(&state, 1..2, "copy")?.to_vec();
    let words = [id.as_str().as_bytes().to_vec(), record, status, Vec::new(), state, Vec::new(), news];
    whole(Value::Array(words.map(Value::BulkString).to_vec()), &errors, rest.to_vec())
}

/// Writes what a task that is not running tells: the span of its last attempt, and its checkpoint.
pub(super) fn write_news(last_span: Option<&str>, checkpoint: Option<&Payload>, into: &mut Vec<u8>) {
    if let Some(span) = last_span.filter(|span| is_traceparent(span)) {
        into.push(HAS_SPAN);
        into.extend_from_slice(span.as_bytes());
    }
    if checkpoint.is_some() || !into.is_empty() {
        into.extend_from_slice(&[b'0'; 22]);
        write_payload(checkpoint, into);
    }
}

/// Reads one queue's part of a claim (`scripts/lib/claim.lua`); answers what was not handed out. A task that can't be read
/// does not stand in its neighbours' way: its lease ends in nobody's hands, and in the end that is counted as its crashes.
pub(super) fn read_claims(
    answer: Value,
    started_at: Timestamp,
    into: &mut Vec<ClaimedTask>,
) -> Result<Vec<NotHandedOut>> {
    let [_, first, ids, records, apart, lost] = tuple(answer)?;
    let first_fence = digits(&bytes(first)?)?;
    let mut pieces = HashMap::new();
    for entry in array(apart)? {
        let [place, carry, told, body] = tuple(entry)?;
        pieces.insert(super::reply::number(place)?, (bytes(carry)?, bytes(told)?, bytes(body)?));
    }
    let mut left_out = Vec::new();
    for ((place, id), record) in (1..).zip(array(ids)?).zip(array(records)?) {
        let (id, fence) = (text(id)?, Fence(first_fence + place - 1));
        match claimed(&id, record, fence, started_at).and_then(|task| add_apart(task, pieces.remove(&place))) {
            Ok(task) => into.push(task),
            Err(error) => left_out.push(NotHandedOut { id, why: error.to_string() }),
        }
    }
    let gone =
        array(lost)?.into_iter().map(|id| Ok(NotHandedOut { id: text(id)?, why: "its record is gone".to_owned() }));
    left_out.extend(gone.collect::<Result<Vec<_>>>()?);
    Ok(left_out)
}

/// A task that a queue held and no worker can get.
pub(super) struct NotHandedOut {
    pub(super) id: String,
    pub(super) why: String,
}

fn claimed(id: &str, record: Value, fence: Fence, started_at: Timestamp) -> Result<ClaimedTask> {
    let id = TaskId::new(id).map_err(|_| corrupt("id"))?;
    let record = Record::decode(bytes(record)?)?;
    Ok(ClaimedTask {
        id,
        name: record.name,
        version: record.version,
        queue: record.queue,
        priority: record.priority,
        parameters: record.parameters,
        overrides: record.overrides,
        attempt: 1,
        crashes: 0,
        fence,
        submitted_at: record.submitted_at,
        ready_at: record.submitted_at,
        started_at,
        checkpoint: None,
        trace: record.trace,
        last_span: None,
    })
}

/// What lies apart from a task's record, if anything: its carry, its news, its parameters.
type Apart = (Vec<u8>, Vec<u8>, Vec<u8>);

fn add_apart(mut task: ClaimedTask, apart: Option<Apart>) -> Result<ClaimedTask> {
    let Some((carry, told, body)) = apart else { return Ok(task) };
    if let Some(carry) = Carry::decode(&carry)? {
        (task.attempt, task.crashes, task.ready_at) = (carry.attempt + 1, carry.crashes, carry.ready_at);
    }
    Told { checkpoint: task.checkpoint, last_span: task.last_span, .. } = Told::decode(&told)?;
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
                let told = Told::decode(&written).unwrap();
                assert_eq!((told.last_span.as_deref(), told.checkpoint.as_ref()), (span, checkpoint));
                assert_eq!((told.heartbeat_at, told.progress), (None, None));
            }
        }
        let as_ever = Told::decode(b"1700000000000001000000\n1").unwrap();
        assert_eq!((as_ever.last_span, as_ever.checkpoint), (None, Some(checkpoint)));
        assert!(Told::decode(b"T00-4bf92f").is_err(), "a piece of one");
    }
}
