//! `fail`: for trying out retries and dead letters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Context, TaskError, task};

/// How to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailKind {
    /// With an error that may be retried.
    #[default]
    Retry,
    /// With one that may not.
    Fatal,
    /// By a panic.
    Panic,
}

/// The parameters of `fail`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fail {
    /// How many attempts fail before one succeeds; by default all of them.
    pub times: Option<u32>,
    /// How they fail.
    pub kind: FailKind,
    /// The kind of their error, for policies that distinguish kinds.
    pub error_kind: Option<String>,
    /// Their message.
    pub message: Option<String>,
}

/// The result of `fail` when it does not fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Which attempt succeeded.
    pub attempt: u32,
}

/// Fails its first `times` attempts, or all. A task that fails for good is kept as a dead letter.
#[task(name = "fail", unlisted)]
pub async fn fail(ctx: Context, job: Fail) -> Result<Failed, TaskError> {
    let attempt = ctx.attempt();
    if job.times.is_some_and(|times| attempt > times) {
        return Ok(Failed { attempt });
    }
    let message = job.message.unwrap_or_else(|| format!("attempt {attempt} fails, as requested"));
    let error = match job.kind {
        FailKind::Retry => TaskError::retry(message),
        FailKind::Fatal => TaskError::fatal(message),
        FailKind::Panic => std::panic::panic_any(message),
    };
    Err(error.kind(job.error_kind.unwrap_or_default()))
}
