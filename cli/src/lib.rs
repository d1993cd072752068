//! The `jobbers` command: the whole system in one process, each of its services alone, and a client for the terminal.
//!
//! Only this crate starts the services together. The client commands speak HTTP to a manager and know no
//! store, but `doctor`, `export`, `import` and `keys`, which read and write one. What they print on standard output is the answer and nothing else: a table for people, or with `--json` the manager's own
//! words for programs; all else goes to standard error.
//!
//! Start reading at [`args`], then `commands`: a file each, in folders by what they are about. [`stack`] is what `up` and `demo` start.

pub mod args;
#[cfg(feature = "bench")]
pub mod bench;
pub mod client;
pub mod commands;
pub mod demo;
pub mod doctor;
pub mod failure;
mod filter;
pub mod journal;
mod profile;
mod scratch;
mod stack;
mod terminal;
#[cfg(feature = "top")]
mod top;

use std::process::ExitCode;

use clap::CommandFactory as _;
use futures_util::future::LocalBoxFuture;
use jobbers_worker::{Worker, stock};

use crate::args::{Cli, Command};

/// Does what the command line says. Boxed, so that it is compiled with this crate and not again with each program that starts it.
#[inline(never)]
#[must_use]
pub fn run(cli: Cli) -> LocalBoxFuture<'static, ExitCode> {
    Box::pin(run_here(cli))
}

async fn run_here(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Command::Up(args) => commands::up::run(args).await,
        Command::Manager(args) => return jobbers_manager::program::run(*args).await,
        Command::Worker(args) => return Worker::from_args(*args).tasks(stock::ALL).run().await,
        Command::Cleaner(args) => return jobbers_cleaner::program::run(*args).await,
        Command::Demo(args) => commands::demo::run(args).await,
        Command::Submit(args) => commands::tasks::submit::run(args).await,
        Command::Status(args) => commands::tasks::status::run(&args).await,
        Command::Explain(args) => commands::tasks::explain::run(&args).await,
        Command::List(args) => commands::tasks::list::run(&args).await,
        Command::Active(args) => commands::tasks::active::run(&args).await,
        Command::Scheduled(args) => commands::tasks::scheduled::run(&args).await,
        Command::Cancel(args) => commands::tasks::cancel::run(args).await,
        Command::Reschedule(args) => commands::tasks::reschedule::run(args).await,
        Command::Signal(args) => commands::tasks::signal::run(&args).await,
        Command::Depend(args) => commands::tasks::depend::run(&args).await,
        Command::Delete(args) => commands::tasks::delete::run(args).await,
        Command::Resubmit(args) => commands::tasks::resubmit::run(args).await,
        Command::Dlq(args) => commands::tasks::dlq::run(args).await,
        Command::Audit(args) => commands::audit::run(&args).await,
        Command::Ready(args) => commands::ready::run(&args).await,
        Command::Export(args) => commands::stores::export::run(&args).await,
        Command::Import(args) => commands::stores::import::run(&args).await,
        Command::Doctor(args) => commands::stores::doctor::run(&args).await,
        Command::Apply(args) => commands::settings::apply::run(&args).await,
        Command::Keys(args) => commands::settings::keys::run(&args).await,
        Command::Queues(args) => commands::settings::queues::run(args).await,
        Command::Roles(args) => commands::settings::roles::run(&args).await,
        Command::Routes(args) => commands::settings::routes::run(&args).await,
        Command::Schedules(args) => commands::settings::schedules::run(&args).await,
        Command::Workflow(args) => commands::settings::workflow::run(&args).await,
        Command::Boards(args) => commands::boards::run(&args).await,
        Command::Registry(args) => commands::registry::run(&args).await,
        Command::Workers(args) => commands::workers::run(&args).await,
        Command::Top(args) => commands::top::run(&args).await,
        Command::Bench(args) => commands::bench::run(&args).await,
        #[cfg(feature = "bench")]
        Command::BenchServices(args) => commands::bench::run_services(args).await,
        #[cfg(feature = "bench")]
        Command::BenchWorker(args) => commands::bench::run_worker(args).await,
        Command::Complete(args) => commands::shell::complete::run(&args, Cli::command()).await,
        Command::Completions(args) => commands::shell::completions::run(&args, Cli::command()),
        Command::Outbox(args) => commands::stores::outbox::run(&args),
        Command::Man(args) => commands::shell::man::run(&args, Cli::command()),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            if !matches!(failure, failure::Failure::ReaderGone) {
                terminal::output::error(&failure);
            }
            commands::shell::near::hint(&failure).await;
            failure.code().into()
        }
    }
}
