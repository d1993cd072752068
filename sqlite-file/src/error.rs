//! How a file can fail: maps SQLite's many codes to the few kinds that its users distinguish.

use rusqlite::{ErrorCode, ffi};

/// The result of an operation on a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, described in words to which callers add what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// Its kind.
    pub kind: FileErrorKind,
    /// Its description.
    pub text: String,
}

/// How a file can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileErrorKind {
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
            _ if is_index_full => FileErrorKind::Full,
            (_, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) => FileErrorKind::Locked,
            (_, Some(ErrorCode::DiskFull)) => FileErrorKind::Full,
            (_, Some(ErrorCode::ReadOnly)) => FileErrorKind::ReadOnly,
            (_, Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied)) => FileErrorKind::CannotOpen,
            (_, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation))
            | (FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..), _) => {
                FileErrorKind::Corrupt
            }
            _ => FileErrorKind::Other,
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
            (ffi::SQLITE_BUSY, FileErrorKind::Locked),
            (ffi::SQLITE_IOERR, FileErrorKind::Other),
            (ffi::SQLITE_FULL, FileErrorKind::Full),
            (ffi::SQLITE_IOERR_SHMSIZE, FileErrorKind::Full),
            (ffi::SQLITE_READONLY, FileErrorKind::ReadOnly),
            (ffi::SQLITE_CANTOPEN, FileErrorKind::CannotOpen),
            (ffi::SQLITE_CORRUPT, FileErrorKind::Corrupt),
            (ffi::SQLITE_NOTADB, FileErrorKind::Corrupt),
        ] {
            assert_eq!(Error::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).kind, kind);
        }
    }
}
