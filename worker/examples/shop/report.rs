//! The report of each night.

use jobbers_worker::prelude::*;

use crate::services::Services;

/// Adds up what was charged, each night at three. Workers declare the schedule when they start, and managers fire it.
#[task(cron = "0 3 * * *", time_zone = "Europe/Berlin", max_retries = 5, retry_delay = "1m")]
pub(crate) async fn nightly_report(ctx: Context, services: State<Services>) -> Result<u64, TaskError> {
    let mut cents = 0;
    let mut charges = tokio::fs::read_dir(services.file("charges")).await?;
    while let Some(charge) = charges.next_entry().await? {
        // What is being written has an extension.
        if charge.path().extension().is_none() {
            cents += tokio::fs::read_to_string(charge.path()).await?.parse::<u64>()?;
        }
    }
    services.write(&ctx, "report", format!("{cents} cents\n"))?;
    services.note(&ctx, "reported")?;
    Ok(cents)
}
