//! What people read: output, tables that fit, times, progress.
//!
//! It knows no command and asks no manager.

pub(crate) mod fit;
pub(crate) mod hidden;
pub(crate) mod output;
pub(crate) mod past;
pub(crate) mod progress;
pub(crate) mod when;
