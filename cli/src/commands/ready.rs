//! `jobbers ready`: whether a manager, or what else answers probes, can do its work.

use std::process::ExitCode;

use jobbers_api::worker::ReadyView;
use jobbers_process::exit;

use crate::{
    client::{self, ClientArgs},
    failure::Failure,
    terminal::output,
};

/// What a listener for probes alone answers.
const WORD: &[u8] = b"ready\n";

/// Flags of `jobbers ready`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For example:
  jobbers ready && systemctl start shop             # what needs a manager starts after it
  jobbers ready --manager http://127.0.0.1:9090     # a worker or a cleaner, at its --metrics-listen

Exit code 0 when it is ready, 69 when it is not or does not answer. It is the health check of the image.")]
pub struct Args {
    #[command(flatten)]
    client: ClientArgs,
}

/// Asks once.
///
/// # Errors
/// When it can't be asked, and why it is not ready.
pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let client = args.client.client()?;
    let answer = client.get("/health/ready", client::NOTHING).await?;
    if args.client.json {
        output::document(&answer.body)?;
        return Ok(exit::OK);
    }
    // A worker and a cleaner answer with the word alone.
    let details: Option<ReadyView> = if answer.body.as_ref() == WORD { None } else { Some(answer.read()?) };
    let (store, warnings) = details.map(|ready| (ready.store, ready.warnings)).unwrap_or_default();
    let store = store.map(|store| format!(", with the store {store}")).unwrap_or_default();
    output::line(format_args!("{} is ready{store}", client.base()))?;
    for warning in warnings.into_iter().flatten() {
        output::note(format_args!("{warning}"));
    }
    Ok(exit::OK)
}
