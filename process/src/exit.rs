//! Exit codes, the same for every binary.

use std::process::ExitCode;

use jobbers_common::engine::Error;

/// Everything that was asked for was done.
pub const OK: ExitCode = ExitCode::SUCCESS;
/// It was done and the answer is no: a task failed, a check disagreed, something was left undone.
pub const FAILURE: u8 = 1;
/// The command line makes no sense.
pub const USAGE: u8 = 2;
/// The configuration makes no sense.
pub const CONFIG: u8 = 64;
/// The store or the manager can't be reached.
pub const UNAVAILABLE: u8 = 69;
/// A defect of ours.
pub const INTERNAL: u8 = 70;
/// What was asked for could not be written to standard output.
pub const IO: u8 = 74;
/// The wait ended before the task did; the code that `timeout` uses.
pub const WAIT_ENDED: u8 = 124;
/// Stopped at the drain deadline, or by a second signal: what still ran was given back, or the store did not take the end
/// of what had run.
pub const DRAINED_LATE: u8 = 75;

/// Stopped because too many threads were held by tasks that do not end: to be started again.
pub const HUNG: u8 = 76;

/// The code for a store that can't be opened: one that was written by another version, like an address that makes no
/// sense, is for the operator to change.
#[must_use]
pub const fn of_store(error: &Error) -> u8 {
    match error {
        Error::Config(_) | Error::Schema { .. } => CONFIG,
        _ => UNAVAILABLE,
    }
}
