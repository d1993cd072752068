//! A task's record: its state, and its submission, which never changes.
//!
//! The beginning has fixed widths, because scripts read it by position (`layout.rs` has the table). Only Rust reads the
//! part after the queue's name: a MessagePack array, then the parameters, unless they are large, and the worker.

use std::ops::Range;

use bytes::Bytes;
use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    limits::{KEPT_PARAMETER_BYTES, MAX_TRIES},
    name::{QueueName, TaskName, WorkerId},
    payload::Payload,
    policy::{Exhausted, PolicyOverrides},
    queue::gate::ConcurrencyKey,
    task::{NewTask, Priority, label::Labels, metadata::Metadata, suspicion::Suspicion, unique::Unique},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{
    layout::{CORE, ENDING, FRESH, LEASE, Layout, RECORD, REMAINS, STAMP_BYTES, SUSPICION_STEP},
    reply::digits,
    values::{read_payload, status_of, worker, write_payload},
};

/// The open part: name, version, content type unless JSON, trace, overrides if there are any.
type Open<'a> = (&'a str, u32, Option<&'a str>, Option<&'a str>, Option<&'a PolicyOverrides>);

/// The same, decoded; followed by the uniqueness constraint, the concurrency key, labels as an earlier version wrote them,
/// and the metadata, up to the last it has.
/// `scripts/lib/follow/aside.lua` reads the name and the key.
#[derive(Deserialize)]
struct StoredOpen {
    name: String,
    version: u32,
    content_type: Option<Box<str>>,
    trace: Option<Box<str>>,
    overrides: Option<PolicyOverrides>,
    #[serde(default)]
    unique: Option<Box<Unique>>,
    #[serde(default)]
    concurrency_key: Option<ConcurrencyKey>,
    #[serde(default)]
    labels: Option<Labels>,
    #[serde(default)]
    metadata: Metadata,
}

impl StoredOpen {
    fn metadata(&mut self) -> Metadata {
        self.labels.take().map_or_else(|| std::mem::take(&mut self.metadata), Metadata::from)
    }
}

pub(super) const SMALL: u8 = b'S';
const LARGE: u8 = b'L';
/// The first byte of [`REMAINS`].
const MARKED: u8 = b'>';
/// The states that are not a status.
pub(super) const FRESH_STATE: u8 = b'N';
const CANCELLING: u8 = b'K';

/// Whether a task's parameters are stored separately from its record.
pub(crate) fn is_large(task: &NewTask) -> bool {
    task.parameters.len() > KEPT_PARAMETER_BYTES
}

/// Writes the part of a task that never changes, without the `submitted_at` that the script prepends.
pub(crate) fn encode(task: &NewTask, into: &mut Vec<u8>) -> Result<()> {
    encode_as(task.fingerprint(), task, into)
}

/// The same, for a task that was submitted with this fingerprint and may have been altered since.
pub(crate) fn encode_as(fingerprint: u128, task: &NewTask, into: &mut Vec<u8>) -> Result<()> {
    const BEFORE: usize = CORE.range("submitted_at").end;
    let refuse = |what: String| Error::Invalid(format!("task {} can't be stored: {what}", task.id));
    let start = into.len();
    let (large, queue) = (is_large(task), task.queue.as_str());
    let max_crashes = task.overrides.blames_allowed().map_or(u8::MAX, |most| u8::try_from(most).unwrap_or(u8::MAX));
    into.resize(start + CORE.len() - BEFORE, b'0');
    into.extend_from_slice(queue.as_bytes());
    let (name, version, content_type, trace, overrides): Open<'_> = (
        task.name.as_str(),
        task.version,
        task.parameters.content_type.as_deref(),
        task.trace.as_deref(),
        (!task.overrides.is_empty()).then_some(&task.overrides),
    );
    let mut writer = rmp_serde::Serializer::new(&mut *into).with_struct_map();
    match (task.unique.as_deref(), &task.concurrency_key) {
        (unique, key) if !task.metadata.is_empty() => {
            let labels = None::<Labels>;
            (name, version, content_type, trace, overrides, unique, key, labels, &task.metadata).serialize(&mut writer)
        }
        (None, None) => (name, version, content_type, trace, overrides).serialize(&mut writer),
        (Some(unique), None) => (name, version, content_type, trace, overrides, unique).serialize(&mut writer),
        (unique, key) => (name, version, content_type, trace, overrides, unique, key).serialize(&mut writer),
    }
    .map_err(|error| refuse(error.to_string()))?;
    let open = into.len() - start + BEFORE - CORE.len();
    let open = u16::try_from(open).map_err(|_| refuse(format!("{open} bytes beside its parameters")))?;
    let mut put = |range: Range<usize>, bytes: &[u8]| {
        into[start + range.start - BEFORE..start + range.end - BEFORE].copy_from_slice(bytes);
    };
    let flag = |is: bool| [if is { b'1' } else { b'0' }];
    put(const { CORE.range("fingerprint") }, &fingerprint.to_be_bytes());
    put(const { CORE.range("size") }, &[if large { LARGE } else { SMALL }]);
    put(const { CORE.range("dead_letter") }, &flag(task.overrides.keeps_poison()));
    put(const { CORE.range("max_crashes") }, &[max_crashes]);
    put(const { CORE.range("expires") }, &flag(task.overrides.expires_in.is_some()));
    put(const { CORE.range("tries") }, &[tries_byte(&task.overrides)]);
    put(const { CORE.range("priority") }, &[b'0' + task.priority.get()]);
    put(const { CORE.range("remember") }, &flag(task.id_is_chosen));
    put(const { CORE.range("open_length") }, &open.to_be_bytes());
    put(const { CORE.range("queue_length") }, &[u8::try_from(queue.len()).unwrap_or(u8::MAX)]);
    if !large {
        into.extend_from_slice(&task.parameters.bytes);
    }
    Ok(())
}

/// A task's `max_tries` above the character 0, and how it ends without any left.
fn tries_byte(overrides: &PolicyOverrides) -> u8 {
    let tries = overrides.max_tries.map_or(0, |most| most.min(MAX_TRIES));
    let is_aborted = overrides.exhausted == Some(Exhausted::Aborted) && tries > 0;
    let said = tries + if is_aborted { MAX_TRIES } else { 0 };
    b'0' + u8::try_from(said).unwrap_or(0)
}

/// A task that no other waits for, in the field `linked`.
pub(super) const NOT_LINKED: u8 = b'0';
/// The fields of a lease from `attempt` to `blames`, in the first attempt of a task that was never lost.
pub(super) const FIRST_ATTEMPT: [u8; 6] = [0, 1, 0, 0, b'0', 0];
/// A task that ends by itself, in the field `linked`.
const SPONTANEOUS: u8 = b'2';

/// Marks in the output of [`encode`] that the task has dependencies, or that others depend on it; and whether it ends by itself.
pub(crate) fn mark_linked(core: &mut [u8], is_spontaneous: bool) {
    const AT: usize = CORE.place("linked") - CORE.range("submitted_at").end;
    if let Some(letter) = core.get_mut(AT) {
        *letter = if is_spontaneous { SPONTANEOUS } else { b'1' };
    }
}

/// The state of a task in its record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecordState {
    pub(crate) status: Status,
    /// The fence while it runs.
    pub(crate) revision: u64,
    /// Its place among those of its priority; 0 for a finished task.
    pub(crate) position: u64,
    pub(crate) ready_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) attempt: u32,
    pub(crate) crashes: u32,
    pub(crate) blames: u32,
    /// None for a finished task.
    pub(crate) suspicion: Suspicion,
    /// Whether it is on the outbox, or was.
    pub(crate) dead_letter: bool,
    pub(crate) cancel_requested: bool,
    /// The worker that runs it or ran it last.
    pub(crate) worker: Option<WorkerId>,
}

/// A decoded record.
pub(crate) struct Record {
    pub(crate) standing: RecordState,
    pub(crate) submitted_at: Timestamp,
    pub(crate) fingerprint: u128,
    /// Whether its client chose its id.
    pub(crate) id_is_chosen: bool,
    pub(crate) priority: Priority,
    pub(crate) queue: QueueName,
    pub(crate) name: TaskName,
    pub(crate) version: u32,
    pub(crate) trace: Option<Box<str>>,
    pub(crate) overrides: PolicyOverrides,
    pub(crate) unique: Option<Box<Unique>>,
    pub(crate) concurrency_key: Option<ConcurrencyKey>,
    pub(crate) metadata: Metadata,
    /// Whether it ends by itself once it waits for nothing.
    pub(crate) is_spontaneous: bool,
    /// Whether the parameters are stored separately.
    pub(crate) large: bool,
    /// The parameters; without their bytes if these are stored separately, and if the task completed and let them go.
    pub(crate) parameters: Payload,
    /// The result of a completed task.
    pub(crate) result: Option<Payload>,
}

fn corrupt(what: &str) -> Error {
    Error::Corrupt(format!("a task's record: {what}"))
}

/// A stamp of [`STAMP_BYTES`].
pub(crate) fn stamp(bytes: &[u8]) -> Timestamp {
    Timestamp::from_micros(bytes.iter().fold(0, |micros, byte| micros << 8 | i64::from(*byte)))
}

/// The same, where zeros mean none.
pub(crate) fn some_stamp(bytes: &[u8]) -> Option<Timestamp> {
    Some(stamp(bytes)).filter(|at| at.as_micros() != 0)
}

/// Writes a stamp.
pub(crate) fn write_stamp(at: Timestamp, into: &mut Vec<u8>) {
    let bytes = at.as_micros().to_be_bytes();
    into.extend_from_slice(&bytes[bytes.len() - STAMP_BYTES..]);
}

const LONGEST_RUN_S: u8 = Suspicion::new(1, u8::MAX).ran_s();

/// Reads a suspicion: the character `0`, and above it the losses in a row, and eight times the seconds that its run was
/// shorter than the longest. So what earlier versions wrote, the losses as a digit, is of the longest run.
pub(crate) const fn read_suspicion(byte: u8) -> Suspicion {
    let code = byte.saturating_sub(b'0');
    Suspicion::new(code % SUSPICION_STEP, LONGEST_RUN_S.saturating_sub(code / SUSPICION_STEP))
}

/// Writes a suspicion.
pub(crate) const fn write_suspicion(suspicion: Suspicion) -> u8 {
    match suspicion.losses() {
        0 => b'0',
        losses => b'0' + losses + SUSPICION_STEP * (LONGEST_RUN_S - suspicion.ran_s()),
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The layout of a task's record in a state.
fn layout_of(state: u8) -> Result<&'static Layout> {
    const { assert!(FRESH.range("revision").end == RECORD.range("revision").end) };
    match state {
        FRESH_STATE => Ok(&FRESH),
        CANCELLING | b'0'..=b'3' => Ok(&LEASE),
        b'4'..=b'9' => Ok(&ENDING),
        _ => Err(corrupt("state")),
    }
}

impl RecordState {
    /// Decodes the fixed beginning of a record, in its layout, and its last part.
    fn decode(fixed: &[u8], submitted_at: Timestamp, ran: &[u8]) -> Result<Self> {
        let state = fixed[const { RECORD.place("state") }];
        let revision = digits(&fixed[const { RECORD.range("revision") }])?;
        let mut standing = Self {
            status: Status::Submitted,
            revision,
            position: revision,
            ready_at: submitted_at,
            started_at: None,
            completed_at: None,
            attempt: 0,
            crashes: 0,
            blames: 0,
            suspicion: Suspicion::NONE,
            dead_letter: false,
            cancel_requested: state == CANCELLING,
            worker: worker(ran)?,
        };
        let counted = match state {
            FRESH_STATE => return Ok(standing),
            b'4'..=b'9' => {
                standing.completed_at = Some(stamp(&fixed[const { ENDING.range("completed_at") }]));
                standing.dead_letter = fixed[const { ENDING.place("dead_letter") }] == b'1';
                standing.position = 0;
                &fixed[const { ENDING.place("ready_at") }..]
            }
            _ => {
                standing.position = digits(&fixed[const { LEASE.range("position") }])?;
                &fixed[const { LEASE.place("ready_at") }..]
            }
        };
        const fn at(name: &str) -> Range<usize> {
            let (range, first) = (LEASE.range(name), LEASE.place("ready_at"));
            range.start - first..range.end - first
        }
        standing.status = if state == CANCELLING { Status::Started } else { status_of(&[state])? };
        standing.ready_at = stamp(&counted[const { at("ready_at") }]);
        standing.started_at = some_stamp(&counted[const { at("started_at") }]);
        standing.attempt = number(&counted[const { at("attempt") }]);
        standing.crashes = number(&counted[const { at("crashes") }]);
        standing.blames = number(&counted[const { at("blames") }]);
        if standing.completed_at.is_none() {
            standing.suspicion = read_suspicion(counted[const { at("suspicion") }.start]);
        }
        Ok(standing)
    }

    /// Its score in the queue as the server writes it, if it has one.
    pub(crate) fn score(&self, priority: Priority) -> i64 {
        let rank = 5 - i64::from(priority.get());
        rank * 1_000_000_000_000_000 + i64::try_from(self.position).unwrap_or(0)
    }
}

/// Writes what the record of a completed task ends with: what it returned, and the parameters it keeps.
pub(crate) fn write_remains(result: Option<&Payload>, parameters: &[u8], into: &mut Vec<u8>) {
    let at = into.len() + REMAINS.len();
    if result.is_none() && parameters.is_empty() {
        return;
    }
    into.push(MARKED);
    into.extend([0; REMAINS.range("result_length").end - REMAINS.range("result_length").start]);
    write_payload(result, into);
    let length = u32::try_from(into.len() - at).unwrap_or(u32::MAX);
    into[at - size_of::<u32>()..at].copy_from_slice(&length.to_be_bytes());
    into.extend_from_slice(parameters);
}

/// Reads what [`write_remains`] wrote, or the result alone, as earlier versions wrote it.
fn read_remains(rest: &Bytes) -> Result<(Bytes, Option<Payload>)> {
    if rest.first() != Some(&MARKED) {
        return Ok((Bytes::new(), read_payload(rest)?));
    }
    let length = rest.get(const { REMAINS.range("result_length") }).ok_or_else(|| corrupt("result"))?;
    let parameters_at = REMAINS.len() + number(length) as usize;
    let result = rest.get(REMAINS.len()..parameters_at).ok_or_else(|| corrupt("result"))?;
    Ok((rest.slice(parameters_at..), read_payload(result)?))
}

impl Record {
    /// Reads a record.
    pub(crate) fn decode(bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes = bytes.into();
        let layout = layout_of(*bytes.first().ok_or_else(|| corrupt("empty"))?)?;
        let core_at = layout.len();
        let queue_at = core_at + CORE.len();
        let core = bytes.get(core_at..queue_at).ok_or_else(|| corrupt("too short"))?;
        let open_at = queue_at + usize::from(core[const { CORE.place("queue_length") }]);
        let rest_at = queue_at + number(&core[const { CORE.range("open_length") }]) as usize;
        let ran = if core_at == FRESH.len() { 0 } else { usize::from(bytes[core_at - 1]) };
        let ran_at = bytes.len().checked_sub(ran).filter(|at| *at >= rest_at).ok_or_else(|| corrupt("too short"))?;
        let queue = bytes.get(queue_at..open_at).ok_or_else(|| corrupt("queue"))?;
        let queue = std::str::from_utf8(queue).map_err(|_| corrupt("queue"))?;
        let mut open = bytes.get(open_at..rest_at).ok_or_else(|| corrupt("too short"))?;
        let mut reader = rmp_serde::Deserializer::new(&mut open);
        let mut open: StoredOpen =
            Deserialize::deserialize(&mut reader).map_err(|error| corrupt(&error.to_string()))?;
        let submitted_at = stamp(&core[const { CORE.range("submitted_at") }]);
        let metadata = open.metadata();
        let mut overrides = open.overrides.unwrap_or_default();
        // A task that was sent again does not expire.
        overrides.expires_in = overrides.expires_in.filter(|_| core[const { CORE.place("expires") }] == b'1');
        let standing = RecordState::decode(&bytes[..core_at], submitted_at, &bytes[ran_at..])?;
        let rest = bytes.slice(rest_at..ran_at);
        let (parameters, result) = match standing.status {
            Status::Completed => read_remains(&rest)?,
            _ => (rest, None),
        };
        let fingerprint = core[const { CORE.range("fingerprint") }].try_into().map_err(|_| corrupt("fingerprint"))?;
        let priority = core[const { CORE.place("priority") }].wrapping_sub(b'0');
        Ok(Self {
            submitted_at,
            fingerprint: u128::from_be_bytes(fingerprint),
            id_is_chosen: core[const { CORE.place("remember") }] == b'1',
            priority: Priority::new(priority).ok_or_else(|| corrupt("priority"))?,
            queue: QueueName::new(queue).map_err(|_| corrupt("queue"))?,
            name: TaskName::new(open.name).map_err(|_| corrupt("name"))?,
            version: open.version,
            trace: open.trace,
            overrides,
            unique: open.unique,
            concurrency_key: open.concurrency_key,
            metadata,
            is_spontaneous: core[const { CORE.place("linked") }] == SPONTANEOUS,
            large: core[const { CORE.place("size") }] == LARGE,
            parameters: Payload { content_type: open.content_type, bytes: parameters },
            result,
            standing,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobbers_common::{name::TaskId, policy::backoff::Backoff, task::unique::UniqueKey};

    use jobbers_common::policy::DeadLetter;

    use super::*;

    fn fresh(task: &NewTask) -> Vec<u8> {
        let mut bytes = b"N000000000000017".to_vec();
        write_stamp(Timestamp::from_micros(1_700_000_000_000_001), &mut bytes);
        encode(task, &mut bytes).unwrap();
        bytes
    }

    fn stored(task: &NewTask) -> Record {
        Record::decode(fresh(task)).unwrap()
    }

    fn task(parameters: &[u8]) -> NewTask {
        NewTask::new(
            TaskId::new("a").unwrap(),
            TaskName::new("resize").unwrap(),
            QueueName::new("q".repeat(128)).unwrap(),
            Payload::json(parameters.to_vec()),
        )
    }

    #[test]
    fn a_record_reads_back() {
        let overrides = PolicyOverrides {
            backoff: Some(Backoff::Linear),
            retry_delay: Some(Duration::from_millis(1_500)),
            max_crashes: Some(7),
            max_tries: Some(MAX_TRIES),
            exhausted: Some(Exhausted::Aborted),
            dead_letter: Some(DeadLetter::Save),
            ..PolicyOverrides::default()
        };
        let new = NewTask {
            id_is_chosen: true,
            version: 7,
            priority: Priority::new(9).unwrap(),
            trace: Some("00-ab-cd-01".into()),
            overrides,
            unique: Some(Box::new(Unique::new(UniqueKey::new("customer:42").unwrap()))),
            concurrency_key: Some(ConcurrencyKey::new("acme").unwrap()),
            parameters: Payload {
                content_type: Some("text/plain".into()),
                bytes: (0..=255).collect::<Vec<u8>>().into(),
            },
            ..task(b"")
        };
        let read = stored(&new);
        assert_eq!(read.submitted_at, Timestamp::from_micros(1_700_000_000_000_001));
        assert_eq!((read.name, read.version, read.queue, read.priority), (new.name, 7, new.queue, new.priority));
        assert_eq!((read.trace, read.overrides, read.parameters), (new.trace, new.overrides, new.parameters));
        assert_eq!(read.unique, new.unique);
        assert_eq!(read.concurrency_key, new.concurrency_key);
        let keyed = stored(&NewTask { unique: None, concurrency_key: new.concurrency_key.clone(), ..task(b"{}") });
        assert_eq!((keyed.unique, keyed.concurrency_key), (None, new.concurrency_key));
        assert!(!read.large && read.id_is_chosen && !stored(&task(b"{}")).id_is_chosen);
        let RecordState { status, revision, position, ready_at, started_at, attempt, worker, .. } = read.standing;
        assert_eq!((status, revision, position, ready_at), (Status::Submitted, 17, 17, read.submitted_at));
        assert_eq!((started_at, attempt, worker), (None, 0, None));
    }

    #[test]
    fn metadata_reads_back_and_so_do_labels_as_an_earlier_version_wrote_them() {
        let labels: Labels = serde_json::from_str(r#"{"team": "core"}"#).unwrap();
        let metadata = Metadata::from(labels.clone());
        let new = NewTask { metadata: metadata.clone(), ..task(b"{}") };
        assert_eq!(stored(&new).metadata, metadata);
        let none = None::<()>;
        let earlier = rmp_serde::to_vec(&("resize", 1, none, none, none, none, none, labels)).unwrap();
        assert_eq!(rmp_serde::from_slice::<StoredOpen>(&earlier).unwrap().metadata(), metadata);
    }

    #[test]
    fn what_a_completed_task_keeps_reads_back_and_so_does_a_result_as_an_earlier_version_wrote_it() {
        let text = Payload { content_type: Some(">odd".into()), ..Payload::json(&b"7"[..]) };
        for result in [None, Some(&Payload::json(&b"[1]"[..])), Some(&text)] {
            for parameters in [&b""[..], b"{}", b">\n"] {
                let mut written = Vec::new();
                write_remains(result, parameters, &mut written);
                let (kept, returned) = read_remains(&Bytes::from(written)).unwrap();
                assert_eq!((&kept[..], returned.as_ref()), (parameters, result));
            }
        }
        let mut earlier = Vec::new();
        write_payload(Some(&Payload::json(&b"[1]"[..])), &mut earlier);
        let read = read_remains(&Bytes::from(earlier)).unwrap();
        assert_eq!(read, (Bytes::new(), Some(Payload::json(&b"[1]"[..]))));
        for cut in [&b">"[..], b">\0\0\0", b">\0\0\0\x09\n1"] {
            assert!(read_remains(&Bytes::copy_from_slice(cut)).is_err());
        }
    }

    #[test]
    fn a_plain_task_fits_the_allocators_class_of_192_bytes() {
        let plain = NewTask { queue: QueueName::new("default").unwrap(), ..task(&[b'x'; 100]) };
        assert!(fresh(&plain).len() <= 188, "four bytes are the server's own");
    }

    #[test]
    fn large_parameters_lie_apart() {
        let read = stored(&task(&[b' '; KEPT_PARAMETER_BYTES + 1]));
        assert!(read.large && read.parameters.is_empty());
        assert!(!stored(&task(&[b' '; KEPT_PARAMETER_BYTES])).large);
    }

    #[test]
    fn a_damaged_record_is_said_to_be_damaged() {
        let bytes = fresh(&task(b""));
        for end in 0..bytes.len() {
            assert!(matches!(Record::decode(bytes[..end].to_vec()), Err(Error::Corrupt(_))), "cut at {end}");
        }
    }
}
