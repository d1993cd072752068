//! Calls of the archive, which wait for a file.

use std::sync::Arc;

use jobbers_api::problem::Problem;
use jobbers_archive::Archive;

use super::view::problem_of;

/// Runs a call of the archive where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    archive: &Arc<Archive>,
    call: impl FnOnce(&Archive) -> jobbers_archive::Result<T> + Send + 'static,
) -> jobbers_archive::Result<T> {
    let archive = Arc::clone(archive);
    match tokio::task::spawn_blocking(move || call(&archive)).await {
        Ok(answer) => answer,
        Err(error) => Err(jobbers_archive::Error::Unavailable(error.to_string())),
    }
}

/// The same for a handler, which answers an error as a problem.
pub(crate) async fn ask<T: Send + 'static>(
    archive: &Arc<Archive>,
    call: impl FnOnce(&Archive) -> jobbers_archive::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    blocking(archive, call).await.map_err(|error| problem_of(&error))
}
