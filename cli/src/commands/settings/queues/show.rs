//! Queues, shown: all of them in numbers, and all that is known of one.

use std::time::Duration;

use crate::{
    client::{self, ClientArgs},
    commands::pages,
    failure::Failure,
    terminal::{
        fit::{self, Column},
        output, past, when,
    },
};
use jobbers_api::queue::{QueueListView, QueueView, RateLimitSettings};
use jobbers_common::{lifecycle::Status, values::duration};

use super::one::OneQueue;

/// All queues, a line each.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub(super) async fn list(args: &ClientArgs) -> Result<(), Failure> {
    let Some((queues, _)) = pages::gather::<QueueListView>(args, "/queues", &[], u64::MAX, None).await? else {
        return Ok(());
    };
    let columns = [
        Column::cut_to("QUEUE", 16),
        Column::number("READY"),
        Column::number("OLDEST").giving_way(1),
        Column::number("SCHEDULED").giving_way(3),
        Column::number("RUNNING"),
        Column::number("COMPLETED").giving_way(4),
        Column::number("FAILED"),
        Column::number("OTHER").giving_way(2),
        Column::whole("STATE"),
    ];
    let row = |queue: &QueueView| {
        let shown = [Status::Submitted, Status::Scheduled, Status::Started, Status::Completed, Status::Failed];
        let count = |status: Status| queue.tasks.get(&status).copied().unwrap_or_default();
        let other: u64 = queue.tasks.iter().filter(|(status, _)| !shown.contains(status)).map(|(_, n)| n).sum();
        let number = |count: u64| output::thousands(count).into();
        vec![
            (&queue.name).into(),
            number(count(Status::Submitted)),
            output::or_dash(oldest(queue)),
            number(count(Status::Scheduled)),
            number(count(Status::Started)),
            number(count(Status::Completed)),
            number(count(Status::Failed)),
            number(other),
            if queue.paused { "paused" } else { "open" }.into(),
        ]
    };
    output::table(&fit::table(&columns, queues.iter().map(row).collect()))
}

fn oldest(queue: &QueueView) -> Option<String> {
    queue.oldest_ready_age.map(|seconds| when::span(Duration::try_from_secs_f64(seconds).unwrap_or_default()))
}

/// One queue: its settings and its numbers.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub(super) async fn show(one: &OneQueue) -> Result<(), Failure> {
    let answer = one.client.client()?.get(&client::queue_path(one.name.as_str()), client::NOTHING).await?;
    if one.client.json {
        return output::document(&answer.body);
    }
    let queue: QueueView = answer.read()?;
    let history = one
        .client
        .client()?
        .get(&format!("{}/history", client::queue_path(one.name.as_str())), Some(&past::LAST_HOUR))
        .await;
    let mut sheet = output::sheet();
    output::add_fact(&mut sheet, "queue", &queue.name);
    output::add_fact(&mut sheet, "state", if queue.paused { "paused" } else { "open" });
    let at_most = |limit: Option<u64>| limit.map(|limit| format!("at most {}", output::thousands(limit)));
    let bytes = |queue: &QueueView| {
        let waiting = output::thousands(queue.waiting_bytes.unwrap_or(0));
        at_most(queue.max_bytes).map(|most| format!("{most}, now {waiting}"))
    };
    for (name, limit) in [
        ("runs in one worker", at_most(queue.max_per_worker.map(u64::from))),
        ("runs in all", at_most(queue.max_concurrent.map(u64::from))),
        ("starts", rate(&queue.rate_limit)),
        ("takes in", rate(&queue.submit_rate_limit)),
        ("waits", at_most(queue.max_length)),
        ("bytes that wait", bytes(&queue)),
    ] {
        output::add_fact(&mut sheet, name, limit.unwrap_or_else(|| "no limit".to_owned()));
    }
    let (age, count) = (&queue.retention.age, output::thousands(queue.retention.count));
    show_limits_within(&queue, &mut sheet);
    output::add_fact(&mut sheet, "keeps finished tasks", format!("for {age}, at most {count}"));
    let kept = match queue.keep_parameters {
        0 => "not once they are completed".to_owned(),
        bytes => format!("up to {} bytes", output::thousands(bytes)),
    };
    output::add_fact(&mut sheet, "keeps parameters", kept);
    output::add_fact(&mut sheet, "drops unknown tasks", format!("after {}", queue.patience));
    if queue.strict {
        output::add_fact(&mut sheet, "is strict", "refuses what no live worker can run");
    }
    for (status, count) in &queue.tasks {
        output::add_fact(&mut sheet, status.as_str(), output::thousands(*count));
    }
    if let Some(oldest) = oldest(&queue) {
        output::add_fact(&mut sheet, "longest ready for", oldest);
    }
    // A manager of an earlier version keeps none.
    if let Ok(history) = history.and_then(|answer| Ok(answer.read()?)) {
        output::add_fact(&mut sheet, "last hour", past::line(&history));
    }
    output::add_fact(&mut sheet, "taken in so far", output::thousands(queue.accepted));
    output::add_fact(&mut sheet, "deleted since", output::thousands(queue.removed));
    output::table(&sheet)
}

fn rate(rate: &Option<RateLimitSettings>) -> Option<String> {
    rate.as_ref().map(|rate| format!("{} in {}", output::thousands(rate.tasks.into()), duration::format(rate.per)))
}

/// Limits by key and by task, if there are any.
fn show_limits_within(queue: &QueueView, sheet: &mut output::Table) {
    if let Some(parameter) = &queue.key_parameter {
        output::add_fact(sheet, "key", format!("parameter {parameter}"));
    }
    let mut show = |of: &str, most: Option<u32>, starts: &Option<RateLimitSettings>| {
        let most = most.map(|most| format!("at most {} run", output::thousands(most.into())));
        let starts = rate(starts).map(|rate| format!("{rate} start"));
        let limits: Vec<String> = most.into_iter().chain(starts).collect();
        if !limits.is_empty() {
            output::add_fact(sheet, of, limits.join(", "));
        }
    };
    show("of each key", queue.max_concurrent_per_key, &queue.rate_limit_per_key);
    for (name, limits) in &queue.task_limits {
        show(&format!("of {name}"), limits.max_concurrent, &limits.rate_limit);
    }
}
