//! The error types and functions that `#[task]` names in `retry_on`, `fatal_on` and `fatal_if`.
//!
//! The compiler resolves them, so a type that does not exist, or that is no error, does not compile. A policy knows words
//! only: a type is listed there by its path, which is also the kind of the errors it is found in. The error itself, or any of
//! its causes, may be of a listed type.

use std::{borrow::Cow, error::Error as StdError, ops::Deref};

use jobbers_common::policy::{TaskPolicy, error_kind::ErrorKind};

use super::{TaskError, chain};

/// An error type that a policy names.
#[derive(Debug, Clone, Copy)]
pub struct ListedError {
    kind: fn() -> Option<ErrorKind>,
    is: fn(&(dyn StdError + 'static)) -> bool,
}

impl ListedError {
    /// The type `E`.
    #[must_use]
    pub const fn of<E: StdError + 'static>() -> Self {
        Self { kind: ErrorKind::of_type::<E>, is: |error| error.is::<E>() }
    }
}

/// The error types of a task's policy.
///
/// ```
/// # use jobbers_worker::prelude::*;
/// #[task(fatal_on = [std::num::ParseIntError])]
/// async fn read_number(text: String) -> Result<u64, std::num::ParseIntError> { text.parse() }
/// ```
///
/// A typo does not compile, nor does a type that is no error:
///
/// ```compile_fail
/// # use jobbers_worker::prelude::*;
/// #[task(fatal_on = [std::num::ParseIntEror])]
/// async fn read_number(text: String) -> Result<u64, std::num::ParseIntError> { text.parse() }
/// ```
///
/// ```compile_fail
/// # use jobbers_worker::prelude::*;
/// #[task(fatal_on = [std::num::NonZeroU8])]
/// async fn read_number(text: String) -> Result<u64, std::num::ParseIntError> { text.parse() }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ListedErrors {
    /// The only ones that are retried, besides the policy's words.
    pub retry_on: &'static [ListedError],
    /// Those that are never retried.
    pub fatal_on: &'static [ListedError],
    /// Decides by an error's value whether it is never retried.
    pub fatal_if: Option<fn(&(dyn StdError + 'static)) -> bool>,
}

/// What the lists mean for an error.
#[derive(Debug, Default)]
pub struct Finding {
    kind: Option<ErrorKind>,
    is_fatal: bool,
}

impl ListedErrors {
    /// No types.
    pub(crate) const NONE: Self = Self { retry_on: &[], fatal_on: &[], fatal_if: None };

    /// The policy with the listed types among its words; `None` if that is the same.
    pub(crate) fn complete(&self, policy: &TaskPolicy) -> Option<TaskPolicy> {
        let complete = |words: &Cow<'static, [ErrorKind]>, types: &[ListedError]| {
            let kinds = types.iter().filter_map(|listed| (listed.kind)());
            words.iter().cloned().chain(kinds).collect::<Vec<_>>().into()
        };
        (!self.retry_on.is_empty() || !self.fatal_on.is_empty()).then(|| TaskPolicy {
            retry_on: complete(&policy.retry_on, self.retry_on),
            fatal_on: complete(&policy.fatal_on, self.fatal_on),
            ..policy.clone()
        })
    }

    /// What the lists mean for an error and its causes. A listed type that is fatal comes first.
    fn find(&self, error: &(dyn StdError + 'static)) -> Finding {
        let is_in = |listed: &&ListedError| chain(error).any(listed.is);
        let listed = self.fatal_on.iter().find(is_in).or_else(|| self.retry_on.iter().find(is_in));
        Finding {
            kind: listed.and_then(|listed| (listed.kind)()),
            is_fatal: self.fatal_if.is_some_and(|is_fatal| chain(error).any(is_fatal)),
        }
    }

    /// The error as the lists want it: its kind is the listed type's, unless the task gave it one, and it is fatal if
    /// `fatal_if` holds. `outermost` is what was found before the error was converted, which hides its outermost type.
    #[must_use]
    pub fn sort(&self, error: TaskError, outermost: Option<Finding>) -> TaskError {
        let mut error = error;
        let found = match error.reason_mut() {
            None => return error,
            Some(reason) => {
                let deeper = reason.source.as_ref().map(|source| self.find(&**source)).unwrap_or_default();
                let outermost = outermost.unwrap_or_default();
                let kind = outermost.kind.or(deeper.kind).filter(|_| !reason.has_given_kind);
                reason.kind = kind.or_else(|| reason.kind.take());
                outermost.is_fatal || deeper.is_fatal
            }
        };
        match error {
            TaskError::Retry(reason) | TaskError::RetryAfter(_, reason) if found => TaskError::Fatal(reason),
            error => error,
        }
    }
}

/// Whether `judge` holds for this error, if it is of the type that `judge` takes.
#[must_use]
pub fn holds<E: StdError + 'static>(judge: impl Fn(&E) -> bool, error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<E>().is_some_and(judge)
}

/// Looks at an error before it is converted. `#[task]` knows its type but not what it implements, so it asks in a way that
/// the compiler resolves, as `schema.rs` does.
#[derive(Debug)]
pub struct Probe<'a, E>(pub &'a E);

/// Of what carries an error of any type, such as `anyhow::Error`: looks at the error in it.
pub trait InCarrier {
    /// What the lists mean for it.
    fn find(&self, listed: &ListedErrors) -> Option<Finding>;
}

impl<E: Deref<Target = dyn StdError + Send + Sync>> InCarrier for Probe<'_, E> {
    fn find(&self, listed: &ListedErrors) -> Option<Finding> {
        Some(listed.find(&**self.0))
    }
}

/// The fallback for all types: they stay visible after their conversion.
pub trait InPlainError {
    /// Returns none.
    fn find(&self, listed: &ListedErrors) -> Option<Finding>;
}

impl<E> InPlainError for &Probe<'_, E> {
    fn find(&self, _: &ListedErrors) -> Option<Finding> {
        None
    }
}
