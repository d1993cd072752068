//! An order, from the card to its end: a workflow of five tasks.

use jobbers_worker::{
    RunHandle, SubmitError,
    canvas::{ResultsOf, chain, group},
    policy::Status,
    prelude::*,
};

use crate::{
    card::{Charge, charge},
    mail::{Mail, send_mail},
    services::Services,
    webhooks::{Webhook, call_webhook},
};

/// What a customer ordered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) customer: String,
    pub(crate) cents: u64,
    /// Who is called when it is paid.
    pub(crate) webhook: Option<String>,
}

/// An order, and how the tasks ended that follow from its charge.
#[derive(Serialize, Deserialize)]
struct Paid {
    order: String,
    parts: ResultsOf<()>,
}

/// How an order ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    Shipped,
    Cancelled,
}

/// Takes an order. The workflow's id is the order's, so an order that is taken twice is one.
pub(crate) async fn take(client: &Client, order: &Order) -> Result<RunHandle<End>, SubmitError> {
    let Order { id, customer, cents, webhook } = order;
    let mail = |text: &str| send_mail.with(Mail { customer: customer.clone(), text: format!("order {id} {text}") });
    let paid = chain![charge.with(Charge { order: id.clone(), cents: *cents }).id("charge")];
    let after_it = |_| {
        let mut parts = vec![ship.with(id.clone()).id("ship"), mail("is paid").id("receipt")];
        let webhook = webhook.iter().map(|url| Webhook { url: url.clone(), event: format!("paid {id}") });
        parts.extend(webhook.map(|webhook| call_webhook.with(webhook).id("webhook")));
        // The order ends however these do.
        group(parts).with_failures()
    };
    paid.on_error(mail("can't be paid: the card was declined").id("sorry"))
        .then_each(after_it)
        .then_with(|parts| close.with(Paid { order: id.clone(), parts }).id("close"))
        .workflow()
        .id(format!("order-{id}"))
        .submit(client)
        .await
}

/// Hands a parcel to the carrier.
#[task(max_retries = 5, retry_delay = "10s", timeout = "1m")]
async fn ship(ctx: Context, services: State<Services>, _order: String) -> Result<(), TaskError> {
    services.call().await;
    Ok(services.note(&ctx, "shipped")?)
}

/// Ends an order: it is shipped, or cancelled because its card was declined.
#[task(max_retries = 5, retry_delay = "10s")]
async fn close(ctx: Context, services: State<Services>, paid: Paid) -> Result<End, TaskError> {
    let parts = paid.parts.ends(&ctx).await?;
    let is_shipped = parts.first().is_some_and(|it| it.status == Some(Status::Completed));
    services.note(&ctx, "closed")?;
    tracing::info!(order = paid.order, is_shipped, "an order is over");
    Ok(if is_shipped { End::Shipped } else { End::Cancelled })
}
