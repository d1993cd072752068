//! Exit codes, the same for every binary.

use std::process::ExitCode;

use jobbers_common::engine::Error;

/// Success: everything requested was done.
pub const OK: ExitCode = ExitCode::SUCCESS;
/// The command ran and the answer is no: a task failed, a check disagreed, or something was left undone.
pub const FAILURE: u8 = 1;
/// The command line is invalid.
pub const USAGE: u8 = 2;
/// The configuration is invalid.
pub const CONFIG: u8 = 64;
/// A file that the command line names can't be read.
pub const NO_INPUT: u8 = 66;
/// The store or the manager can't be reached.
pub const UNAVAILABLE: u8 = 69;
/// A defect in Jobbers.
pub const INTERNAL: u8 = 70;
/// The output could not be written to standard output.
pub const IO: u8 = 74;
/// The wait ended before the task did; `timeout` uses the same code.
pub const WAIT_ENDED: u8 = 124;
/// Stopped at the drain deadline or by a second signal. Running tasks were given back, or the store did not accept the
/// results of finished ones.
pub const DRAINED_LATE: u8 = 75;

/// Stopped because tasks that do not end hold too many threads. The process should be started again.
pub const HUNG: u8 = 76;

/// The code for a store that can't be opened. A store written by another version, like an invalid address, needs the
/// operator.
#[must_use]
pub const fn of_store(error: &Error) -> u8 {
    match error {
        Error::Config(_) | Error::Schema { .. } => CONFIG,
        _ => UNAVAILABLE,
    }
}
