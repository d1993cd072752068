//! `jobbers apply`: makes the live configuration what a file says.
//!
//! Read [`file`] for what a file may say, [`plan`] for how it is compared with the store's.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use jobbers_process::exit;
use serde::Serialize;

use self::{file::Wanted, plan::PlanStep};
use crate::{
    client::{ClientArgs, ManagerClient},
    failure::Failure,
    terminal::output,
};

mod file;
mod plan;

const AFTER_HELP: &str = "\
The file is TOML: [queues.NAME], [roles.NAME] and [schedules.NAME] with the settings that the API takes, and [[routes]]. What it does \
not name stays as it is, and a queue or a schedule that is paused stays paused unless the file says `paused`; a setting that is absent \
has its default. With --prune the entries of those kinds that the file has, and that it does not name, are deleted, but for the queue \
and the role `default`. A change that someone else makes meanwhile is not overwritten, but for routes. Running it again changes nothing.

Exit codes: 0 done, or nothing to do; 1 refused, or with --dry-run something differs; 64 the file makes no sense; 66 it can't be read.";

/// Flags of `jobbers apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The file; - reads standard input
    #[arg(long, short, value_name = "FILE", default_value = "jobbers.toml")]
    file: PathBuf,
    /// Delete what the file does not name, of the kinds that it has
    #[arg(long)]
    prune: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before something is deleted
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Serialize)]
struct ApplyReport<'a> {
    changes: &'a [PlanStep],
    applied: bool,
}

/// Compares, shows the difference, and makes it so.
///
/// # Errors
/// When the file makes no sense, or the manager can't be asked or refuses.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let wanted = Wanted::read(&args.file)?;
    let client = args.client.client()?;
    let steps = plan::plan(&client, &wanted, args.prune).await?;
    if !args.client.json {
        show(&steps, &args.file)?;
    }
    let deletions = steps.iter().filter(|step| step.is_deletion()).count() as u64;
    let is_let = args.dry_run || deletions == 0 || args.yes;
    if !is_let && !output::confirm(&format!("Make {}?", output::count(deletions, "deletion")))? {
        return Ok(exit::FAILURE.into());
    }
    if !args.dry_run {
        carry_out(&client, &steps).await?;
    }
    if args.client.json {
        let report = ApplyReport { changes: &steps, applied: !args.dry_run };
        let text = serde_json::to_vec(&report).map_err(|error| Failure::Unavailable(error.to_string()))?;
        output::document(&text)?;
    }
    let differs = args.dry_run && !steps.is_empty();
    Ok(if differs { exit::FAILURE.into() } else { exit::OK })
}

fn show(steps: &[PlanStep], file: &Path) -> Result<(), Failure> {
    if steps.is_empty() {
        output::note(format_args!("the configuration is what {} says", file.display()));
    }
    steps.iter().flat_map(PlanStep::lines).try_for_each(output::line)
}

async fn carry_out(client: &ManagerClient, steps: &[PlanStep]) -> Result<(), Failure> {
    for (done, step) in steps.iter().enumerate() {
        if let Err(failure) = step.carry_out(client).await {
            let left = steps.len() - done;
            output::note(format_args!("{done} changes were made, and {left} are left: run it again"));
            return Err(failure);
        }
    }
    Ok(())
}
