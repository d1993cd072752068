//! Where a verb leaves its result.
//!
//! The way to the thread that runs a verb carries no result, so that it is compiled once and not for each of some 75
//! verbs.

use std::sync::Arc;

use jobbers_common::engine::{Error, Result};
use parking_lot::Mutex;

/// A place for one value, shared by the caller and the thread that runs its verb.
#[derive(Debug)]
pub(crate) struct ResultSlot<T>(Arc<Mutex<Option<T>>>);

impl<T> ResultSlot<T> {
    /// Leaves a value, in place of an earlier one.
    pub(crate) fn put(&self, value: T) {
        *self.0.lock() = Some(value);
    }

    /// Takes what the verb left. Only for the caller of a verb that has succeeded.
    pub(crate) fn take(&self) -> Result<T> {
        self.0.lock().take().ok_or_else(|| Error::Defect("a verb left no result".to_owned()))
    }
}

impl<T> Default for ResultSlot<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for ResultSlot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
