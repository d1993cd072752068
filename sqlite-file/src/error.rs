//! How a file can fail: maps SQLite's many codes to the few kinds that its users distinguish.

use rusqlite::{ErrorCode, ffi};

/// The result of an operation on a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, described in words to which callers add what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// Its kind.
    pub kind: ErrorKind,
    /// Its description.
    pub text: String,
}

/// How a file can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Another process holds the file for longer than the busy timeout.
    Locked,
    /// The disk is full, or the file reached SQLite's own limit, above the quota.
    Full,
    /// The write would exceed the quota.
    OverQuota,
    /// The file is read-only.
    ReadOnly,
    /// The file can't be opened.
    CannotOpen,
    /// The file was deleted right after it was opened.
    Gone,
    /// The path no longer leads to the open file.
    Moved,
    /// The content can't be read, or this program did not write it.
    Corrupt,
    /// A newer program wrote it.
    Newer {
        /// The version found.
        found: i64,
        /// The latest that this program knows.
        supported: usize,
    },
    /// Reading or writing failed for another reason.
    Other,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
        // Extending the index of the log fails where the disk is full.
        let is_index_full = error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE);
        let kind = match (&error, error.sqlite_error_code()) {
            _ if is_index_full => ErrorKind::Full,
            (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => ErrorKind::Locked,
            (_, Some(ErrorCode::DiskFull)) => ErrorKind::Full,
            (_, Some(ErrorCode::ReadOnly)) => ErrorKind::ReadOnly,
            (_, Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied)) => ErrorKind::CannotOpen,
            (_, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation))
            | (FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..), _) => {
                ErrorKind::Corrupt
            }
            _ => ErrorKind::Other,
        };
        Self { kind, text: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_of_one_kind() {
        for (code, kind) in [
            (ffi::SQLITE_BUSY, ErrorKind::Locked),
            (ffi::SQLITE_IOERR, ErrorKind::Other),
            (ffi::SQLITE_FULL, ErrorKind::Full),
            (ffi::SQLITE_IOERR_SHMSIZE, ErrorKind::Full),
            (ffi::SQLITE_READONLY, ErrorKind::ReadOnly),
            (ffi::SQLITE_CANTOPEN, ErrorKind::CannotOpen),
            (ffi::SQLITE_CORRUPT, ErrorKind::Corrupt),
            (ffi::SQLITE_NOTADB, ErrorKind::Corrupt),
        ] {
            assert_eq!(Error::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).kind, kind);
        }
    }
}
