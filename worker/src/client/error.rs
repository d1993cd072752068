//! The errors of submissions and of awaited results.

use jobbers_api::problem::Code;
use jobbers_common::{
    engine::Error,
    lifecycle::Status,
    name::{NameError, TaskId},
    policy::{PolicyError, error_kind::ErrorKind},
    queue::routing::QueueForbidden,
};

use crate::payload::codec::CodecError;

/// HTTP statuses by which a manager, or a proxy before it, says that the same request may succeed later.
const TRANSIENT: [u16; 4] = [429, 502, 503, 504];
/// The code of a request that no manager answered.
const UNREACHABLE: &str = "unreachable";

/// Why a task was not accepted, or another request was refused.
///
/// What it means is the same over HTTP, straight to a store and in a test: [`SubmitError::code`],
/// [`SubmitError::is_duplicate`], [`SubmitError::holder`], [`SubmitError::is_transient`]. The variants say where it was
/// found.
///
/// ```
/// # use jobbers_worker::{SubmitError, TaskId, prelude::*};
/// # #[task] async fn import(customer: u64) -> Result<(), TaskError> { Ok(()) }
/// /// The import of this customer: a new one, or the one that is under way.
/// async fn import_once(client: &Client, customer: u64) -> Result<TaskId, SubmitError> {
///     match import.with(customer).unique_key(format!("customer:{customer}")).submit(client).await {
///         Ok(handle) => Ok(handle.id),
///         Err(refused) => refused.holder().cloned().ok_or(refused),
///     }
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// An invalid id or queue name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A policy value outside its bounds.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An invalid value.
    #[error("{0}")]
    Invalid(String),
    /// A routing rule forbids naming this queue.
    #[error(transparent)]
    QueueForbidden(#[from] QueueForbidden),
    /// The store did not accept it.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The manager did not accept it.
    #[error("{detail} ({code})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The problem's stable code, such as `unknown_queue`.
        code: String,
        /// The problem's description.
        detail: String,
        /// The task that holds the unique key, if that is why.
        holder: Option<TaskId>,
    },
    /// The manager can't be reached, or its answer was lost. The task may have been submitted; submitting it again
    /// under the same id is safe.
    #[error("{0}")]
    Unreachable(String),
}

impl SubmitError {
    /// A refusal as a manager would word it.
    pub(super) fn refused(code: Code, detail: String) -> Self {
        Self::Refused { status: code.status().as_u16(), code: code.as_str().to_owned(), detail, holder: None }
    }

    /// The stable word for the problem, as [over HTTP](https://docs.rs/jobbers-api): `duplicate`, `unknown_queue`,
    /// `queue_full`, `invalid_request`. `unreachable` if no manager answered; empty for the answer of a proxy.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Name(_) | Self::Policy(_) | Self::Invalid(_) => Code::InvalidRequest.as_str(),
            Self::QueueForbidden(_) => Code::QueueForbidden.as_str(),
            Self::Engine(error) => Code::from(error).as_str(),
            Self::Refused { code, .. } => code,
            Self::Unreachable(_) => UNREACHABLE,
        }
    }

    /// Whether another task holds the unique key.
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        self.code() == Code::Duplicate.as_str()
    }

    /// The task that holds the unique key, if that is why.
    #[must_use]
    pub const fn holder(&self) -> Option<&TaskId> {
        match self {
            Self::Engine(Error::Duplicate { holder, .. }) => Some(holder),
            Self::Refused { holder, .. } => holder.as_ref(),
            _ => None,
        }
    }

    /// Whether the same request may succeed later without any other change. Each task has its id before it is sent, so a
    /// [`Submission`](super::Submission) that chose one may be submitted again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Engine(error) => TRANSIENT.contains(&Code::from(error).status().as_u16()),
            Self::Refused { status, .. } => TRANSIENT.contains(status),
            Self::Unreachable(_) => true,
            Self::Name(_) | Self::Policy(_) | Self::Invalid(_) | Self::QueueForbidden(_) => false,
        }
    }
}

/// Why a task has no result.
///
/// ```no_run
/// use jobbers_worker::{Handle, ResultError, prelude::*};
///
/// /// Whether the card was charged, if that is known by now.
/// async fn is_charged(handle: &Handle<u64>) -> Result<Option<bool>, ResultError> {
///     match handle.result(Duration::from_secs(5)).await {
///         Ok(_) => Ok(Some(true)),
///         Err(ResultError::NotYet(_)) => Ok(None),
///         Err(error) if error.kind() == Some("declined") => Ok(Some(false)),
///         Err(error) => Err(error),
///     }
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The task was not over in time.
    #[error("the task was not over in time: it is {0}")]
    NotYet(Status),
    /// It is over without a result.
    #[error("the task is {status}{}", error.as_ref().map_or_else(String::new, |error| format!(": {error}")))]
    NotCompleted {
        /// How it ended.
        status: Status,
        /// The error of its last failed attempt.
        error: Option<String>,
        /// The kind of that error: the word given to [`TaskError::kind`](crate::TaskError::kind), or its type.
        kind: Option<ErrorKind>,
    },
    /// The task does not exist: it was never submitted, or has been pruned.
    #[error("the task does not exist")]
    Unknown,
    /// The result is not of the requested type.
    #[error("the result does not fit: {0}")]
    Unreadable(String),
    /// The result is encoded, and this client has not the codec or the key for it.
    #[error("the result can't be read: {0}")]
    Undecodable(#[from] CodecError),
    /// The request failed.
    #[error(transparent)]
    Client(#[from] SubmitError),
}

impl ResultError {
    /// The kind of the error by which the task failed: the word given to [`TaskError::kind`](crate::TaskError::kind), such
    /// as `declined`, or the type of the error.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::NotCompleted { kind, .. } => kind.as_ref().map(ErrorKind::as_str),
            _ => None,
        }
    }

    /// Whether waiting longer, or asking again, may give the result.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::NotYet(_) => true,
            Self::Client(error) => error.is_transient(),
            Self::NotCompleted { .. } | Self::Unknown | Self::Unreadable(_) | Self::Undecodable(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobbers_api::problem::Problem;

    use super::*;

    #[test]
    fn an_error_of_the_store_says_the_same_as_its_answer_over_http() {
        let (queue, id) = ("mail".parse().unwrap(), TaskId::new("a").unwrap());
        let holder = TaskId::new("b").unwrap();
        let key = jobbers_common::task::unique::UniqueKey::new("k").unwrap();
        let pause = Duration::from_secs(1);
        let errors = [
            Error::UnknownQueue(queue),
            Error::Duplicate { id: id.clone(), key, holder: holder.clone(), status: Status::Started },
            Error::UnknownPredecessor { id, predecessor: holder },
            Error::QueueFull { queue: "mail".parse().unwrap(), max_length: 5 },
            Error::RateLimited { queue: "mail".parse().unwrap(), retry_after: pause },
            Error::Invalid("no".to_owned()),
            Error::unavailable("gone"),
            Error::Full("disk".to_owned()),
            Error::Corrupt("page 3".to_owned()),
        ];
        for error in errors {
            let (kind, is_transient) = (error.kind(), error.is_transient());
            let direct = SubmitError::Engine(error.clone());
            let problem = Problem::from(error);
            let code = problem.code();
            let over_http = SubmitError::Refused {
                status: code.status().as_u16(),
                code: code.as_str().to_owned(),
                detail: problem.detail().to_owned(),
                holder: problem.holder().cloned(),
            };
            let said = |error: &SubmitError| {
                (error.code().to_owned(), error.holder().cloned(), error.is_duplicate(), error.is_transient())
            };
            assert_eq!(said(&direct), said(&over_http), "{kind}");
            assert_eq!(direct.is_transient(), is_transient, "{kind}");
            assert_eq!(direct.is_duplicate(), direct.holder().is_some(), "{kind}");
        }
    }
}
