//! Reads the columns of rows.

use bytes::Bytes;
use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    name::{NameError, WorkerId},
    payload::Payload,
    policy::PolicyOverrides,
    task::{Priority, metadata::Metadata, unique::Unique},
    time::Timestamp,
};
use rusqlite::{Row, types::FromSql};

use crate::sqlite::store::error::{OrStore, corrupt};

/// Reads a row's columns one after the other, in the order its statement names them.
pub(crate) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    pub(crate) fn take<T: FromSql>(&mut self) -> Result<T> {
        let column = self.next;
        self.next += 1;
        self.row.get(column).or_store()
    }

    pub(crate) fn text(&mut self) -> Result<&'r str> {
        let column = self.next;
        self.next += 1;
        self.row.get_ref(column).or_store()?.as_str().map_err(|error| corrupt("a text", error))
    }

    pub(crate) fn name<N>(&mut self, new: impl FnOnce(&'r str) -> Result<N, NameError>) -> Result<N> {
        new(self.text()?).map_err(|error| corrupt("a name", error))
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp> {
        self.take().map(Timestamp::from_micros)
    }

    pub(crate) fn time_or_none(&mut self) -> Result<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>()?.map(Timestamp::from_micros))
    }

    pub(crate) fn priority(&mut self) -> Result<Priority> {
        let rank: u8 = self.take()?;
        9_u8.checked_sub(rank).and_then(Priority::new).ok_or_else(|| corrupt("a rank", rank))
    }

    pub(crate) fn overrides(&mut self) -> Result<PolicyOverrides> {
        overrides(self.take::<Option<String>>()?.as_deref())
    }

    pub(crate) fn trace(&mut self) -> Result<Option<Box<str>>> {
        Ok(self.take::<Option<String>>()?.map(Into::into))
    }

    pub(crate) fn metadata(&mut self) -> Result<Metadata> {
        let text: Option<String> = self.take()?;
        text.map_or_else(|| Ok(Metadata::default()), |text| serde_json::from_str(&text))
            .map_err(|error| corrupt("metadata", error))
    }

    /// A type and its bytes.
    pub(crate) fn payload(&mut self) -> Result<Option<Payload>> {
        let content_type: Option<String> = self.take()?;
        let bytes: Option<Vec<u8>> = self.take()?;
        Ok(bytes.map(|bytes| Payload { content_type: content_type.map(Into::into), bytes: Bytes::from(bytes) }))
    }
}

/// The status of a stored number.
pub(crate) fn status(code: u8) -> Result<Status> {
    Status::from_code(code).ok_or_else(|| corrupt("a status", code))
}

/// The overrides of a submission, as stored.
pub(crate) fn overrides(text: Option<&str>) -> Result<PolicyOverrides> {
    text.map_or_else(|| Ok(PolicyOverrides::default()), serde_json::from_str)
        .map_err(|error| corrupt("overrides", error))
}

/// Metadata, as it is stored.
pub(crate) fn stored_metadata(metadata: &Metadata) -> Result<Option<String>> {
    let stored = (!metadata.is_empty()).then(|| serde_json::to_string(metadata));
    stored.transpose().map_err(|error| Error::Invalid(error.to_string()))
}

/// A stored worker's id.
pub(crate) fn worker(text: String) -> Result<WorkerId> {
    WorkerId::new(text).map_err(|error| corrupt("a worker", error))
}

/// The uniqueness constraint of a submission, as stored.
pub(crate) fn uniqueness(said: &str) -> Result<Unique> {
    serde_json::from_str(said).map_err(|error| corrupt("a unique key", error))
}
