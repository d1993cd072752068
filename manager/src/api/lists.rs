//! Lists of tasks: read in short pages, searched, and written as their client reads them.
//!
//! It has no route.

pub(super) mod listing;
pub(super) mod pieces;
pub(super) mod search;
