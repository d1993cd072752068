//! Tasks: submit, get, list, cancel.

pub(super) mod cancel;
pub(super) mod events;
pub(super) mod explain;
pub(super) mod look;
pub(super) mod resubmit;
pub(super) mod submit;
