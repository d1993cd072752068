//! `jobbers bench` in a program without the feature `bench`: an error that names it.

use std::process::ExitCode;

use crate::failure::Failure;

/// Any flags of `jobbers bench`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<String>,
}

/// Refuses.
///
/// # Errors
/// Always.
pub async fn run(_: &Args) -> Result<ExitCode, Failure> {
    Err(Failure::Usage(
        "this program is built without the feature `bench`: build it with cargo build --release".to_owned(),
    ))
}
