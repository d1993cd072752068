//! One queue: its numbers, why its next task waits, who serves it, its settings; pause, resume, limits, purge.

use axum::http::Method;
use jobbers_api::{
    problem::{Code, Problem},
    queue::{PurgedView, QueueRequest, QueueView, RateLimitSettings, RetentionRequest, history::HistoryView},
    task::explain::QueueExplainView,
    wire::path::path,
    worker::{WorkerListView, WorkerView},
};
use jobbers_common::{lifecycle::Status, values::duration};
use maud::{Markup, html};
use serde::Deserialize;

use super::{LATER, standing};
use crate::{
    elements::{
        chart,
        done::{Did, back},
        frame::{Answered, Screen, action, button, missing},
        words::{self, figure_of, line, many, number, seconds, shell, task, when},
    },
    session::ask::{Api, ApiRefusal, Form, Query},
    tasks::task::reason_list,
};

/// The tasks that a purge deletes.
const PURGED: [Status; 3] = [Status::Waiting, Status::Scheduled, Status::Submitted];

/// How a task may end without completing.
const OTHERWISE: [Status; 5] = [Status::Failed, Status::Stalled, Status::Dropped, Status::Aborted, Status::Cancelled];

#[derive(Debug, Deserialize)]
pub(crate) struct Params {
    name: String,
    did: Option<Did>,
    n: Option<u64>,
}

/// `GET /ui/queue?name=`.
pub(crate) async fn show(screen: Screen, Query(Params { name, did, n }): Query<Params>) -> Answered {
    let queue: QueueView = screen.api.get(&path(["queues", &name])).await?;
    let why: Result<QueueExplainView, ApiRefusal> =
        screen.api.get(&format!("{}/explain", path(["queues", &name]))).await;
    let workers: Result<WorkerListView, ApiRefusal> = screen.api.get("/workers").await;
    let of = |part: &str| format!("{}/history?{part}", path(["queues", &name]));
    let minutes: Result<HistoryView, ApiRefusal> = screen.api.get(&of("last=60")).await;
    let hours: Result<HistoryView, ApiRefusal> = screen.api.get(&of("by=hour")).await;
    let body = html! {
        @if let Some(did) = did { (did.note(&name, n)) }
        h1 { (name) " " span #standing data-live { (standing(&(&queue).into())) } }
        (figures(&queue))
        section.card #why data-live { h2 { "What keeps it from moving" } (why_card(&screen, &why)) }
        (chart::card("hour", "The last hour", "hour", &minutes))
        (chart::card("days", "The last eight days", "eight days", &hours))
        (actions(&queue))
        div.two {
            section.card { h2 { "Settings" } (settings(&queue)) }
            section.card #served data-live { h2 { "Served by" } (served(&name, &workers)) }
        }
    };
    Ok(screen.page("Queues", &name, &body))
}

fn figures(queue: &QueueView) -> Markup {
    let most = queue.max_concurrent.map(|most| format!("of {}", number(most.into()))).unwrap_or_default();
    let oldest = queue.oldest_ready_age.map(|age| format!("oldest {}", seconds(age))).unwrap_or_default();
    html! {
        dl.figures #figures data-live {
            (figure_of("Running", count(queue, &[Status::Started]), &most))
            (figure_of("Ready, not running", count(queue, &[Status::Submitted]), &oldest))
            (figure_of("For later", count(queue, &LATER), ""))
            (figure_of("Completed", count(queue, &[Status::Completed]), "kept"))
            (figure_of("Ended otherwise", count(queue, &OTHERWISE), "kept"))
        }
    }
}

/// How many tasks of a queue have one of these statuses.
fn count(queue: &QueueView, statuses: &[Status]) -> u64 {
    statuses.iter().filter_map(|status| queue.tasks.get(status)).sum()
}

/// Why the queue does not move, in words.
fn why_card(screen: &Screen, why: &Result<QueueExplainView, ApiRefusal>) -> Markup {
    let why = match why {
        Ok(why) => why,
        Err(refusal) => return missing(refusal),
    };
    html! {
        @if let Some(next) = &why.next {
            p {
                "Next is " (task(next)) "."
                @match why.last_start_at {
                    Some(at) => { " The latest start of a task was " (when(at, screen.now())) "." }
                    None => { " No task started in the last two hours." }
                }
            }
        }
        (reason_list(screen, &why.reasons))
        p.soft { code { "jobbers queues explain " (shell(why.queue.as_str())) } }
    }
}

fn settings(queue: &QueueView) -> Markup {
    let rate = |rate: &Option<RateLimitSettings>| {
        rate.as_ref().map(|RateLimitSettings { tasks, per, .. }| {
            format!("{} every {}", many((*tasks).into(), "task"), duration::format(*per))
        })
    };
    let limit = |n: Option<u64>| n.map(number);
    let rows = [
        ("At most run at a time", limit(queue.max_concurrent.map(u64::from))),
        ("At most run in one worker", limit(queue.max_per_worker.map(u64::from))),
        ("At most run at a time by key", limit(queue.max_concurrent_per_key.map(u64::from))),
        ("At most start", rate(&queue.rate_limit)),
        ("At most start by key", rate(&queue.rate_limit_per_key)),
        ("At most accepted", rate(&queue.submit_rate_limit)),
        ("At most wait", limit(queue.max_length)),
        ("At most bytes wait", limit(queue.max_bytes)),
        ("Key from the parameter", Some(queue.key_parameter.as_deref().map_or_else(|| "none".to_owned(), line))),
        (
            "Finished tasks are kept",
            Some(format!("{}, at most {}", queue.retention.age, number(queue.retention.count))),
        ),
        (
            "Parameters of completed tasks are kept",
            Some(match queue.keep_parameters {
                0 => "no".to_owned(),
                bytes => format!("up to {} bytes", number(bytes)),
            }),
        ),
        ("Unknown tasks are dropped after", Some(queue.patience.clone())),
    ];
    html! {
        table {
            @for (name, value) in rows {
                tr { th { (name) } td.n { (value.unwrap_or_else(|| "no limit".to_owned())) } }
            }
            @for (name, limits) in &queue.task_limits {
                tr {
                    th { "Tasks " (name) }
                    td.n {
                        (limit(limits.max_concurrent.map(u64::from)).unwrap_or_default()) " "
                        (rate(&limits.rate_limit).unwrap_or_default())
                    }
                }
            }
        }
    }
}

fn served(name: &str, workers: &Result<WorkerListView, ApiRefusal>) -> Markup {
    let workers = match workers {
        Ok(list) => &list.workers,
        Err(refusal) => return missing(refusal),
    };
    let serving: Vec<&WorkerView> =
        workers.iter().filter(|worker| worker.queues.iter().any(|it| it.as_str() == name)).collect();
    html! {
        @if serving.is_empty() {
            p.soft { "No live worker serves this queue: no role serves it, or none with that role is alive." }
        }
        table {
            @for worker in serving.iter().take(20) {
                tr {
                    td { (words::worker(worker)) }
                    td { (worker.role) } td.n { (worker.running) " of " (worker.slots) }
                    td { (worker.state.to_string()) }
                }
            }
        }
        @if serving.len() > 20 { p.soft { "And " (serving.len() - 20) " more." } }
    }
}

fn actions(queue: &QueueView) -> Markup {
    let doomed = count(queue, &PURGED);
    let pause = html! { "Queue " (queue.name) " then gives nothing out. It still accepts tasks; what runs goes on." };
    let resume = html! {
        "Queue " (queue.name) " then gives its tasks out again: " (many(count(queue, &[Status::Submitted]), "task"))
        " are ready."
    };
    let purge = html! {
        "This deletes the tasks of the queue that are waiting, scheduled or submitted: " b { (number(doomed)) }
        " now. It can't be undone. What runs and what is over stays."
    };
    html! {
        div.actions {
            @if queue.paused {
                (action("Resume", &resume, &button("resume", "Resume", false)))
            } @else {
                (action("Pause", &pause, &button("pause", "Pause", false)))
            }
            (action("Change limits", &html! { "An empty field means no limit. What runs goes on." }, &limits(queue)))
            (action("Purge", &purge, &html! {
                input type="hidden" name="shown" value=(doomed);
                label {
                    "Type " (doomed) " to delete them "
                    input name="typed" inputmode="numeric" autocomplete="off" required;
                }
                (button("purge", "Delete", true))
            }))
        }
    }
}

fn limits(queue: &QueueView) -> Markup {
    let field = |label: &str, name: &str, value: Option<u64>| {
        html! { label { (label) input type="number" min="1" name=(name) value=[value]; } }
    };
    let rate = queue.rate_limit.as_ref();
    html! {
        div.fields {
            (field("Run at a time", "max_concurrent", queue.max_concurrent.map(u64::from)))
            (field("Run in one worker", "max_per_worker", queue.max_per_worker.map(u64::from)))
            (field("Wait", "max_length", queue.max_length))
            (field("Tasks that start …", "rate_tasks", rate.map(|rate| rate.tasks.into())))
            label {
                "… every" input name="rate_per" placeholder="1s" value=[rate.map(|rate| duration::format(rate.per))];
            }
        }
        (button("limits", "Change", false))
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Change {
    Pause,
    Resume,
    Limits {
        max_concurrent: Option<String>,
        max_per_worker: Option<String>,
        max_length: Option<String>,
        rate_tasks: Option<String>,
        rate_per: Option<String>,
    },
    Purge {
        shown: String,
        typed: String,
    },
}

/// `POST /ui/queue?name=`.
pub(crate) async fn change(
    Query(Params { name, .. }): Query<Params>,
    api: Api,
    Form(change): Form<Change>,
) -> Answered {
    let verb = |verb: &str| format!("{}/{verb}", path(["queues", &name]));
    let (did, n) = match change {
        Change::Pause => (api.call::<QueueView>(Method::POST, &verb("pause")).await.map(|_| Did::Paused)?, None),
        Change::Resume => (api.call::<QueueView>(Method::POST, &verb("resume")).await.map(|_| Did::Resumed)?, None),
        Change::Purge { shown, typed } => purge(&api, &name, &shown, &typed).await?,
        Change::Limits { max_concurrent, max_per_worker, max_length, rate_tasks, rate_per } => {
            let (queue, tag) = api.get_tagged::<QueueView>(&path(["queues", &name])).await?;
            let changed = QueueRequest {
                max_concurrent: read("Run at a time", max_concurrent)?,
                max_per_worker: read("Run in one worker", max_per_worker)?,
                max_length: read("Wait", max_length)?,
                rate_limit: rate(&queue, rate_tasks, rate_per)?,
                ..settings_of(queue)?
            };
            api.put::<QueueView>(&path(["queues", &name]), &changed, tag).await?;
            (Did::Limited, None)
        }
    };
    Ok(back("queue", Some(("name", &name)), did, n))
}

/// Deletes no more than was shown and typed.
async fn purge(api: &Api, name: &str, shown: &str, typed: &str) -> Result<(Did, Option<u64>), ApiRefusal> {
    let queue: QueueView = api.get(&path(["queues", name])).await?;
    let doomed = count(&queue, &PURGED);
    let is_meant = typed.trim() == shown && shown.parse::<u64>().is_ok_and(|shown| doomed <= shown);
    if !is_meant {
        return Ok((Did::Moved, Some(doomed)));
    }
    let PurgedView { removed, more } = api.call(Method::POST, &format!("{}/purge", path(["queues", name]))).await?;
    Ok((if more { Did::PurgedInPart } else { Did::Purged }, Some(removed)))
}

fn refused(detail: String) -> ApiRefusal {
    Problem::new(Code::InvalidRequest, detail).into()
}

/// A number of a form, if there is one.
fn read<T: std::str::FromStr>(field: &str, text: Option<String>) -> Result<Option<T>, ApiRefusal> {
    let read =
        |text: String| text.trim().parse().map_err(|_| refused(format!("{field}: {text:?} is no number of tasks")));
    text.map(read).transpose()
}

fn rate(
    queue: &QueueView,
    tasks: Option<String>,
    per: Option<String>,
) -> Result<Option<RateLimitSettings>, ApiRefusal> {
    let Some(tasks) = read("Tasks that start", tasks)? else { return Ok(None) };
    let per = per.unwrap_or_else(|| "1s".to_owned());
    let per = duration::parse(per.trim()).map_err(|error| refused(format!("every: {error}")))?;
    // A burst that was set for another rate may not fit this one.
    let kept = queue.rate_limit.as_ref().filter(|rate| rate.tasks == tasks && rate.per == per);
    Ok(Some(RateLimitSettings { tasks, per, burst: kept.and_then(|rate| rate.burst) }))
}

/// The settings of a queue, to be put back with changes.
fn settings_of(queue: QueueView) -> Result<QueueRequest, ApiRefusal> {
    let read = |text: &str| duration::parse(text).map_err(|error| refused(error.to_string()));
    Ok(QueueRequest {
        retention: RetentionRequest { age: Some(read(&queue.retention.age)?), count: Some(queue.retention.count) },
        keep_parameters: Some(queue.keep_parameters),
        patience: Some(read(&queue.patience)?),
        name: Some(queue.name),
        paused: queue.paused,
        max_per_worker: queue.max_per_worker,
        max_concurrent: queue.max_concurrent,
        rate_limit: queue.rate_limit,
        submit_rate_limit: queue.submit_rate_limit,
        max_length: queue.max_length,
        key_parameter: queue.key_parameter,
        max_concurrent_per_key: queue.max_concurrent_per_key,
        rate_limit_per_key: queue.rate_limit_per_key,
        task_limits: queue.task_limits,
        max_bytes: queue.max_bytes,
        strict: queue.strict,
    })
}
