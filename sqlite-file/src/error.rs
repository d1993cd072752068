//! How a file can fail: SQLite's many codes as the few kinds its users tell apart.

use rusqlite::ErrorCode;

/// The answer of what touches a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, in words to which can be added what is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// Of what kind it is.
    pub kind: ErrorKind,
    /// What is said of it.
    pub text: String,
}

/// How a file can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Another process holds it for longer than is waited for.
    Locked,
    /// No room is left on the disk, or up to SQLite's own limit, above the quota.
    Full,
    /// More is wanted than the quota leaves.
    OverQuota,
    /// It may only be read.
    ReadOnly,
    /// It can't be opened at all.
    CannotOpen,
    /// It was gone again once it was opened.
    Gone,
    /// Its path does not lead to it any more.
    Moved,
    /// What is in it can't be read, or is not what this program writes.
    Corrupt,
    /// A newer program wrote it.
    Newer {
        /// The version that was found.
        found: i64,
        /// The latest that this program knows.
        supported: usize,
    },
    /// Reading or writing failed otherwise.
    Other,
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
        let kind = match (&error, error.sqlite_error_code()) {
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
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn each_code_is_of_one_kind() {
        for (code, kind) in [
            (ffi::SQLITE_BUSY, ErrorKind::Locked),
            (ffi::SQLITE_IOERR, ErrorKind::Other),
            (ffi::SQLITE_FULL, ErrorKind::Full),
            (ffi::SQLITE_READONLY, ErrorKind::ReadOnly),
            (ffi::SQLITE_CANTOPEN, ErrorKind::CannotOpen),
            (ffi::SQLITE_CORRUPT, ErrorKind::Corrupt),
            (ffi::SQLITE_NOTADB, ErrorKind::Corrupt),
        ] {
            assert_eq!(Error::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).kind, kind);
        }
    }
}
