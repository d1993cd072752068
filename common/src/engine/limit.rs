//! How much one page may ask for.

use crate::{
    error::{Error, Result},
    limits::MAX_BATCH,
};

/// Checks a limit.
///
/// # Errors
/// [`Error::Invalid`] unless it is 1 to 1,000.
pub fn validate_limit(limit: usize) -> Result<()> {
    if (1..=MAX_BATCH).contains(&limit) {
        return Ok(());
    }
    Err(Error::Invalid(format!("a limit is 1 to {MAX_BATCH}, not {limit}")))
}
