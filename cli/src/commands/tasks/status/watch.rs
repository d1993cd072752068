//! `jobbers status --watch`: a line whenever the task changes.

use std::time::Duration;

use jiff::Timestamp;
use jobbers_api::task::view::TaskView;
use jobbers_common::{lifecycle::Status, name::TaskId, values::duration};

use super::attempts;
use crate::{
    client::{self, AWAY, Answer, ManagerClient},
    failure::Failure,
    terminal::{fit, hidden::said, output, when},
};

/// How often a task that runs is looked at. Its end is seen at once.
const EVERY: Duration = Duration::from_secs(1);

/// Prints what changes until the task is over; answers it as it then is.
///
/// # Errors
/// When the manager can't be asked or knows no such task.
pub(super) async fn until_over(client: &ManagerClient, id: &TaskId, json: bool) -> Result<Answer, Failure> {
    let path = client::task_path(id);
    let query = [("wait", duration::format(EVERY))];
    let mut answer = client.get(&path, client::NOTHING).await?;
    let mut last = String::new();
    loop {
        let task: TaskView = answer.read()?;
        let line = change(&task);
        if line != last {
            match json {
                true => output::document(&answer.body)?,
                false => output::line(format_args!("{:.0}  {line}", Timestamp::now()))?,
            }
            last = line;
        }
        if task.is_over() {
            return Ok(answer);
        }
        answer = client.get_patiently(&path, &query, EVERY, AWAY).await?;
    }
}

/// What of a task changes while it is on its way.
fn change(task: &TaskView) -> String {
    let mut words = vec![task.status.to_string()];
    if task.cancel_requested {
        words.push("to be cancelled".to_owned());
    }
    if task.attempt > 0 {
        words.push(format!("attempt {}", attempts::present(task)));
    }
    if task.status == Status::Scheduled {
        words.push(format!("due at {:.0}", Timestamp::from(task.ready_at)));
    }
    if let (Some(worker), "started") = (&task.worker, task.status.as_str()) {
        words.push(format!("on {worker}"));
    }
    if let Some(progress) = task.progress.as_ref().filter(|_| !task.is_over()) {
        words.push(
            format!("{:.0}% {}", progress.fraction * 100.0, said(&progress.message, task.sensitive))
                .trim_end()
                .to_owned(),
        );
    }
    if let Some(error) = task.errors.last().filter(|_| !matches!(task.status, Status::Completed | Status::Started)) {
        words.push(format!("{}: {}", error.kind, fit::one_line(said(&error.message, task.sensitive))));
    }
    if let (Some(started), Some(ended)) = (task.started_at, task.finished_at) {
        words.push(format!("ran {}", when::span(when::between(started, ended))));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(changes: &serde_json::Value) -> String {
        let mut task = json!({
            "id": "a", "name": "t", "version": 1, "queue": "q", "priority": 5, "status": "submitted", "attempt": 0,
            "submitted_at": "2026-01-01T00:00:00Z", "ready_at": "2026-01-01T00:00:00Z",
            "revision": 1, "policy": {}, "crashes": 0, "blames": 0, "suspicion": 0, "cancel_requested": false,
            "dead_letter": false, "errors": [],
        });
        task.as_object_mut().unwrap().append(&mut changes.as_object().unwrap().clone());
        change(&serde_json::from_value(task).unwrap())
    }

    #[test]
    fn a_line_says_what_changes_on_the_way() {
        let error = json!([{"at": "2026-01-01T00:00:00Z", "attempt": 1, "worker": "w", "kind": "error", "message": "no\nhost"}]);
        let ran = json!({"status": "completed", "attempt": 2, "errors": error,
            "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:05Z"});
        let progress = json!({"fraction": 0.4, "message": "half"});
        for (changes, expected) in [
            (json!({}), "submitted"),
            (json!({"status": "started", "attempt": 1, "worker": "w"}), "started, attempt 1, on w"),
            (
                json!({"status": "started", "attempt": 1, "worker": "w", "progress": progress, "cancel_requested": true}),
                "started, to be cancelled, attempt 1, on w, 40% half",
            ),
            (
                json!({"status": "scheduled", "attempt": 1, "errors": error}),
                "scheduled, attempt 1, due at 2026-01-01T00:00:00Z, error: no host",
            ),
            (ran, "completed, attempt 2, ran 5s"),
        ] {
            assert_eq!(line(&changes), expected);
        }
    }
}
