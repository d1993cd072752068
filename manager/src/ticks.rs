//! What a manager does without a request: chores, schedules, runs of workflows.
//!
//! These know the whole manager, and answer no request.

pub(crate) mod chores;
pub(crate) mod schedules;
pub(crate) mod workflows;
