//! Commands for the user's shell: help pages, and what the Tab key offers.

pub mod complete;
pub mod completions;
pub mod man;
pub(crate) mod near;
