//! Reads the answers of scripts: arrays of byte strings and whole numbers.

use jobbers_common::engine::{Error, Result};
use redis::Value;

use crate::redis::server::failure::malformed;

/// An array.
pub(crate) fn array(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(malformed("expected an array")),
    }
}

/// An array of exactly `N`.
pub(crate) fn tuple<const N: usize>(value: Value) -> Result<[Value; N]> {
    array(value)?.try_into().map_err(|_| malformed("expected an array of another length"))
}

/// A byte string.
pub(crate) fn bytes(value: Value) -> Result<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.into_bytes()),
        _ => Err(malformed("expected a string")),
    }
}

/// A text.
pub(crate) fn text(value: Value) -> Result<String> {
    String::from_utf8(bytes(value)?).map_err(|_| malformed("expected a text"))
}

/// A whole number that is not negative, as a number or in digits.
pub(crate) fn number(value: Value) -> Result<u64> {
    match value {
        Value::Int(number) => u64::try_from(number).map_err(|_| malformed("expected a count")),
        other => digits(&bytes(other)?),
    }
}

/// A whole number in digits, perhaps padded with zeros.
pub(crate) fn digits(text: &[u8]) -> Result<u64> {
    let corrupt = || Error::Corrupt(format!("{:?} is not a number", String::from_utf8_lossy(text)));
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(corrupt)
}
