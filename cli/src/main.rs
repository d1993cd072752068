//! The `jobbers` command.
//!
//! Exit codes: 0 done, and the answer is yes; 1 done, and the answer is no (refused, not found, failed, not verified);
//! 2 the command line makes no sense; 64 the configuration makes no sense; 66 a file that the command line names can't be read; 69 the manager or the store can't be
//! reached; 70 a defect of the manager; 75 stopped at the drain deadline or by a second signal; 124 a wait ended before its task did. A reader of the output
//! that leaves early (`jobbers list | head`) is none of these: the command ends quietly with 0.

use std::process::ExitCode;

use clap::Parser;
use jobbers_cli::args::Cli;

/// Requests and tasks allocate from every thread; the system's allocator makes them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    jobbers_cli::run(Cli::parse()).await
}
