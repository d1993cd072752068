//! What a task function answers when it does not succeed.

use std::{error::Error as StdError, fmt, time::Duration};

/// Why an attempt did not succeed, and what is to become of it.
///
/// `?` turns any [`std::error::Error`] into [`TaskError::Retry`], with its whole chain of causes as the message. That is
/// why this type is no `std::error::Error` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskError {
    /// Try again, by the task's backoff, while retries are left.
    Retry(String),
    /// Try again after exactly this long, while retries are left.
    RetryAfter(Duration, String),
    /// It will never work: fail for good.
    Fatal(String),
    /// It was told to stop, and did.
    Cancelled,
}

impl TaskError {
    /// Try again, by the task's backoff.
    #[must_use]
    pub fn retry(message: impl fmt::Display) -> Self {
        Self::Retry(message.to_string())
    }

    /// Try again after exactly this long.
    #[must_use]
    pub fn retry_after(delay: Duration, message: impl fmt::Display) -> Self {
        Self::RetryAfter(delay, message.to_string())
    }

    /// Fail for good. For an error in hand: `.map_err(TaskError::fatal)?`.
    #[must_use]
    pub fn fatal(message: impl fmt::Display) -> Self {
        Self::Fatal(message.to_string())
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry(message) | Self::RetryAfter(_, message) | Self::Fatal(message) => f.write_str(message),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl<E: StdError> From<E> for TaskError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(because) = cause {
            message.push_str(": ");
            message.push_str(&because.to_string());
            cause = because.source();
        }
        Self::Retry(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("thumbnail")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn any_error_is_a_retry_with_all_its_causes() {
        let number = || -> Result<u8, TaskError> { "ten".parse::<u8>().map_err(|error| Outer(error).into()) };
        assert_eq!(number(), Err(TaskError::retry("thumbnail: invalid digit found in string")));
    }
}
