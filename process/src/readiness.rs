//! Whether a worker or a cleaner can do its work, for the probes beside its `/metrics`. A manager answers probes on its own
//! listener.

use std::sync::{Mutex, PoisonError};

/// Why the process is not ready; `None` if it is.
static WHY_NOT: Mutex<Option<String>> = Mutex::new(None);

/// The process can do its work, or can't and for this reason.
pub fn set(state: Result<(), String>) {
    *WHY_NOT.lock().unwrap_or_else(PoisonError::into_inner) = state.err();
}

/// What [`set`] was called with last.
///
/// # Errors
/// Why the process is not ready.
pub fn get() -> Result<(), String> {
    WHY_NOT.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
}
