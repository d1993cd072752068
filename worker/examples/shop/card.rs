//! Charging a card: once per order, however often the task runs.

use jobbers_worker::prelude::*;

use crate::services::Services;

/// What a card is charged for.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) order: String,
    pub(crate) cents: u64,
}

/// Why a card was not charged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CardError {
    /// The bank said no.
    #[error("the bank declined {0} cents")]
    Declined(u64),
    /// It is not known whether the card was charged.
    #[error("the card network does not answer")]
    Network(#[from] std::io::Error),
}

/// What the bank pays at once.
pub(crate) const LIMIT: u64 = 1_000_000;

fn is_declined(error: &CardError) -> bool {
    matches!(error, CardError::Declined(_))
}

/// The card network. It charges once for each key, and answers a second call with the same key like the first one.
async fn call_network(services: &Services, ctx: &Context, key: &str, cents: u64) -> Result<(), CardError> {
    services.call().await;
    if cents > LIMIT {
        return Err(CardError::Declined(cents));
    }
    services.write(ctx, format!("charges/{key}"), cents.to_string())?;
    Ok(services.note(ctx, "charged")?)
}

/// The key is the order's number and not the task's id: also an order that is submitted by two tasks is charged once. What the bank
/// declined is declined again (`fatal_if`), and needs no person (`dead_letter`): the order is cancelled.
#[task(priority = 7, max_retries = 8, retry_delay = "1s", timeout = "30s", fatal_if = is_declined, dead_letter = "none")]
pub(crate) async fn charge(ctx: Context, services: State<Services>, job: Charge) -> Result<u64, CardError> {
    call_network(&services, &ctx, &job.order, job.cents).await?;
    Ok(job.cents)
}
