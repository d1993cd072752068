//! What the messages ask for compiles: so a case fails for its mistake alone.

// A task must be async, also one that awaits nothing, so no lint of a program complains about it.
#![warn(clippy::pedantic)]

use jobbers_worker::{
    AttemptFailure, Fence, Labels, Start, SubmitError,
    canvas::{ResultOf, ResultsOf, chain, group, join, map},
    layer_fn,
    prelude::*,
};

#[derive(Serialize, Deserialize)]
struct Job {
    customer: String,
}

#[derive(Debug)]
enum Refusal {
    Declined,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("refused")
    }
}

impl std::error::Error for Refusal {}

fn is_declined(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Declined)
}

fn pause(attempt: u32, _failure: &AttemptFailure) -> Duration {
    Duration::from_secs(attempt.into())
}

/// Arguments may be in any order.
#[task(
    queue = "cards", priority = 7, labels = ["team=billing"], concurrency_key = "customer", unique_by = "customer",
    fatal_if = is_declined, fatal_on = [std::io::Error, "spam"], backoff = pause, timeout = "5m",
)]
async fn charge(job: Job, labels: Labels, ctx: Context, fence: Fence, limit: State<u64>) -> Result<u64, Refusal> {
    let _ = (job.customer, ctx.attempt(), labels, fence);
    if *limit == 0 { Err(Refusal::Declined) } else { Ok(*limit) }
}

/// As the compiler proposes it in place of a field that does not exist.
#[task(unique_by = customer, concurrency_key = customer)]
async fn refund(_job: Job) -> Result<(), TaskError> {
    Ok(())
}

#[task(blocking)]
fn digest(text: String) -> Result<String, TaskError> {
    Ok(text)
}

#[task(remote)]
async fn resize(path: String) -> Result<u64, TaskError>;

#[task(cron = "0 2 * * *", time_zone = "Europe/Berlin")]
async fn nightly() -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn count(_job: Job) -> Result<u64, TaskError> {
    Ok(1)
}

#[task]
async fn print(_count: ResultOf<u64>) -> Result<(), TaskError> {
    Ok(())
}

#[task]
async fn total(ctx: Context, counts: ResultsOf<u64>) -> Result<u64, TaskError> {
    Ok(counts.read(&ctx).await?.into_iter().sum())
}

fn job() -> Job {
    Job { customer: "acme".to_owned() }
}

async fn submit(client: &Client) -> Result<(), SubmitError> {
    charge.delay(client, job()).await?;
    digest.with("x".to_owned()).priority(9).submit(client).await?;
    resize.delay(client, "a.png".to_owned()).await?;
    let counted = chain![count.with(job()), &print];
    counted.workflow().submit(client).await?;
    map(&count, [job()]).then(&total).workflow().submit(client).await?;
    group([count.with(job()), count.with(job())]).then(&nightly).workflow().submit(client).await?;
    let both = join((count.with(job()), digest.with("x".to_owned())));
    both.then(&nightly).workflow().submit(client).await?;
    Ok(())
}

fn layer(_ctx: &Context, attempt: Start) -> Start {
    attempt
}

pub(crate) fn main() {
    let _ = submit;
    let _ = || {
        Worker::from_env()
            .layer(layer)
            .layer(|_: &Context, attempt: Start| attempt)
            .layer(layer_fn(|_, attempt| attempt))
    };
}
