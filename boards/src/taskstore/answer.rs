//! The JSON that clients get: keys as the document spells them or as the original's server does, and both names of a
//! task's time.

use std::{borrow::Cow, str};

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jobbers_common::engine::boards::task::{BoardTask, BoardTime};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::dialect::Unit;

/// How data that is no UTF-8 is written.
pub(super) const BASE64: &str = "base64";

/// A task.
#[derive(Debug, Serialize)]
pub(super) struct TaskStoreTask<'a> {
    id: u64,
    group: &'a str,
    data: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_encoding: Option<&'static str>,
    timespec: i64,
    duration: i64,
    ownerid: i32,
}

impl<'a> TaskStoreTask<'a> {
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
#[derive(Debug)]
pub(super) struct Changed<'a> {
    unit: Unit,
    tasks: Option<&'a [TaskStoreTask<'a>]>,
    error: Option<&'a CommitFailure>,
}

impl<'a> Changed<'a> {
    /// It succeeded.
    pub(super) fn done(unit: Unit, tasks: &'a [TaskStoreTask<'a>]) -> Response {
        Json(Changed { unit, tasks: Some(tasks), error: None }).into_response()
    }

    /// Nothing was available.
    pub(super) fn nothing(unit: Unit) -> Response {
        Json(Changed { unit, tasks: None, error: None }).into_response()
    }

    /// Nothing changed.
    pub(super) fn failed(unit: Unit, error: &'a CommitFailure) -> Response {
        Json(Changed { unit, tasks: None, error: Some(error) }).into_response()
    }
}

/// The original's server begins these keys with capitals, its document does not. Keys of tasks are in lower case in both.
impl Serialize for Changed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (tasks, error) = match self.unit {
            Unit::Milliseconds => ("tasks", "error"),
            Unit::Nanoseconds => ("Tasks", "Error"),
        };
        let mut answer = serializer.serialize_struct("Changed", 2)?;
        answer.serialize_field(tasks, &self.tasks)?;
        match (self.error, self.unit) {
            (Some(failure), Unit::Nanoseconds) => answer.serialize_field(error, &AsServer(failure))?,
            (failure, _) => answer.serialize_field(error, &failure)?,
        }
        answer.end()
    }
}

/// Why nothing changed, by all of its reasons.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct CommitFailure {
    pub(super) changes: Ids,
    pub(super) deletes: Ids,
    pub(super) depends: Ids,
    pub(super) owned: Ids,
    /// What is wrong with the request. The Go client can't decode any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) bugs: Vec<String>,
}

/// A failure as the original's server writes it: with capitals, and `Bugs` also when it is empty.
struct AsServer<'a>(&'a CommitFailure);

impl Serialize for AsServer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CommitFailure { changes, deletes, depends, owned, bugs } = self.0;
        let mut failure = serializer.serialize_struct("Failure", 5)?;
        for (name, ids) in [("Changes", changes), ("Deletes", deletes), ("Depends", depends), ("Owned", owned)] {
            failure.serialize_field(name, ids)?;
        }
        failure.serialize_field("Bugs", bugs)?;
        failure.end()
    }
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
    fn keys_are_spelt_as_the_document_or_as_the_server_spells_them() {
        let failure = CommitFailure { owned: [3].into_iter().collect(), ..CommitFailure::default() };
        let written = |unit, error| serde_json::to_string(&Changed { unit, tasks: None, error }).unwrap();
        for (unit, error, text) in [
            (Unit::Milliseconds, None, r#"{"tasks":null,"error":null}"#),
            (Unit::Nanoseconds, None, r#"{"Tasks":null,"Error":null}"#),
            (
                Unit::Milliseconds,
                Some(&failure),
                r#"{"tasks":null,"error":{"changes":[],"deletes":[],"depends":[],"owned":[3]}}"#,
            ),
            (
                Unit::Nanoseconds,
                Some(&failure),
                r#"{"Tasks":null,"Error":{"Changes":[],"Deletes":[],"Depends":[],"Owned":[3],"Bugs":[]}}"#,
            ),
        ] {
            assert_eq!(written(unit, error), text);
        }
    }

    #[test]
    fn the_id_of_a_bridge_is_read_as_the_lowest_one() {
        for (owner, shown) in [(7, 7), (-1, -1), (BRIDGE_OWNER, i32::MIN)] {
            assert_eq!(TaskStoreTask::new(Unit::Nanoseconds, 1, "g", b"", BoardTime(0), owner).ownerid, shown);
        }
    }
}
