//! The `cleaner` program.

use std::process::ExitCode;

use clap::Parser;
use jobbers_cleaner::{Args, program};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    program::run(Args::parse()).await
}
