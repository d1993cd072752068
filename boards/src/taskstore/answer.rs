//! The JSON that clients get: lower-case keys, which Go's decoder reads as well as capital ones, and both names of a
//! task's time.

use std::{borrow::Cow, str};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jobbers_common::board::{BoardTask, BoardTime};
use serde::{Serialize, Serializer};

use super::Unit;

/// How data that is no UTF-8 is written.
pub(super) const BASE64: &str = "base64";

/// A task.
#[derive(Debug, Serialize)]
pub(super) struct TaskView<'a> {
    id: u64,
    group: &'a str,
    data: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_encoding: Option<&'static str>,
    timespec: i64,
    duration: i64,
    ownerid: i32,
}

impl<'a> TaskView<'a> {
    /// A task from its parts.
    pub(super) fn new(unit: Unit, id: u64, group: &'a str, data: &'a [u8], at: BoardTime, owner: i64) -> Self {
        let (data, data_encoding) = match str::from_utf8(data) {
            Ok(text) => (Cow::Borrowed(text), None),
            Err(_) => (Cow::Owned(STANDARD.encode(data)), Some(BASE64)),
        };
        let time = unit.written(at);
        // Only a bridge's id does not fit, and the Go client decodes 32 bits.
        let ownerid = i32::try_from(owner).unwrap_or(i32::MIN);
        Self { id, group, data, data_encoding, timespec: time, duration: time, ownerid }
    }

    /// A stored task.
    pub(super) fn of(unit: Unit, task: &'a BoardTask) -> Self {
        Self::new(unit, task.revision, &task.group, &task.content.data, task.at, task.owner)
    }
}

/// How an update or a claim ended. One of both is `null`, or both after a claim that found no task.
#[derive(Debug, Serialize)]
pub(super) struct Changed<'a> {
    tasks: Option<&'a [TaskView<'a>]>,
    error: Option<&'a Failure>,
}

impl<'a> Changed<'a> {
    /// It succeeded.
    pub(super) fn done(tasks: &'a [TaskView<'a>]) -> Response {
        Json(Changed { tasks: Some(tasks), error: None }).into_response()
    }

    /// Nothing was available.
    pub(super) fn nothing() -> Response {
        Json(Changed { tasks: None, error: None }).into_response()
    }

    /// Nothing changed.
    pub(super) fn failed(error: &'a Failure) -> Response {
        Json(Changed { tasks: None, error: Some(error) }).into_response()
    }
}

/// Why nothing changed, by all of its reasons.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Failure {
    pub(super) changes: Ids,
    pub(super) deletes: Ids,
    pub(super) depends: Ids,
    pub(super) owned: Ids,
    /// The Go client can't decode any, so it is absent unless something is wrong with the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) bugs: Vec<String>,
}

/// Ids, each once, in the order in which they were asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ids(Vec<i64>);

impl FromIterator<i64> for Ids {
    fn from_iter<I: IntoIterator<Item = i64>>(ids: I) -> Self {
        let mut seen = std::collections::HashSet::new();
        Self(ids.into_iter().filter(|id| seen.insert(*id)).collect())
    }
}

impl Serialize for Ids {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BRIDGE_OWNER;

    #[test]
    fn the_id_of_a_bridge_is_read_as_the_lowest_one() {
        for (owner, shown) in [(7, 7), (-1, -1), (BRIDGE_OWNER, i32::MIN)] {
            assert_eq!(TaskView::new(Unit::Nanoseconds, 1, "g", b"", BoardTime(0), owner).ownerid, shown);
        }
    }
}
