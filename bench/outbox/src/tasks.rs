//! The task that follows from an order.

use jobbers_worker::prelude::*;

/// Charges the card of an order.
#[task(unlisted, max_retries = 8, labels = ["team=shop"])]
pub async fn charge(order: u64) -> Result<u64, TaskError> {
    Ok(order)
}
