//! `jobbers top` in a program without the feature `top`: an error that names it.

use std::process::ExitCode;

use crate::failure::Failure;

/// Any flags of `jobbers top`.
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
        "this program is built without the feature `top`: build it with cargo build --release".to_owned(),
    ))
}
