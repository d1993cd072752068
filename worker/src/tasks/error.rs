//! The error of a task function.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use jobbers_common::{policy::error_kind::ErrorKind, values::duration};

pub(crate) mod listed;

/// Types that carry a message or an error of any type, and so do not define its kind. As [`ErrorKind`] writes them.
const CARRIERS: [&str; 6] =
    ["alloc::string::String", "&str", "alloc::borrow::Cow", "alloc::boxed::Box", "anyhow::Error", "eyre::Report"];

/// The kind of an attempt's error that asked for a state its worker does not have.
const MISSING_STATE: &str = "missing_state";

/// Why an attempt did not succeed, and what happens next.
///
/// `?` turns any error into [`TaskError::Retry`]: any value that converts into a `Box<dyn Error + Send + Sync>`, such
/// as a [`std::error::Error`], `anyhow::Error`, `eyre::Report` or a text. The message contains the whole chain of
/// causes. The [kind](Reason::kind) is the error's type, unless that only carries an error of another type.
///
/// Because of this conversion, `TaskError` does not implement `std::error::Error` itself. A function that returns
/// `anyhow::Result` or `eyre::Result` uses `?` on it with the feature `anyhow` or `eyre`; for other types of errors,
/// [`TaskError::into_error`] makes it a `std::error::Error`. Converted back, also below added context, it is what it was:
///
/// ```
/// use jobbers_worker::TaskError;
///
/// fn read() -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
///     Err(TaskError::fatal("no such file").into_error())?
/// }
///
/// let error: TaskError = read().map_err(Into::into).unwrap_err();
/// assert_eq!(error, TaskError::fatal("no such file"));
/// ```
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
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Reason {
    /// The kind of error, which `retry_on` and `fatal_on` name.
    pub kind: Option<ErrorKind>,
    /// What happened.
    pub message: String,
    /// Whether the kind was given by [`TaskError::kind`], so that no type of an error takes its place.
    has_given_kind: bool,
    /// The error it was made of.
    source: Option<Arc<dyn StdError + Send + Sync>>,
    /// The type of the state that its worker does not have.
    missing_state: Option<&'static str>,
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
        if let Some(reason) = self.reason_mut() {
            reason.kind = ErrorKind::lossy(kind.as_ref());
            reason.has_given_kind = true;
        }
        self
    }

    /// This error as a [`std::error::Error`], for functions with errors of other types. Converting that back, by `?` or
    /// `TaskError::from`, gives this error again; texts that were added around it come first in its message.
    #[must_use]
    pub const fn into_error(self) -> CarriedError {
        CarriedError::new(self)
    }

    /// This worker has no state of that type: the attempt is given back, and no retry is used up.
    pub(crate) fn missing_state(type_name: &'static str) -> Self {
        let mut reason = Reason::from(format!("this worker has no state of type {type_name}"));
        reason.missing_state = Some(type_name);
        Self::Retry(reason).kind(MISSING_STATE)
    }

    /// Its description; a stop has none.
    #[must_use]
    pub const fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Retry(reason) | Self::RetryAfter(_, reason) | Self::Fatal(reason) | Self::Aborted(reason) => {
                Some(reason)
            }
            Self::Cancelled => None,
        }
    }

    const fn reason_mut(&mut self) -> Option<&mut Reason> {
        match self {
            Self::Retry(reason) | Self::RetryAfter(_, reason) | Self::Fatal(reason) | Self::Aborted(reason) => {
                Some(reason)
            }
            Self::Cancelled => None,
        }
    }
}

impl Reason {
    /// An error with all its causes. Its kind is its type, unless that only carries an error of another type.
    fn of<E: Into<Box<dyn StdError + Send + Sync>>>(error: E) -> Self {
        match read_chain(error.into()) {
            (message, Ok(carried)) => Self { message, ..carried.reason().cloned().unwrap_or_default() },
            (message, Err(error)) => {
                Self { kind: kind_of::<E>(), message, source: Some(error.into()), ..Self::default() }
            }
        }
    }

    /// The type of the state that its worker does not have, if that is why.
    pub(crate) const fn missing_state(&self) -> Option<&'static str> {
        self.missing_state
    }
}

/// The kind of an error of this type, unless it only carries an error of another type.
fn kind_of<E>() -> Option<ErrorKind> {
    ErrorKind::of_type::<E>().filter(|kind| !CARRIERS.contains(&kind.as_str()))
}

/// By kind and message: two errors that say the same are the same.
impl PartialEq for Reason {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.message == other.message
    }
}

impl Eq for Reason {}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reason").field("kind", &self.kind).field("message", &self.message).finish_non_exhaustive()
    }
}

impl From<String> for Reason {
    fn from(message: String) -> Self {
        Self { message, ..Self::default() }
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
        match self.reason() {
            Some(reason) => reason.fmt(f),
            None => f.write_str("cancelled"),
        }
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for TaskError {
    fn from(error: E) -> Self {
        let error = error.into();
        match find_carried(&*error).cloned() {
            None => Self::Retry(Reason { kind: kind_of::<E>(), ..Reason::of(error) }),
            Some(mut carried) => {
                if let Some(reason) = carried.reason_mut() {
                    reason.message = read_chain(error).0;
                }
                carried
            }
        }
    }
}

/// An error that a task's function may answer: every type that converts into a [`TaskError`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that a task can answer",
    label = "not an error",
    note = "implement `std::error::Error` for it, for example by `#[derive(thiserror::Error)]`, or answer a `TaskError`"
)]
pub trait AnswerError {
    /// Converts it.
    fn into_task_error(self) -> TaskError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<TaskError>> AnswerError for E {
    fn into_task_error(self) -> TaskError {
        self.into()
    }
}

/// A [`TaskError`] as a [`std::error::Error`]: see [`TaskError::into_error`].
#[derive(Debug, Clone)]
pub struct CarriedError(Carried);

/// The cause by which a [`CarriedError`] is found. `anyhow`, `eyre` and boxes hide the type of the error they hold, and show
/// its causes.
#[derive(Debug, Clone)]
struct Carried(TaskError);

impl CarriedError {
    const fn new(error: TaskError) -> Self {
        Self(Carried(error))
    }

    /// The [`TaskError`] in it.
    #[must_use]
    pub const fn task_error(&self) -> &TaskError {
        &self.0.0
    }
}

impl fmt::Display for CarriedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.task_error().fmt(f)
    }
}

impl StdError for CarriedError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

/// What follows from the error, because the carrier has said what happened.
impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            TaskError::Retry(_) => f.write_str("it is to be retried"),
            TaskError::RetryAfter(delay, _) => write!(f, "it is to be retried in {}", duration::format(*delay)),
            TaskError::Fatal(_) => f.write_str("retries can't help"),
            TaskError::Aborted(_) => f.write_str("the work is given up"),
            TaskError::Cancelled => f.write_str("the attempt had to end"),
        }
    }
}

impl StdError for Carried {}

/// The errors of a chain, from the outermost one on.
fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The [`TaskError`] that an error carries.
fn find_carried<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a TaskError> {
    chain(error).find_map(|cause| cause.downcast_ref::<Carried>().map(|carried| &carried.0))
}

/// The messages of an error and its causes, and the [`TaskError`] that it carries or else the error itself.
fn read_chain(error: Box<dyn StdError + Send + Sync>) -> (String, Result<TaskError, Box<dyn StdError + Send + Sync>>) {
    let texts: Vec<String> =
        chain(&*error).take_while(|cause| !cause.is::<Carried>()).map(|cause| cause.to_string()).collect();
    let message = texts.join(": ");
    match find_carried(&*error).cloned() {
        Some(carried) => (message, Ok(carried)),
        None => (message, Err(error)),
    }
}

#[cfg(feature = "anyhow")]
impl From<TaskError> for anyhow::Error {
    fn from(error: TaskError) -> Self {
        Self::new(error.into_error())
    }
}

#[cfg(feature = "eyre")]
impl From<TaskError> for eyre::Report {
    fn from(error: TaskError) -> Self {
        Self::new(error.into_error())
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
