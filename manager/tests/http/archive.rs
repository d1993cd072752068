//! Dead letters and the audit log, over HTTP.

mod audit;
mod dead_letter_operations;
pub(crate) mod dead_letters;
