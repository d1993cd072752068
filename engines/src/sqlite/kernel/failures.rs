//! The history of failed attempts.

use jobbers_common::{engine::Result, limits::MAX_ERRORS_KEPT, policy::error_kind::ErrorKind, task::AttemptFailure};

use super::{find::Found, step::Step};
use crate::sqlite::{sql, store::error::OrStore};

/// Adds a failure to a task's history.
pub(crate) fn note_failure(step: &mut Step<'_>, found: &Found, failure: &AttemptFailure) -> Result<()> {
    // The revision of the move that belongs to it, so no two failures of a task have the same number.
    let number = step.ledger.revision + 1;
    let worker = found.worker.as_ref().map_or("", |worker| worker.as_str());
    let AttemptFailure { kind, error_kind, message } = failure;
    let error_kind = error_kind.as_ref().map(ErrorKind::as_str);
    step.prepare(sql::NOTE_FAILURE)?
        .execute((found.key, number, step.now_micros(), found.attempt, worker, kind.as_str(), message, error_kind))
        .or_store()?;
    step.prepare(sql::TRIM_FAILURES)?.execute((found.key, sql::count(MAX_ERRORS_KEPT))).or_store()?;
    Ok(())
}
