//! How a command fails: one sentence that says what to do, and an exit code.

use std::{io, path::Path};

use jobbers_api::client;
use jobbers_process::exit;

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// The configuration is invalid.
    #[error("{0}")]
    Config(String),
    /// The manager or the store does not answer.
    #[error("no manager answers at {url} ({reason}); start one with `jobbers up`, or name another with --manager")]
    Unreachable {
        /// Where it was asked.
        url: String,
        /// What happened.
        reason: String,
    },
    /// The answer is not a manager's, or one of another version.
    #[error("{url} answers, but not as a manager does: {reason}")]
    Foreign {
        /// Where it was asked.
        url: String,
        /// What is strange.
        reason: String,
    },
    /// The manager refuses.
    #[error("{detail} ({code})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The stable word for what is wrong.
        code: String,
        /// The sentence.
        detail: String,
    },
    /// It was done, and the answer is no.
    #[error("{0}")]
    Negative(String),
    /// A file that the command line names can't be read.
    #[error("can't read {path}: {reason}")]
    NoInput {
        /// The file.
        path: String,
        /// What happened.
        reason: String,
    },
    /// A file, a stream or a store failed us.
    #[error("{0}")]
    Unavailable(String),
    /// The answer can't be written down.
    #[error("can't write to standard output: {0}")]
    Output(String),
    /// The reader of our output has gone. Not reported.
    #[error("the reader of the output has gone")]
    ReaderGone,
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        match error {
            client::Error::Address { .. } => Self::Usage(error.to_string()),
            client::Error::Unreachable { url, reason } => Self::Unreachable { url, reason },
            client::Error::Foreign { url, reason, .. } => Self::Foreign { url, reason },
            client::Error::Refused { status, code, detail, retry_after, .. } => {
                let detail = match retry_after {
                    Some(pause) if matches!(status.as_u16(), 429 | 503) => {
                        format!("{detail}; try again in {} s", pause.as_secs())
                    }
                    _ => detail,
                };
                Self::Refused { status: status.as_u16(), code, detail }
            }
        }
    }
}

impl Failure {
    /// Whether a restart of the manager may end the failure.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Refused { status: 503, .. })
    }

    /// Its exit code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Usage(_) => exit::USAGE,
            Self::NoInput { .. } => exit::NO_INPUT,
            Self::Output(_) => exit::IO,
            Self::Config(_) => exit::CONFIG,
            Self::Unreachable { .. } | Self::Foreign { .. } | Self::Unavailable(_) => exit::UNAVAILABLE,
            Self::Refused { status, .. } if *status == 503 => exit::UNAVAILABLE,
            Self::Refused { status, .. } if *status >= 500 => exit::INTERNAL,
            Self::Refused { .. } | Self::Negative(_) => exit::FAILURE,
        }
    }

    /// A failure to read a file that the command line names.
    #[must_use]
    pub fn no_input(path: &Path, error: &io::Error) -> Self {
        Self::NoInput { path: path.display().to_string(), reason: error.to_string() }
    }

    /// A failure to write to standard output.
    #[must_use]
    pub fn output(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Output(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_down_is_told_apart_from_a_refusal() {
        let refused = |status| Failure::Refused { status, code: "x".to_owned(), detail: "y".to_owned() }.code();
        assert_eq!((refused(404), refused(503), refused(500)), (1, 69, 70));
    }

    #[test]
    fn a_reader_that_left_is_no_failure() {
        assert_eq!(Failure::output(&io::Error::from(io::ErrorKind::BrokenPipe)).code(), 0);
        assert_eq!(Failure::output(&io::Error::from(io::ErrorKind::StorageFull)).code(), exit::IO);
    }
}
