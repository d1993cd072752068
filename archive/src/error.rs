//! How the archive can fail.

use jobbers_sqlite_file::{Error as FileError, FileErrorKind};

/// The result of every call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How the archive can fail. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process holds the file for longer than the busy timeout.
    #[error("the archive of dead letters is locked by another process: {0}")]
    Locked(String),
    /// The disk or the quota is full.
    #[error("the archive of dead letters is full: {0}")]
    Full(String),
    /// The file is read-only.
    #[error("the archive of dead letters is read-only: {0}")]
    ReadOnly(String),
    /// The content of the file can't be read.
    #[error("the archive of dead letters is damaged: {0}")]
    Corrupt(String),
    /// A newer program wrote it.
    #[error("the archive of dead letters has version {found}; this program reads and writes version {supported}")]
    Newer {
        /// The version found.
        found: i64,
        /// The latest version supported.
        supported: usize,
    },
    /// The file is another program's database.
    #[error("{0} is a SQLite database of another program; name another file for dead letters")]
    NotOurs(String),
    /// The file can't be opened.
    #[error("the archive of dead letters can't be opened: {0}")]
    Open(String),
    /// The key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The cursor was not issued by this archive.
    #[error("this cursor is not from this archive")]
    ForeignCursor,
    /// Reading or writing failed for another reason.
    #[error("the archive of dead letters can't be used: {0}")]
    Unavailable(String),
}

impl Error {
    /// Whether the same call may succeed later without a change to the file or the program.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Locked(_) | Self::Full(_) | Self::ReadOnly(_) | Self::Open(_) | Self::Unavailable(_))
    }
}

impl From<FileError> for Error {
    fn from(FileError { kind, text }: FileError) -> Self {
        match kind {
            FileErrorKind::Locked => Self::Locked(text),
            FileErrorKind::Full => Self::Full(format!("no room is left on its disk, or above dlq_max_bytes: {text}")),
            FileErrorKind::OverQuota => Self::Full(text),
            FileErrorKind::ReadOnly => Self::ReadOnly(text),
            FileErrorKind::CannotOpen | FileErrorKind::Gone => Self::Open(text),
            FileErrorKind::Moved => {
                Self::Unavailable(format!("{text}. Put it back, or start the manager that keeps it again"))
            }
            FileErrorKind::Corrupt => Self::Corrupt(text),
            FileErrorKind::Newer { found, supported } => Self::Newer { found, supported },
            FileErrorKind::Other => Self::Unavailable(text),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        FileError::from(error).into()
    }
}

/// The error for stored data that this program did not write.
pub(crate) fn corrupt(what: &str, error: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("{what}: {error}"))
}
