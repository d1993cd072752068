//! Mails: a queue of their own, in which one mail of each customer is sent at a time.

use jobbers_worker::prelude::*;

use crate::services::Services;

/// A mail to a customer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mail {
    pub(crate) customer: String,
    pub(crate) text: String,
}

/// No retry finds a mailbox that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0} has no mailbox")]
struct NoMailbox(String);

/// The key of each mail is its customer, and the queue `mail` runs one task of each key at a time (`setup.rs`). The mail server
/// refuses a second connection, so that a mistake would be seen as a retry.
#[task(
    queue = "mail", concurrency_key = "customer",
    max_retries = 5, retry_delay = "10s", timeout = "1m", fatal_on = [NoMailbox],
)]
pub(crate) async fn send_mail(ctx: Context, services: State<Services>, mail: Mail) -> Result<(), TaskError> {
    let _connection = services.connect(&mail.customer).map_err(|busy| TaskError::retry(busy).kind("busy"))?;
    services.call().await;
    if !mail.customer.contains('@') {
        return Err(NoMailbox(mail.customer).into());
    }
    Ok(services.note(&ctx, "mailed")?)
}
