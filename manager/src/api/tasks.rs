//! Tasks: submit, get, list, cancel, add dependencies.

pub(super) mod activity;
pub(super) mod cancel;
pub(super) mod delete;
pub(super) mod dependencies;
pub(super) mod events;
pub(super) mod explain;
pub(super) mod page;
pub(super) mod reschedule;
pub(super) mod resubmit;
pub(super) mod reveal;
mod selected;
mod send_again;
pub(super) mod show;
pub(super) mod signal;
pub(super) mod statuses;
pub(super) mod submit;
