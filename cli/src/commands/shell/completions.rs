//! `jobbers completions`: what a shell offers when the Tab key is pressed.

use std::process::ExitCode;

use clap_complete::Shell;
use jobbers_process::exit;

use crate::{failure::Failure, terminal::output};

const BASH: &str = include_str!("completions/jobbers.bash");
const ZSH: &str = include_str!("completions/jobbers.zsh");
const FISH: &str = include_str!("completions/jobbers.fish");

/// Flags of `jobbers completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For example:
  jobbers completions bash > ~/.local/share/bash-completion/completions/jobbers
  jobbers completions zsh > \"${fpath[1]}/_jobbers\"
  jobbers completions fish > ~/.config/fish/completions/jobbers.fish

In bash, zsh and fish, queues, tasks, roles, workers and ids are offered too. They come from the manager of --manager or \
JOBBERS_URL, else from the one that other commands find.")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the shell's script. `root` describes the command line.
///
/// # Errors
/// When standard output can't be written to.
pub fn run(args: &Args, mut root: clap::Command) -> Result<ExitCode, Failure> {
    let script = match args.shell {
        Shell::Bash => BASH.as_bytes().to_vec(),
        Shell::Zsh => ZSH.as_bytes().to_vec(),
        Shell::Fish => FISH.as_bytes().to_vec(),
        // Their scripts know commands and flags, and no names.
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut root, "jobbers", &mut script);
            script
        }
    };
    output::document(&script)?;
    Ok(exit::OK)
}
