//! Reads the columns of rows.

use bytes::Bytes;
use jobbers_common::{
    engine::{Error, Result},
    lifecycle::Status,
    name::{NameError, WorkerId},
    payload::Payload,
    policy::PolicyOverrides,
    queue::gate::ConcurrencyKey,
    task::{Priority, metadata::Metadata, unique::Unique},
    time::Timestamp,
};
use rusqlite::{Row, types::FromSql};

use crate::sqlite::store::error::{OrStore, corrupt};

/// Reads a row's columns one after the other. Each is named, and where assertions are compiled, as in tests, its name is that
/// which the statement gives it.
pub(crate) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    fn place(&mut self, name: &str) -> usize {
        let place = self.next;
        debug_assert_eq!(self.row.as_ref().column_name(place).ok(), Some(name));
        self.next += 1;
        place
    }

    pub(crate) fn take<T: FromSql>(&mut self, name: &str) -> Result<T> {
        let place = self.place(name);
        self.row.get(place).or_store()
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<&'r str> {
        let place = self.place(name);
        self.row.get_ref(place).or_store()?.as_str().map_err(|error| corrupt("a text", error))
    }

    pub(crate) fn name<N>(&mut self, name: &str, new: impl FnOnce(&'r str) -> Result<N, NameError>) -> Result<N> {
        new(self.text(name)?).map_err(|error| corrupt("a name", error))
    }

    pub(crate) fn time(&mut self, name: &str) -> Result<Timestamp> {
        self.take(name).map(Timestamp::from_micros)
    }

    pub(crate) fn time_or_none(&mut self, name: &str) -> Result<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>(name)?.map(Timestamp::from_micros))
    }

    pub(crate) fn priority(&mut self, name: &str) -> Result<Priority> {
        let rank: u8 = self.take(name)?;
        9_u8.checked_sub(rank).and_then(Priority::new).ok_or_else(|| corrupt("a rank", rank))
    }

    pub(crate) fn overrides(&mut self, name: &str) -> Result<PolicyOverrides> {
        overrides(self.take::<Option<String>>(name)?.as_deref())
    }

    pub(crate) fn trace(&mut self, name: &str) -> Result<Option<Box<str>>> {
        Ok(self.take::<Option<String>>(name)?.map(Into::into))
    }

    pub(crate) fn metadata(&mut self, name: &str) -> Result<Metadata> {
        let text: Option<String> = self.take(name)?;
        text.map_or_else(|| Ok(Metadata::default()), |text| serde_json::from_str(&text))
            .map_err(|error| corrupt("metadata", error))
    }

    pub(crate) fn concurrency_key(&mut self, name: &str) -> Result<Option<ConcurrencyKey>> {
        let key = self.take::<Option<String>>(name)?.map(ConcurrencyKey::new).transpose();
        key.map_err(|error| corrupt("a concurrency key", error))
    }

    /// A type and its bytes.
    pub(crate) fn payload(&mut self, type_name: &str, name: &str) -> Result<Option<Payload>> {
        let content_type: Option<String> = self.take(type_name)?;
        let bytes: Option<Vec<u8>> = self.take(name)?;
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
