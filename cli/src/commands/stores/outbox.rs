//! `jobbers outbox`: the table in which a program stores submissions in its own transactions. It asks no manager and opens no
//! store; the relay that empties the table is a part of the program.

use std::process::ExitCode;

use clap::ValueEnum;
use jobbers_process::exit;
use jobbers_worker::outbox::{MYSQL, POSTGRES, SQLITE};

use crate::{failure::Failure, terminal::output};

/// Flags of `jobbers outbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For example, into a migration:
  jobbers outbox create --for postgres > migrations/20_jobbers_outbox.sql")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print the statement that creates the table; it is yours to run, as a migration of your database
    Create(Create),
}

#[derive(Debug, clap::Args)]
struct Create {
    /// The database of the program
    #[arg(long = "for", value_name = "DATABASE")]
    database: Database,
}

/// A database whose dialect is known.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Database {
    /// Postgres 10 or later
    Postgres,
    /// MySQL or MariaDB
    Mysql,
    /// SQLite
    Sqlite,
}

impl Database {
    const fn statement(self) -> &'static str {
        match self {
            Self::Postgres => POSTGRES,
            Self::Mysql => MYSQL,
            Self::Sqlite => SQLITE,
        }
    }
}

/// Prints what was asked for.
///
/// # Errors
/// When standard output can't be written to.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Action::Create(Create { database }) = &args.action;
    output::document(database.statement().as_bytes())?;
    Ok(exit::OK)
}
