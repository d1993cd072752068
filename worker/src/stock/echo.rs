//! `echo`: returns its parameters.

use crate::{Raw, TaskError, task};

/// Returns its parameters, byte for byte.
#[task(name = "echo", unlisted)]
pub async fn echo(parameters: Raw) -> Result<Raw, TaskError> {
    Ok(parameters)
}
