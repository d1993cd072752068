//! Tasks: taken in, looked at, cancelled.

pub(super) mod cancel;
pub(super) mod look;
pub(super) mod submit;
