//! How submissions become tasks: drafts, what links a batch, and templates for tasks that are submitted later.
//!
//! It knows no store.

pub mod batch;
pub mod draft;
pub mod template;
