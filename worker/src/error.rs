//! The error of a task function.

use std::{error::Error as StdError, fmt, time::Duration};

use jobbers_common::error_kind::ErrorKind;

/// Types that carry a message or an error of any type, and so do not define its kind. As [`ErrorKind`] writes them.
const CARRIERS: [&str; 6] =
    ["alloc::string::String", "&str", "alloc::borrow::Cow", "alloc::boxed::Box", "anyhow::Error", "eyre::Report"];

/// Why an attempt did not succeed, and what happens next.
///
/// `?` turns any error into [`TaskError::Retry`]: any value that converts into a `Box<dyn Error + Send + Sync>`, such
/// as a [`std::error::Error`], `anyhow::Error`, `eyre::Report` or a text. The message contains the whole chain of
/// causes. The [kind](Reason::kind) is the error's type, unless that only carries an error of another type. Because of
/// this conversion, `TaskError` does not implement `std::error::Error` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskError {
    /// Try again, by the task's backoff, while retries are left.
    Retry(Reason),
    /// Try again after exactly this long, while retries are left.
    RetryAfter(Duration, Reason),
    /// Retries can't help: fail for good.
    Fatal(Reason),
    /// The work is given up: end as `aborted`, without a retry or a dead letter. Tasks that depend on it are aborted too,
    /// unless their policies say otherwise.
    Aborted(Reason),
    /// It stopped because of a stop request.
    Cancelled,
}

/// The description of an error, for people and for the task's policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Reason {
    /// The kind of error, which `retry_on` and `fatal_on` name.
    pub kind: Option<ErrorKind>,
    /// What happened.
    pub message: String,
}

impl TaskError {
    /// Try again, by the task's backoff. Takes what `?` takes: a text, or an error, whose causes and kind are kept.
    #[must_use]
    pub fn retry<E: Into<Box<dyn StdError + Send + Sync>>>(error: E) -> Self {
        Self::Retry(Reason::of(error))
    }

    /// Try again after exactly this long.
    #[must_use]
    pub fn retry_after<E: Into<Box<dyn StdError + Send + Sync>>>(delay: Duration, error: E) -> Self {
        Self::RetryAfter(delay, Reason::of(error))
    }

    /// Fail for good. For an existing error: `.map_err(TaskError::fatal)?`.
    #[must_use]
    pub fn fatal<E: Into<Box<dyn StdError + Send + Sync>>>(error: E) -> Self {
        Self::Fatal(Reason::of(error))
    }

    /// Give the work up: it is void.
    #[must_use]
    pub fn abort<E: Into<Box<dyn StdError + Send + Sync>>>(error: E) -> Self {
        Self::Aborted(Reason::of(error))
    }

    /// Sets the kind of the error, such as `rate_limited`. The policy's `retry_on` and `fatal_on` match this word, and
    /// dead letters are grouped by it. Control characters become `_`.
    #[must_use]
    pub fn kind(mut self, kind: impl AsRef<str>) -> Self {
        if let Self::Retry(reason) | Self::RetryAfter(_, reason) | Self::Fatal(reason) | Self::Aborted(reason) =
            &mut self
        {
            reason.kind = ErrorKind::lossy(kind.as_ref());
        }
        self
    }
}

impl Reason {
    /// An error with all its causes. Its kind is its type, unless that only carries an error of another type.
    fn of<E: Into<Box<dyn StdError + Send + Sync>>>(error: E) -> Self {
        let error: Box<dyn StdError + Send + Sync> = error.into();
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(because) = cause {
            message.push_str(": ");
            message.push_str(&because.to_string());
            cause = because.source();
        }
        let kind = ErrorKind::of_type::<E>().filter(|kind| !CARRIERS.contains(&kind.as_str()));
        Self { kind, message }
    }
}

impl From<String> for Reason {
    fn from(message: String) -> Self {
        Self { kind: None, message }
    }
}

impl From<&str> for Reason {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry(reason) | Self::RetryAfter(_, reason) | Self::Fatal(reason) | Self::Aborted(reason) => {
                reason.fmt(f)
            }
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("thumbnail")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn any_error_is_a_retry_with_all_its_causes_and_known_by_its_type() {
        let number = || -> Result<u8, TaskError> { "ten".parse::<u8>().map_err(|error| Outer(error).into()) };
        let Err(TaskError::Retry(reason)) = number() else { panic!("a retry") };
        assert_eq!(reason.message, "thumbnail: invalid digit found in string");
        assert!(reason.kind.unwrap().is_meant_by(&ErrorKind::new("Outer").unwrap()));
    }

    #[test]
    fn an_error_keeps_its_causes_whatever_follows_from_it() {
        let outer = || Outer("ten".parse::<u8>().unwrap_err());
        let ways = [
            TaskError::retry(outer()),
            TaskError::retry_after(Duration::ZERO, outer()),
            TaskError::fatal(outer()),
            TaskError::abort(outer()),
        ];
        for error in ways {
            assert_eq!(error.to_string(), "thumbnail: invalid digit found in string");
        }
    }

    #[test]
    fn an_error_in_a_box_and_a_text_are_retries_too() {
        fn boxed() -> Result<u8, Box<dyn StdError + Send + Sync>> {
            Ok("ten".parse::<u8>().map_err(Outer)?)
        }
        let any = || -> Result<u8, TaskError> { Ok(boxed().map_err(anyhow::Error::from_boxed)?) };
        let failed: [fn() -> Result<u8, TaskError>; 3] =
            [|| Ok(boxed()?), || Err("no such user".to_owned())?, || Err("no such user")?];
        let reasons = failed.map(|failed| failed()).into_iter().chain([any()]).map(|failed| match failed {
            Err(TaskError::Retry(reason)) => reason,
            other => panic!("a retry, not {other:?}"),
        });
        let chain = "thumbnail: invalid digit found in string";
        for (reason, message) in reasons.zip([chain, "no such user", "no such user", chain]) {
            assert_eq!((reason.message.as_str(), reason.kind), (message, None));
        }
    }

    #[test]
    fn a_kind_may_be_said_of_any_error() {
        let busy = TaskError::retry_after(Duration::from_secs(1), "429").kind("rate\nlimited");
        assert!(
            matches!(busy, TaskError::RetryAfter(_, Reason { kind: Some(kind), .. }) if kind.as_str() == "rate_limited")
        );
        assert_eq!(TaskError::Cancelled.kind("x"), TaskError::Cancelled);
    }
}
