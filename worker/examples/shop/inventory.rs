//! The stock of a supplier, read page by page: long work that goes on where it stopped.

use jobbers_worker::prelude::*;

use crate::services::Services;

/// Which supplier, and how many pages its list has.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Supplier {
    pub(crate) name: String,
    pub(crate) pages: u64,
}

/// How far the list is read: what a later attempt goes on from.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Read {
    pub(crate) pages: u64,
    pub(crate) items: u64,
}

/// A page of the supplier's list: how many items it names.
async fn fetch(services: &Services, page: u64) -> u64 {
    services.call().await;
    100 + page
}

/// A worker that stops gives it back at once (`on_shutdown`), and another one goes on from the checkpoint. After a crash, the pages
/// since the last checkpoint that reached the store are read again, so each page replaces what it wrote before.
#[task(max_retries = 10, retry_delay = "5s", max_heartbeat_interval = "30s", on_shutdown = "requeue")]
pub(crate) async fn count_stock(ctx: Context, services: State<Services>, job: Supplier) -> Result<u64, TaskError> {
    let mut read: Read = ctx.last_checkpoint()?.unwrap_or_default();
    while read.pages < job.pages {
        let items = fetch(&services, read.pages).await;
        services.write(&ctx, format!("stock/{}-{}", job.name, read.pages), items.to_string())?;
        services.note(&ctx, "counted")?;
        read = Read { pages: read.pages + 1, items: read.items + items };
        ctx.checkpoint(&read).await?;
        ctx.progress(read.pages as f64 / job.pages as f64, format!("page {}", read.pages)).await?;
    }
    Ok(read.items)
}
