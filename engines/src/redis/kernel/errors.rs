//! Errors of attempts, as scripts keep them; the layout is in `layout.rs`.

use jobbers_common::{
    engine::{Error, Result},
    policy::error_kind::ErrorKind,
    task::{AttemptError, AttemptFailure, FailureKind},
};

use super::{
    layout::{ERROR, HISTORY},
    reply::digits,
    values::{count, part, time, worker},
};

/// Ends the kind of an error.
const END_OF_KIND: char = ';';
/// Written in place of that character within a kind, which has no control characters.
const SEMICOLON_IN_KIND: &str = "\u{1}";

fn corrupt(what: &str) -> Error {
    Error::Corrupt(format!("a task's {what} can't be read"))
}

/// Writes a failure for a script to add to a task's errors.
pub(crate) fn write_failure(failure: &AttemptFailure, into: &mut Vec<u8>) {
    // Cut again: only then its length surely fits five digits.
    let AttemptFailure { kind, message, .. } = AttemptFailure::new(failure.kind, failure.message.as_str());
    into.extend_from_slice(kind_text(kind, failure.error_kind.as_ref()).as_bytes());
    into.extend_from_slice(message.as_bytes());
}

fn kind_text(kind: FailureKind, error_kind: Option<&ErrorKind>) -> String {
    let letter = letter_of(kind);
    error_kind.map_or_else(
        || letter.to_string(),
        |error_kind| {
            let text = error_kind.as_str().replace(END_OF_KIND, SEMICOLON_IN_KIND);
            format!("{}{text}{END_OF_KIND}", letter.to_ascii_uppercase())
        },
    )
}

/// The letter that stores a kind of failure. A capital is followed by the kind of error and a `;`.
const fn letter_of(kind: FailureKind) -> char {
    match kind {
        FailureKind::Error => 'e',
        FailureKind::Fatal => 'f',
        FailureKind::Timeout => 't',
        FailureKind::Panic => 'p',
        FailureKind::Crash => 'c',
        FailureKind::Shutdown => 's',
        FailureKind::Cancelled => 'x',
        FailureKind::Stall => 'h',
        FailureKind::Unknown => 'u',
        FailureKind::Expired => 'o',
    }
}

fn kind_of(letter: u8) -> Result<FailureKind> {
    use FailureKind as K;
    const ALL: [FailureKind; 10] = [
        K::Error,
        K::Fatal,
        K::Timeout,
        K::Panic,
        K::Crash,
        K::Shutdown,
        K::Cancelled,
        K::Stall,
        K::Unknown,
        K::Expired,
    ];
    ALL.into_iter().find(|kind| letter_of(*kind) == char::from(letter)).ok_or_else(|| corrupt("error"))
}

/// Reads a task's errors.
pub(crate) fn read_errors(from: &[u8]) -> Result<Vec<AttemptError>> {
    let mut errors = Vec::new();
    let mut rest = from.get(HISTORY.len()..).unwrap_or_default();
    while !rest.is_empty() {
        let length = part(rest, const { ERROR.range("length") }, "error")?;
        let end =
            const { ERROR.range("length").end } + usize::try_from(digits(length)?).map_err(|_| corrupt("error"))?;
        errors.push(read_error(part(rest, ..end, "error")?)?);
        rest = &rest[end..];
    }
    Ok(errors)
}

fn read_error(entry: &[u8]) -> Result<AttemptError> {
    let (fixed, tail) = entry.split_at_checked(ERROR.len()).ok_or_else(|| corrupt("error"))?;
    let split = tail.iter().position(|byte| *byte == b';').ok_or_else(|| corrupt("error"))?;
    let worker = worker(&tail[..split])?.ok_or_else(|| corrupt("error"))?;
    let (letter, mut message) = tail[split + 1..].split_first().ok_or_else(|| corrupt("error"))?;
    let kind = kind_of(letter.to_ascii_lowercase())?;
    let mut error_kind = None;
    if letter.is_ascii_uppercase() {
        let split = message.iter().position(|byte| *byte == b';').ok_or_else(|| corrupt("error"))?;
        let text = String::from_utf8_lossy(&message[..split]).replace(SEMICOLON_IN_KIND, ";");
        error_kind = Some(ErrorKind::new(text).map_err(|_| corrupt("error"))?);
        message = &message[split + 1..];
    }
    let message = match (kind, message) {
        // The store noted these itself; the reader adds the message.
        (FailureKind::Expired, []) => AttemptFailure::expired().message,
        (FailureKind::Crash, []) => format!("the worker {worker} vanished: its lease ended"),
        (_, message) => String::from_utf8_lossy(message).into_owned(),
    };
    let at = time(&fixed[const { ERROR.range("at") }])?;
    Ok(AttemptError {
        at,
        attempt: count(&fixed[const { ERROR.range("attempt") }])?,
        worker,
        kind,
        error_kind,
        message,
    })
}

/// Writes errors as scripts keep them.
pub(crate) fn write_errors(errors: &[AttemptError], into: &mut Vec<u8>) {
    if errors.is_empty() {
        return;
    }
    into.extend_from_slice(format!("{:03}", errors.len()).as_bytes());
    for AttemptError { at, attempt, worker, kind, error_kind, message } in errors {
        let kind_text = kind_text(*kind, error_kind.as_ref());
        // The reader adds the message of a failure that the store notes itself.
        let message = if matches!(kind, FailureKind::Crash | FailureKind::Expired) { "" } else { message };
        let entry = format!("{:016}{attempt:06}{worker};{kind_text}{message}", at.as_micros());
        into.extend_from_slice(format!("{:05}{entry}", entry.len()).as_bytes());
    }
}
