//! Work that delays no request: on another thread, or piece by piece when it is due.
//!
//! It knows no store.

pub(crate) mod long;
pub(crate) mod ticker;
