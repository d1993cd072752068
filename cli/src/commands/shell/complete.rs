//! `jobbers complete`: what may stand at the cursor. The scripts that `jobbers completions` prints call it at each Tab.
//!
//! Commands, flags and fixed values come from the command line's own description; queues, tasks, roles, workers and ids
//! from the manager. A manager that does not answer soon contributes nothing and causes no message, because the user is typing.

pub(crate) mod names;
mod point;

use std::process::ExitCode;

use jobbers_process::exit;

use self::point::CompletionPoint;
pub(crate) use self::point::Kind;
use crate::{failure::Failure, terminal::output};

/// Flags of `jobbers complete`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The words after `jobbers`; the last one is being typed, and may be empty
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Prints what fits, one a line. `root` describes the command line.
///
/// # Errors
/// When standard output can't be written to.
pub async fn run(args: &Args, mut root: clap::Command) -> Result<ExitCode, Failure> {
    root.build();
    let point = CompletionPoint::of(&root, &args.words);
    let mut found = point.fixed();
    if let Some(kind) = point.kind() {
        found.extend(names::of(kind, &point.path, &args.words).await);
    }
    for word in found.iter().filter(|word| word.starts_with(point.typed())) {
        output::line(word)?;
    }
    Ok(exit::OK)
}
