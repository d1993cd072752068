//! Commands about tasks: submitted, listed, looked at, cancelled, sent again, deleted; and those that failed for good.

pub mod active;
pub mod cancel;
pub mod delete;
pub mod depend;
pub mod dlq;
pub mod explain;
pub mod list;
mod matching;
pub(super) mod parameters;
pub mod reschedule;
pub mod resubmit;
pub mod scheduled;
pub mod signal;
pub mod status;
pub mod submit;
