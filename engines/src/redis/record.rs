//! A task as it was submitted: what is written once and never changes.
//!
//! The beginning has fixed widths, because scripts read it by position (`scripts/lib/moves.lua` has the table); what
//! follows the queue's name is only read here: a MessagePack array, then the parameters, unless they are large.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, Result},
    gate::ConcurrencyKey,
    limits::KEPT_PARAMETER_BYTES,
    name::{QueueName, TaskName},
    payload::Payload,
    policy::{DeadLetter, PolicyOverrides, TaskPolicy},
    task::{NewTask, Priority},
    time::Timestamp,
    unique::Unique,
};
use serde::{Deserialize, Serialize};

use super::reply::digits;

/// What follows the fixed beginning: name, version, content type unless JSON, trace, overrides if there are any.
type Head<'a> = (&'a str, u32, Option<&'a str>, Option<&'a str>, Option<&'a PolicyOverrides>);

/// The same, read; what the task is to be the only one of, and its key, follow if there is either. `scripts/lib/gates.lua`
/// reads the name and the key.
#[derive(Deserialize)]
struct StoredHead {
    name: String,
    version: u32,
    content_type: Option<Box<str>>,
    trace: Option<Box<str>>,
    overrides: Option<PolicyOverrides>,
    #[serde(default)]
    unique: Option<Box<Unique>>,
    #[serde(default)]
    concurrency_key: Option<ConcurrencyKey>,
}

const SMALL: u8 = b'S';
const LARGE: u8 = b'L';
/// Where the queue's name begins, counted from the record's own beginning (`submitted_at`).
const QUEUE_AT: usize = 41;

/// Whether a task's parameters lie apart from its record.
pub(super) fn is_large(task: &NewTask) -> bool {
    task.parameters.len() > KEPT_PARAMETER_BYTES
}

/// Writes a task's record, without the `submitted_at` that the script puts in front.
pub(super) fn encode(task: &NewTask, into: &mut Vec<u8>) -> Result<()> {
    encode_as(task.fingerprint(), task, into)
}

/// The same, of a task that was submitted with this fingerprint and may have been altered since.
pub(super) fn encode_as(fingerprint: u128, task: &NewTask, into: &mut Vec<u8>) -> Result<()> {
    let large = is_large(task);
    let dead_letter = task.overrides.dead_letter == Some(DeadLetter::Save);
    let max_crashes = task.overrides.max_crashes.unwrap_or(TaskPolicy::DEFAULT.max_crashes);
    let queue = task.queue.as_str();
    into.extend_from_slice(&fingerprint.to_be_bytes());
    into.push(if large { LARGE } else { SMALL });
    into.push(if dead_letter { b'1' } else { b'0' });
    push_digits3(into, max_crashes.min(999));
    into.push(b'0' + task.priority.get());
    push_digits3(into, u32::try_from(queue.len()).unwrap_or(999));
    into.extend_from_slice(queue.as_bytes());
    let (name, version, content_type, trace, overrides): Head<'_> = (
        task.name.as_str(),
        task.version,
        task.parameters.content_type.as_deref(),
        task.trace.as_deref(),
        (!task.overrides.is_empty()).then_some(&task.overrides),
    );
    let mut writer = rmp_serde::Serializer::new(&mut *into).with_struct_map();
    match (task.unique.as_deref(), &task.concurrency_key) {
        (None, None) => (name, version, content_type, trace, overrides).serialize(&mut writer),
        (Some(unique), None) => (name, version, content_type, trace, overrides, unique).serialize(&mut writer),
        (unique, key) => (name, version, content_type, trace, overrides, unique, key).serialize(&mut writer),
    }
    .map_err(|error| Error::Invalid(format!("task {} can't be stored: {error}", task.id)))?;
    if !large {
        into.extend_from_slice(&task.parameters.bytes);
    }
    Ok(())
}

fn push_digits3(into: &mut Vec<u8>, number: u32) {
    for place in [100, 10, 1] {
        into.push(b'0' + u8::try_from(number / place % 10).unwrap_or(0));
    }
}

/// A record read.
pub(super) struct Record {
    pub(super) submitted_at: Timestamp,
    pub(super) fingerprint: u128,
    pub(super) priority: Priority,
    pub(super) queue: QueueName,
    pub(super) name: TaskName,
    pub(super) version: u32,
    pub(super) trace: Option<Box<str>>,
    pub(super) overrides: PolicyOverrides,
    pub(super) unique: Option<Box<Unique>>,
    pub(super) concurrency_key: Option<ConcurrencyKey>,
    /// Whether the parameters lie apart.
    pub(super) large: bool,
    /// The parameters; without their bytes if they lie apart.
    pub(super) parameters: Payload,
}

impl Record {
    /// Reads a record with its `submitted_at`.
    pub(super) fn decode(bytes: Vec<u8>) -> Result<Self> {
        let corrupt = |what: &str| Error::Corrupt(format!("a task's record: {what}"));
        if bytes.len() < QUEUE_AT {
            return Err(corrupt("too short"));
        }
        let queue_end = QUEUE_AT + usize::try_from(digits(&bytes[38..QUEUE_AT])?).unwrap_or(usize::MAX >> 1);
        let queue = bytes.get(QUEUE_AT..queue_end).ok_or_else(|| corrupt("too short"))?;
        let queue = std::str::from_utf8(queue).map_err(|_| corrupt("queue"))?;
        let mut rest = std::io::Cursor::new(&bytes[queue_end..]);
        let mut reader = rmp_serde::Deserializer::new(&mut rest);
        let head: StoredHead = Deserialize::deserialize(&mut reader).map_err(|error| corrupt(&error.to_string()))?;
        let parameters_at = queue_end + usize::try_from(rest.position()).unwrap_or(usize::MAX >> 1);
        let record = Self {
            submitted_at: time(&bytes[..16])?,
            fingerprint: u128::from_be_bytes(bytes[16..32].try_into().map_err(|_| corrupt("fingerprint"))?),
            priority: Priority::new(bytes[37].wrapping_sub(b'0')).ok_or_else(|| corrupt("priority"))?,
            queue: QueueName::new(queue).map_err(|_| corrupt("queue"))?,
            name: TaskName::new(head.name).map_err(|_| corrupt("name"))?,
            version: head.version,
            trace: head.trace,
            overrides: head.overrides.unwrap_or_default(),
            unique: head.unique,
            concurrency_key: head.concurrency_key,
            large: bytes[32] == LARGE,
            parameters: Payload { content_type: head.content_type, bytes: bytes::Bytes::new() },
        };
        let parameters = bytes::Bytes::from(bytes).slice(parameters_at..);
        Ok(Self { parameters: Payload { bytes: parameters, ..record.parameters }, ..record })
    }
}

/// A point in time in digits.
pub(super) fn time(text: &[u8]) -> Result<Timestamp> {
    Ok(Timestamp::from_micros(i64::try_from(digits(text)?).unwrap_or(i64::MAX)))
}

/// Whole microseconds, in digits.
pub(super) fn micros(duration: Duration) -> String {
    jobbers_common::time::micros(duration).to_string()
}

#[cfg(test)]
mod tests {
    use jobbers_common::{backoff::Backoff, name::TaskId, unique::UniqueKey};

    use super::*;

    fn stored(task: &NewTask) -> Record {
        let mut bytes = b"1700000000000001".to_vec();
        encode(task, &mut bytes).unwrap();
        Record::decode(bytes).unwrap()
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
            dead_letter: Some(DeadLetter::Save),
            ..PolicyOverrides::default()
        };
        let new = NewTask {
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
        assert!(!read.large);
    }

    #[test]
    fn large_parameters_lie_apart() {
        let read = stored(&task(&[b' '; KEPT_PARAMETER_BYTES + 1]));
        assert!(read.large && read.parameters.is_empty());
        assert!(!stored(&task(&[b' '; KEPT_PARAMETER_BYTES])).large);
    }

    #[test]
    fn a_damaged_record_is_said_to_be_damaged() {
        let mut bytes = b"1700000000000001".to_vec();
        encode(&task(b"{}"), &mut bytes).unwrap();
        for end in 0..bytes.len() - 2 {
            assert!(matches!(Record::decode(bytes[..end].to_vec()), Err(Error::Corrupt(_))), "cut at {end}");
        }
    }
}
