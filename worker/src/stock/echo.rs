//! `echo`: answers what it was given.

use crate::{Raw, TaskError, task};

/// Answers its parameters, byte for byte.
#[task(name = "echo", unlisted)]
pub async fn echo(parameters: Raw) -> Result<Raw, TaskError> {
    Ok(parameters)
}
