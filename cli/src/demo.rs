//! The demo's parts: which files, what the tasks answered, and a count of its own to check it with.
//!
//! Start reading at `commands/demo.rs`, which puts them together.

pub mod corpus;
pub mod count;
pub mod outcome;
pub mod report;
pub mod split;
pub mod work;
