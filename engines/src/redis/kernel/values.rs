//! Values in the strings that scripts keep: counts, times, names and payloads.

use std::time::Duration;

use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    name::WorkerId,
    payload::Payload,
    time::Timestamp,
};

use super::reply::digits;

fn corrupt(what: &str) -> Error {
    Error::Corrupt(format!("a task's {what} can't be read"))
}

/// A slice, or an error.
pub(crate) fn part<'a>(
    from: &'a [u8],
    range: impl std::slice::SliceIndex<[u8], Output = [u8]>,
    what: &str,
) -> Result<&'a [u8]> {
    from.get(range).ok_or_else(|| corrupt(what))
}

/// A number in digits as a count.
pub(crate) fn count(text: &[u8]) -> Result<u32> {
    u32::try_from(digits(text)?).map_err(|_| corrupt("count"))
}

/// A worker's name; an empty one is none.
pub(crate) fn worker(name: &[u8]) -> Result<Option<WorkerId>> {
    if name.is_empty() {
        return Ok(None);
    }
    let name = std::str::from_utf8(name).map_err(|_| corrupt("worker"))?;
    WorkerId::new(name).map(Some).map_err(|_| corrupt("worker"))
}

/// A time; zeros are none.
pub(crate) fn some_time(digits: &[u8]) -> Result<Option<Timestamp>> {
    time(digits).map(|at| (at.as_micros() != 0).then_some(at))
}

/// Writes a result or a checkpoint: nothing for none, else the content type, a line feed, and the bytes.
pub(crate) fn write_payload(payload: Option<&Payload>, into: &mut Vec<u8>) {
    if let Some(payload) = payload {
        into.extend_from_slice(payload.content_type.as_deref().unwrap_or_default().as_bytes());
        into.push(b'\n');
        into.extend_from_slice(&payload.bytes);
    }
}

/// Reads what [`write_payload`] wrote.
pub(crate) fn read_payload(from: &[u8]) -> Result<Option<Payload>> {
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

/// The status of a stored digit.
pub(crate) fn status_of(digit: &[u8]) -> Result<Status> {
    match digit {
        [digit] => Status::from_code(digit.wrapping_sub(b'0')).ok_or_else(|| corrupt("status")),
        _ => Err(corrupt("status")),
    }
}

/// A point in time in digits.
pub(crate) fn time(text: &[u8]) -> Result<Timestamp> {
    Ok(Timestamp::from_micros(i64::try_from(digits(text)?).unwrap_or(i64::MAX)))
}

/// Whole microseconds, in digits.
pub(crate) fn micros(duration: Duration) -> String {
    jobbers_common::time::micros(duration).to_string()
}
