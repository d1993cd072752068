//! What `jobbers top` says in a line each: dead letters by cause, schedules by their next slots, and workflows.
//!
//! A line is absent where the key may not see it, or the manager keeps no such thing.

use std::collections::HashMap;

use jobbers_api::{
    dead_letter::{GroupView, StatsView},
    schedule::view::{RunView, ScheduleListView, ScheduleView},
    task::statuses::{StatusesRequest, StatusesView},
    value::Asked,
    workflow::{WorkflowListView, WorkflowView},
};
use jobbers_common::{limits::MAX_BATCH, name::TaskId};
use serde::de::DeserializeOwned;

use crate::{
    client::ManagerClient,
    failure::Failure,
    terminal::{fit::one_line, output::thousands, when},
};

/// How many causes, schedules and failed workflows a line names.
const NAMED: usize = 3;
/// How many running workflows are counted at most.
const COUNTED: usize = 100;
/// Letters of an error in the line of dead letters.
const LETTERS: usize = 40;

/// Asks for all of them.
///
/// # Errors
/// When the manager can't be asked.
pub(super) async fn take(client: &ManagerClient) -> Result<Vec<String>, Failure> {
    let failed = [("state", "failed".to_owned()), ("limit", NAMED.to_string())];
    let running = [("state", "running".to_owned()), ("limit", COUNTED.to_string())];
    let limit = [("limit", MAX_BATCH.to_string())];
    let (letters, schedules, running, failed) = tokio::try_join!(
        ask::<StatsView>(client, "/dead-letter-queue/stats", &[]),
        ask::<ScheduleListView>(client, "/schedules", &limit),
        ask::<WorkflowListView>(client, "/workflows", &running),
        ask::<WorkflowListView>(client, "/workflows", &failed),
    )?;
    let mut lines: Vec<String> = letters.as_ref().map(letters_line).into_iter().collect();
    if let Some(ScheduleListView { schedules, next_cursor }) = schedules {
        let next = next_of(&schedules);
        let ends = ends(client, &next).await?;
        lines.push(schedules_line(schedules.len(), next_cursor.is_some(), &next, &ends));
    }
    if let (Some(running), Some(failed)) = (&running, &failed) {
        lines.push(workflows_line(running, &failed.workflows));
    }
    Ok(lines)
}

/// What the manager answers; `None` if it refuses.
async fn ask<T: DeserializeOwned>(
    client: &ManagerClient,
    path: &str,
    query: &[(&str, String)],
) -> Result<Option<T>, Failure> {
    match client.get(path, Some(&query)).await {
        Ok(answer) => Ok(answer.read().ok()),
        Err(Failure::Refused { .. }) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The schedules that fire next.
fn next_of(schedules: &[ScheduleView]) -> Vec<&ScheduleView> {
    let mut next: Vec<&ScheduleView> = schedules.iter().filter(|one| one.next_slot.is_some() && !one.paused).collect();
    next.sort_by_key(|one| one.next_slot);
    next.truncate(NAMED);
    next
}

/// How the latest runs of schedules that submit a task stand.
async fn ends(client: &ManagerClient, next: &[&ScheduleView]) -> Result<HashMap<TaskId, String>, Failure> {
    let ids: Vec<TaskId> = next.iter().filter_map(|one| one.last_run.as_ref()?.task.clone()).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let request =
        StatusesRequest { queues: Vec::new(), ids: ids.iter().cloned().map(Asked::from).collect(), status: Vec::new() };
    let found: StatusesView = match client.post("/tasks/statuses", Some(&request)).await {
        Ok(answer) => answer.read()?,
        Err(Failure::Refused { .. }) => return Ok(HashMap::new()),
        Err(failure) => return Err(failure),
    };
    let stands = |status: Option<_>| status.map_or_else(|| "deleted".to_owned(), |status| ToString::to_string(&status));
    Ok(ids.into_iter().zip(found.tasks.into_iter().map(|task| stands(task.status))).collect())
}

/// How many dead letters there are, and the causes of the latest ones.
fn letters_line(stats: &StatsView) -> String {
    let mut latest: Vec<&GroupView> = stats.groups.iter().collect();
    latest.sort_by_key(|group| std::cmp::Reverse(group.last_seen));
    let cause = |group: &&GroupView| {
        let error: String = one_line(&group.example).chars().take(LETTERS).collect();
        format!("{} {}: {error}", thousands(group.count), group.name)
    };
    let causes: Vec<String> = latest.iter().take(NAMED).map(cause).collect();
    named("dead letters", &thousands(stats.total), &causes)
}

/// How many schedules there are, and the next slots, each with the end of the latest run.
fn schedules_line(count: usize, is_cut: bool, next: &[&ScheduleView], ends: &HashMap<TaskId, String>) -> String {
    let end = |run: &RunView| match run.task.as_ref().and_then(|id| ends.get(id)) {
        Some(status) => format!(" (last {status})"),
        None => format!(" (last {})", when::short_ago(run.at)),
    };
    let slot = |one: &&ScheduleView| {
        let ahead = one.next_slot.map(when::short_ahead).unwrap_or_default();
        format!("{} {ahead}{}", one.name, one.last_run.as_ref().map(end).unwrap_or_default())
    };
    let next: Vec<String> = next.iter().map(slot).collect();
    named("schedules", &counted(count, is_cut), &next)
}

/// How many workflows run, and those that failed last.
fn workflows_line(running: &WorkflowListView, failed: &[WorkflowView]) -> String {
    let one = |run: &WorkflowView| {
        let name = run.name.as_ref().map_or_else(|| run.id.to_string(), |name| format!("{name} {}", run.id));
        format!("{name} failed {}", run.finished_at.map(when::short_ago).unwrap_or_default())
    };
    let count = counted(running.workflows.len(), running.next_cursor.is_some());
    named("workflows", &format!("{count} running"), &failed.iter().map(one).collect::<Vec<_>>())
}

fn counted(count: usize, is_cut: bool) -> String {
    format!("{}{}", thousands(count as u64), if is_cut { "+" } else { "" })
}

/// A line of this form: `dead letters 12   9 send: no such host, 3 copy: timed out`.
fn named(what: &str, count: &str, parts: &[String]) -> String {
    let line = format!("{what:<12} {count}   {}", parts.join(", "));
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dead_letters_are_counted_with_the_latest_causes_first() {
        let group = |name: &str, count: u64, seen: &str, example: &str| {
            json!({"queue": "q", "name": name, "version": 1, "fingerprint": "f", "count": count, "first_seen": "2026-01-01T00:00:00Z",
                "last_seen": seen, "example": example})
        };
        let stats = json!({"total": 1_012, "groups": [
            group("old", 1_000, "2026-01-01T00:00:00Z", "x"), group("send", 9, "2026-01-03T00:00:00Z", "no such\nhost"),
            group("copy", 2, "2026-01-02T00:00:00Z", "timed out"), group("older", 1, "2025-01-02T00:00:00Z", "y"),
        ]});
        let line = letters_line(&serde_json::from_value(stats).unwrap());
        assert_eq!(line, "dead letters 1,012   9 send: no such host, 2 copy: timed out, 1,000 old: x");
        let none = letters_line(&serde_json::from_value(json!({"total": 0, "groups": []})).unwrap());
        assert_eq!(none, "dead letters 0");
    }

    #[test]
    fn schedules_are_named_by_their_next_slots_with_the_end_of_the_last_run() {
        let schedule = |name: &str, next: &str, paused: bool| {
            let one = json!({
                "name": name, "every": "1m", "overlap": "allow", "catch_up": "latest", "jitter": "0s", "paused": paused,
                "created_at": "2026-01-01T00:00:00Z", "next_slot": next, "fired": 1, "missed": 0, "skipped": 0,
                "last_run": {"task": format!("{name}/1"), "at": "2026-01-01T00:00:00Z"},
            });
            serde_json::from_value::<ScheduleView>(one).unwrap()
        };
        let all = [
            schedule("later", "2999-01-03T00:00:00Z", false),
            schedule("next", "2020-01-01T00:00:00Z", false),
            schedule("rests", "2020-01-01T00:00:00Z", true),
        ];
        let next = next_of(&all);
        let ends = HashMap::from([("next/1".parse().unwrap(), "failed".to_owned())]);
        let line = schedules_line(1_000, true, &next, &ends);
        assert!(line.starts_with("schedules    1,000+   next now (last failed), later in "), "{line}");
        assert!(line.contains("d (last ") && !line.contains("rests"), "{line}");
    }

    #[test]
    fn workflows_that_run_are_counted_and_those_that_failed_last_are_named() {
        let run = |id: &str, state: &str| {
            json!({"id": id, "name": "etl", "state": state, "attempt": 1, "nodes": 2, "over": 2, "cancel_requested": false,
                "created_at": "2026-01-01T00:00:00Z", "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:00Z"})
        };
        let list = |runs: Vec<serde_json::Value>| -> WorkflowListView {
            serde_json::from_value(json!({"workflows": runs})).unwrap()
        };
        let (running, failed) = (list(vec![run("a", "running"), run("b", "running")]), list(vec![run("w", "failed")]));
        let line = workflows_line(&running, &failed.workflows);
        assert!(line.starts_with("workflows    2 running   etl w failed ") && line.ends_with("d ago"), "{line}");
    }
}
