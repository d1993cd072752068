//! The part of a task's declaration that its submissions take over.

use std::time::Duration;

use jobbers_common::policy::TaskPolicy;
use serde::Serialize;
use serde_json::Value;

use crate::declaration::uniqueness::Uniqueness;

/// What `#[task]` says about a task with parameters `P`, and every submission of it needs.
pub(crate) struct Declared<P> {
    pub(crate) name: &'static str,
    pub(crate) version: u32,
    pub(crate) policy: TaskPolicy,
    pub(crate) unique: Option<Uniqueness<P>>,
    /// How late a first attempt may begin.
    pub(crate) expires_in: Option<Duration>,
    pub(crate) defaults: Defaults<P>,
}

/// What each submission of a task says, unless it says otherwise.
#[derive(Debug)]
pub struct Defaults<P> {
    /// The queue, where no routing rule applies; `None` is `default`.
    pub queue: Option<&'static str>,
    /// 0 to 9; `None` is 5.
    pub priority: Option<u8>,
    /// Names and values.
    pub labels: &'static [(&'static str, &'static str)],
    /// Derives the concurrency key from the parameters; `None` for a value without one.
    pub concurrency_key: Option<ConcurrencyKeyOf<P>>,
    /// Whether what a task holds is hidden from readers. No submission can say otherwise.
    pub sensitive: bool,
}

/// Derives a concurrency key from parameters, or explains why it can't.
pub type ConcurrencyKeyOf<P> = fn(&P) -> Result<Option<String>, String>;

impl<P> Defaults<P> {
    pub(crate) const NONE: Self =
        Self { queue: None, priority: None, labels: &[], concurrency_key: None, sensitive: false };
}

/// A field's value as a concurrency key: a text as it is, a number in digits; `null` has none.
///
/// # Errors
/// A sentence if it can't be written as JSON.
pub fn concurrency_key_of<T: Serialize + ?Sized>(field: &T) -> Result<Option<String>, String> {
    match serde_json::to_value(field).map_err(|error| format!("the concurrency key: {error}"))? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => Ok(Some(other.to_string())),
    }
}
