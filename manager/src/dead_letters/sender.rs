//! Carrying out an operation: sending its letters again, in batches, at its rate.
//!
//! What the store has done and the archive has not yet noted is asked of the store again; its receipt answers that it was
//! done. The receipts are taken away when nothing is left to send, and only then the operation is finished: a manager
//! that continues it after a crash only repeats. Between two batches it looks whether the operation is cancelled: so
//! nothing is given back that is on its way.

use std::{sync::Arc, time::Duration};

use jobbers_archive::{Archive, ItemOutcome, RunningOperation};
use jobbers_common::{
    engine::{DeadTask, Resubmit, Resubmitted},
    limits::MAX_BATCH,
};

use super::{
    calls::blocking,
    holding::KeeperContext,
    meters::{Pair, pair},
    order::{self, Order},
};

/// Letters sent by one call.
const BATCH: usize = 100;
/// How long to wait before trying again what failed.
const PAUSE: Duration = Duration::from_secs(1);

/// The outcome of one item.
type Settled = (i64, ItemOutcome, Option<String>);

/// Sends the rest of an operation, and retries transient failures. Returns early if this manager no longer keeps the
/// archive.
pub(super) async fn carry_out(context: &dyn KeeperContext, archive: &Arc<Archive>, operation: RunningOperation) {
    let RunningOperation { id, request, .. } = operation;
    let order: Option<Order> = serde_json::from_str(&request)
        .inspect_err(|error| tracing::error!(operation = id, %error, "an operation can't be read; cancel it"))
        .ok();
    let mut cancels = context.letters().cancels.subscribe();
    while context.letters().held().is_some() {
        let pause = match advance(context, archive, &id, order.as_ref()).await {
            Ok(SendProgress::Done) => {
                context.letters().ended.notify_waiters();
                return;
            }
            Ok(SendProgress::Sent(pause)) => pause,
            Err(error) => {
                tracing::warn!(operation = id, %error, "letters could not be sent again; trying on");
                PAUSE
            }
        };
        // An operation was cancelled, perhaps this one.
        tokio::time::timeout(pause, cancels.changed()).await.ok();
    }
}

enum SendProgress {
    /// Some were sent; the next ones after this time.
    Sent(Duration),
    Done,
}

async fn advance(
    context: &dyn KeeperContext,
    archive: &Arc<Archive>,
    operation: &str,
    order: Option<&Order>,
) -> anyhow::Result<SendProgress> {
    let id = operation.to_owned();
    if blocking(archive, move |archive| archive.is_cancelled(&id)).await? {
        let id = operation.to_owned();
        blocking(archive, move |archive| archive.free(&id)).await?;
        finish(context, archive, operation).await?;
        tracing::info!(operation, "an operation was cancelled; what it had not sent is dead as before");
        return Ok(SendProgress::Done);
    }
    // Only a cancel helps.
    let Some(order) = order else { return Ok(SendProgress::Sent(PAUSE)) };
    let (limit, id) = (batch(order.rate), operation.to_owned());
    let pending = blocking(archive, move |archive| archive.pending(&id, limit)).await?;
    if pending.is_empty() {
        finish(context, archive, operation).await?;
        tracing::info!(operation, "sent dead letters again");
        return Ok(SendProgress::Done);
    }
    let settled = send(context, order, pending).await?;
    let (sent, id, now) = (settled.len(), operation.to_owned(), context.letters().engine.health().await?.now);
    blocking(archive, move |archive| archive.settle(&id, &settled, now)).await?;
    Ok(SendProgress::Sent(order.rate.map_or(Duration::ZERO, |rate| order::pause(rate, sent))))
}

/// As many as take a quarter of a second at this rate.
fn batch(rate: Option<f64>) -> usize {
    let quarter = rate.map_or(f64::INFINITY, |rate| (rate / 4.0).ceil());
    (1..BATCH).find(|size| *size as f64 >= quarter).unwrap_or(BATCH)
}

async fn send(
    context: &dyn KeeperContext,
    order: &Order,
    pending: Vec<(i64, DeadTask)>,
) -> anyhow::Result<Vec<Settled>> {
    let (mut settled, mut places, mut wishes): (Vec<Settled>, Vec<(i64, Pair)>, Vec<Resubmit>) = Default::default();
    // Fresh, once for all of these: an operator who repairs a task's workers sends its letters again the next moment.
    let known = context.known().fresh().await?;
    for (place, dead) in pending {
        let pair = pair(&dead);
        match order.wish(dead, context.max_payload_bytes(), &known, context.long_work()).await {
            Ok(wish) => {
                places.push((place, pair));
                wishes.push(wish);
            }
            Err(why) => settled.push((place, ItemOutcome::BadParameters, Some(why))),
        }
    }
    if !wishes.is_empty() {
        let answers = context.letters().engine.resubmit(wishes).await?;
        for ((place, pair), answer) in places.into_iter().zip(answers) {
            if answer == Resubmitted::Done {
                context.letters().meters.resubmitted(&pair);
            }
            settled.push(outcome(place, answer));
        }
    }
    Ok(settled)
}

fn outcome(place: i64, answer: Resubmitted) -> Settled {
    let (outcome, detail) = match answer {
        // The letter belongs to this operation only, so its receipt is this operation's.
        Resubmitted::Done | Resubmitted::Already => (ItemOutcome::Resubmitted, None),
        Resubmitted::Live(status) => (ItemOutcome::Live, Some(format!("the task is {status}"))),
        Resubmitted::Moved(status) => (ItemOutcome::Moved, Some(format!("the task has ended again: {status}"))),
        Resubmitted::Unknown => (ItemOutcome::Unknown, None),
        Resubmitted::UnknownQueue(queue) => {
            (ItemOutcome::UnknownQueue, Some(format!("queue {queue} does not exist; say to_queue")))
        }
        Resubmitted::Held(holder) => (ItemOutcome::Duplicate, Some(format!("task {holder} holds its unique key"))),
    };
    (place, outcome, detail)
}

async fn finish(context: &dyn KeeperContext, archive: &Arc<Archive>, operation: &str) -> anyhow::Result<()> {
    let mut from = 0;
    loop {
        let id = operation.to_owned();
        let (keys, next) = blocking(archive, move |archive| archive.sent(&id, from, MAX_BATCH)).await?;
        if keys.is_empty() {
            break;
        }
        context.letters().engine.forget_receipts(&keys).await?;
        from = next;
    }
    let (id, now) = (operation.to_owned(), context.letters().engine.health().await?.now);
    blocking(archive, move |archive| archive.finish(&id, now)).await?;
    Ok(())
}
