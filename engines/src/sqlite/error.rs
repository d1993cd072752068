//! What SQLite's error codes mean to a caller of the store.

use jobbers_common::engine::Error;
use rusqlite::ErrorCode;

/// What it takes to go on: unlike a quota, a disk leaves no reserve to work with.
const DISK_FULL: &str = "Free some: settling and deleting need room for the log as well";

/// A failing statement, in the store's words.
fn from_sqlite(error: &rusqlite::Error) -> Error {
    let text = error.to_string();
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => from_code(failure.code, text),
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..) => Error::Corrupt(text),
        _ => Error::unavailable(text),
    }
}

fn from_code(code: ErrorCode, text: String) -> Error {
    match code {
        ErrorCode::DiskFull => Error::Full(format!("no room is left on its disk: {text}. {DISK_FULL}")),
        ErrorCode::ReadOnly => Error::ReadOnly(text),
        ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
            Error::Config(format!("the store can't be opened: {text}"))
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation => Error::Corrupt(text),
        _ => Error::unavailable(text),
    }
}

/// Something stored that this program did not write so.
pub(super) fn corrupt(what: &str, error: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("{what}: {error}"))
}

/// `?` on a statement's answer.
pub(super) trait OrStore<T> {
    /// The answer, or the error in the store's words.
    fn or_store(self) -> Result<T, Error>;
}

impl<T> OrStore<T> for rusqlite::Result<T> {
    fn or_store(self) -> Result<T, Error> {
        self.map_err(|error| from_sqlite(&error))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn of(code: i32) -> Error {
        from_sqlite(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn each_code_has_its_own_clear_error() {
        assert!(matches!(of(ffi::SQLITE_BUSY), Error::Unavailable { .. }));
        assert!(matches!(of(ffi::SQLITE_IOERR), Error::Unavailable { .. }));
        assert!(matches!(of(ffi::SQLITE_FULL), Error::Full(why) if why.contains("disk") && !why.contains("max_bytes")));
        assert!(matches!(of(ffi::SQLITE_READONLY), Error::ReadOnly(_)));
        assert!(matches!(of(ffi::SQLITE_CANTOPEN), Error::Config(_)));
        assert!(matches!(of(ffi::SQLITE_CORRUPT), Error::Corrupt(_)));
        assert!(matches!(of(ffi::SQLITE_NOTADB), Error::Corrupt(_)));
    }
}
