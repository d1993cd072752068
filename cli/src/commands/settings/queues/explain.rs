//! `jobbers queues explain`: why a queue does not move.

use jobbers_api::task::explain::QueueExplainView;

use super::one::OneQueue;
use crate::{
    client,
    commands::tasks::explain,
    failure::Failure,
    terminal::{output, when},
};

/// Lists everything that keeps the next task of a queue from running.
///
/// # Errors
/// When the manager can't be asked or knows no such queue.
pub(super) async fn run(one: &OneQueue) -> Result<(), Failure> {
    let path = format!("{}/explain", client::queue_path(one.name.as_str()));
    let answer = one.client.client()?.get(&path, client::NOTHING).await?;
    if one.client.json {
        return output::document(&answer.body);
    }
    let QueueExplainView { queue, running, ready, later, oldest_ready_at, last_start_at, next, reasons } =
        answer.read()?;
    let [running, ready, later] = [running, ready, later].map(output::thousands);
    let oldest = oldest_ready_at.map(|at| format!(", the first since {}", when::full(at))).unwrap_or_default();
    output::line(format_args!("queue {queue}: {running} running, {ready} ready{oldest}, {later} for later"))?;
    match last_start_at {
        Some(at) => output::line(format_args!("its latest start was in the minute of {}", when::full(at)))?,
        None => output::line(format_args!("no task of it started in the last two hours"))?,
    }
    if let Some(next) = next {
        output::line(format_args!("next is task {next}:"))?;
    }
    explain::reasons(&reasons)
}
