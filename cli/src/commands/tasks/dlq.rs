//! `jobbers dlq`: what failed for good, why, and sending it again.

use std::process::ExitCode;

use crate::failure::Failure;

mod change;
mod operations;
mod selection;
mod show;

/// Flags of `jobbers dlq`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Dead letters are tasks that failed for good and were to be kept: submitted with --dead-letter save, or of a task whose code \
says so. They stay when the store forgets their tasks, with every failure, until they are deleted.")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List dead letters, the latest first
    List(show::List),
    /// Show all that is known of one: its task, and every failure
    Show(show::Show),
    /// Count them by queue, task and cause
    Stats(show::Stats),
    /// Send some again, after a look at how many they are
    Resubmit(change::Resubmit),
    /// List the operations that send some again, the latest first
    Operations(operations::Operations),
    /// Stop an operation that sends some again; what it has not sent stays dead
    Cancel(change::Cancel),
    /// Delete some, after a look at how many they are
    Delete(change::Delete),
}

/// Does it.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        Action::List(args) => show::list(&args).await,
        Action::Show(args) => show::show(&args).await,
        Action::Stats(args) => show::stats(&args).await,
        Action::Resubmit(args) => change::resubmit(&args).await,
        Action::Operations(args) => operations::list(&args).await,
        Action::Cancel(args) => change::cancel(&args).await,
        Action::Delete(args) => change::delete(&args).await,
    }
}
