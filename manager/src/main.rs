//! The `manager` program.

use std::process::ExitCode;

use clap::Parser;
use jobbers_manager::{config::Args, program};

/// Requests allocate from every thread; the system's allocator makes them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    program::run(Args::parse()).await
}
