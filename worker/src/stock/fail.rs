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

/// What `fail` is given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fail {
    /// How many attempts fail before one succeeds; all of them, if it is not said.
    pub times: Option<u32>,
    /// How they fail.
    pub kind: FailKind,
    /// What kind of error they meet, for policies that tell errors apart.
    pub error_kind: Option<String>,
    /// What they say.
    pub message: Option<String>,
}

/// What `fail` answers when it does not fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Which attempt succeeded.
    pub attempt: u32,
}

/// Fails its first `times` attempts, or all. What fails for good is kept as a dead letter.
#[task(name = "fail", unlisted)]
pub async fn fail(ctx: Context, job: Fail) -> Result<Failed, TaskError> {
    let attempt = ctx.attempt();
    if job.times.is_some_and(|times| attempt > times) {
        return Ok(Failed { attempt });
    }
    let message = job.message.unwrap_or_else(|| format!("attempt {attempt} fails, as it was told to"));
    let error = match job.kind {
        FailKind::Retry => TaskError::retry(message),
        FailKind::Fatal => TaskError::fatal(message),
        FailKind::Panic => std::panic::panic_any(message),
    };
    Err(error.kind(job.error_kind.unwrap_or_default()))
}
