//! What is due in a store.

use crate::time::Timestamp;

/// Entries that are due, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due<T> {
    /// The present, by the store's clock.
    pub now: Timestamp,
    /// The entries that are due, the longest due first.
    pub due: Vec<T>,
    /// When the next one after these is due.
    pub next_at: Option<Timestamp>,
}
