//! Translates failures of the file into errors of the store.

use jobbers_common::engine::Error;
use jobbers_sqlite_file::{Error as FileError, FileErrorKind};

/// The error in the store's words.
pub(crate) fn in_words_of_the_store(FileError { kind, text }: FileError) -> Error {
    match kind {
        // What the operator must do: what the reserve of the store held is used up, or it has none.
        FileErrorKind::Full => Error::Full(format!(
            "no room is left on its disk: {text}. Free some: the reserve for settling and deleting is used up, or there \
             is none"
        )),
        FileErrorKind::OverQuota => Error::Full(format!("{text}. What is there drains; prune, or raise max_bytes")),
        FileErrorKind::ReadOnly => Error::ReadOnly(text),
        FileErrorKind::CannotOpen => Error::Config(format!("the store can't be opened: {text}")),
        FileErrorKind::Moved => Error::unavailable(format!(
            "the database file {text}. Nothing more is read or written. Put it back, or stop every process that uses it \
             before you start one again"
        )),
        FileErrorKind::Corrupt => Error::Corrupt(text),
        FileErrorKind::Newer { found, supported } => {
            Error::Schema { found: found.to_string(), supported: supported.to_string() }
        }
        FileErrorKind::Locked | FileErrorKind::Gone | FileErrorKind::Other => Error::unavailable(text),
    }
}

/// The error for stored data that this program did not write.
pub(crate) fn corrupt(what: &str, error: impl std::fmt::Display) -> Error {
    Error::Corrupt(format!("{what}: {error}"))
}

/// `?` on the result of a statement or of the file.
pub(crate) trait OrStore<T> {
    /// The result, or the error in the store's words.
    fn or_store(self) -> Result<T, Error>;
}

impl<T, E: Into<FileError>> OrStore<T> for Result<T, E> {
    fn or_store(self) -> Result<T, Error> {
        self.map_err(|error| in_words_of_the_store(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_a_quota() {
        let full = in_words_of_the_store(FileError { kind: FileErrorKind::Full, text: String::new() });
        assert!(matches!(full, Error::Full(why) if why.contains("disk") && !why.contains("max_bytes")));
    }
}
