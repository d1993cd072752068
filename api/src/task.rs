//! Tasks, in and out: submitted, read, listed, linked, cancelled, rescheduled, sent again, deleted.
//!
//! It knows no other noun of the API.

pub mod cancel;
pub mod condition;
pub mod delete;
pub mod dependency;
pub mod explain;
pub mod list;
pub mod parents;
pub mod request;
pub mod reschedule;
pub mod resubmit;
pub mod selection;
pub(crate) mod sensitive;
pub mod signal;
pub mod statuses;
pub mod successors;
pub mod view;
pub mod warning;
