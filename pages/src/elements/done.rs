//! What an action did, said on the page to which the browser is sent back.
//!
//! The address carries it (`?did=paused`), from a fixed list of words, so it needs no state and survives a balancer. A link
//! can repeat such a sentence without the action, but can't say anything else.

use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::words::{many, shell, to};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Did {
    Paused,
    Resumed,
    Limited,
    Purged,
    PurgedInPart,
    Moved,
    Cancelled,
    Resubmitted,
    RunsNow,
    Rescheduled,
    Drained,
    Undrained,
    LettersDeleted,
    LettersSent,
    OperationCancelled,
    SchedulePaused,
    ScheduleResumed,
    ScheduleRun,
    ScheduleEdited,
    ScheduleCreated,
    ScheduleDeleted,
    Signalled,
    Submitted,
    RunCancelled,
    RunRetried,
    KeyRevoked,
    KeyDeleted,
    BoardTasksDeleted,
    BoardTasksDeletedInPart,
    BoardTaskReleased,
    Repaired,
    RepairedInPart,
}

impl Did {
    /// The sentence, and the command that does the same, if there is one.
    fn words(self, name: &str, n: u64) -> (String, Option<String>) {
        let arg = shell(name);
        let named = |command: &str| (!name.is_empty()).then(|| format!("{command} {arg}"));
        match self {
            Self::Paused => (format!("Queue {name} is paused."), Some(format!("jobbers queues pause {arg}"))),
            Self::Resumed => {
                (format!("Queue {name} gives tasks out again."), Some(format!("jobbers queues resume {arg}")))
            }
            Self::Limited => {
                (format!("The limits of queue {name} are changed."), Some(format!("jobbers queues set {arg}")))
            }
            Self::Purged => {
                (format!("{} deleted from queue {name}.", many(n, "task")), Some(format!("jobbers queues purge {arg}")))
            }
            Self::PurgedInPart => {
                let said = format!("{} deleted from queue {name}; more are left. Purge it again.", many(n, "task"));
                (said, Some(format!("jobbers queues purge {arg}")))
            }
            Self::Moved => {
                let said = format!(
                    "Nothing was deleted: {} would be deleted now, or another number was typed.",
                    many(n, "task")
                );
                (said, None)
            }
            Self::Cancelled => (format!("{} cancelled, or asked to stop.", many(n, "task")), named("jobbers cancel")),
            Self::Resubmitted => (format!("{} sent again.", many(n, "task")), named("jobbers resubmit")),
            Self::RunsNow => ("It waits for a worker, and for nothing else.".to_owned(), named("jobbers reschedule")),
            Self::Rescheduled => ("It starts at another time.".to_owned(), named("jobbers reschedule --delay …")),
            Self::Drained => (
                format!("{} asked to drain: they claim nothing more.", many(n, "worker")),
                named("jobbers workers drain"),
            ),
            Self::Undrained => (format!("{} claim again.", many(n, "worker")), named("jobbers workers resume")),
            Self::LettersDeleted => (format!("{} deleted.", many(n, "dead letter")), None),
            Self::LettersSent => (format!("{} sent again.", many(n, "dead letter")), None),
            Self::OperationCancelled => {
                ("It is stopped. What it had not sent stays dead.".to_owned(), named("jobbers dlq cancel"))
            }
            Self::SchedulePaused
            | Self::ScheduleResumed
            | Self::ScheduleRun
            | Self::ScheduleEdited
            | Self::ScheduleCreated
            | Self::ScheduleDeleted => {
                let (done, verb) = self.of_schedule();
                (format!("Schedule {name} {done}."), named(&format!("jobbers schedules {verb}")))
            }
            Self::Signalled => ("The signal is sent.".to_owned(), None),
            Self::Submitted => ("It is submitted.".to_owned(), named("jobbers status")),
            Self::RunCancelled => {
                (format!("Workflow {name} is being cancelled with all its tasks."), named("jobbers workflow cancel"))
            }
            Self::KeyRevoked => {
                ("The key is revoked: it signs no client in any more.".to_owned(), named("jobbers keys revoke"))
            }
            Self::BoardTasksDeleted => (format!("{} of the board deleted.", many(n, "task")), None),
            Self::BoardTasksDeletedInPart => {
                (format!("{} of the board deleted; more are left. Delete again.", many(n, "task")), None)
            }
            Self::Repaired => (format!("{} mended.", many(n, "finding")), Some("jobbers cleaner --repair".to_owned())),
            Self::RepairedInPart => {
                (format!("{} mended; the store is not yet looked over. Repair it again.", many(n, "finding")), None)
            }
            Self::BoardTaskReleased => ("It may be taken now.".to_owned(), None),
            Self::KeyDeleted => (format!("Key {name} is deleted."), named("jobbers keys delete")),
            Self::RunRetried => {
                (format!("What did not complete of workflow {name} runs again."), named("jobbers workflow retry"))
            }
        }
    }

    /// What was done with a schedule, and the command's verb.
    const fn of_schedule(self) -> (&'static str, &'static str) {
        match self {
            Self::SchedulePaused => ("is paused", "pause"),
            Self::ScheduleResumed => ("fires again, at its first slot from now on", "resume"),
            Self::ScheduleRun => ("was run", "run"),
            Self::ScheduleCreated => ("is created", "put"),
            Self::ScheduleDeleted => ("is deleted; what it started stays", "delete"),
            _ => ("is changed", "put"),
        }
    }

    /// The note on a page about `name`.
    pub(crate) fn note(self, name: &str, n: Option<u64>) -> Markup {
        let (said, command) = self.words(name, n.unwrap_or_default());
        html! {
            p.done role="status" {
                (said)
                @if let Some(command) = command { " " code { (command) } }
            }
        }
    }
}

/// Sends the browser back to a page, which says what was done. `name` is what the page is about; the page may have a query
/// of its own.
pub(crate) fn back(page: &str, name: Option<(&str, &str)>, did: Did, n: Option<u64>) -> Response {
    #[derive(Serialize)]
    struct Said {
        did: Did,
        #[serde(skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
    }
    back_saying(&name.map_or_else(|| page.to_owned(), |name| to(page, &[name])), &Said { did, n })
}

/// Sends the browser back to a page that says in its own words what was done.
pub(crate) fn back_saying(page: &str, said: &impl Serialize) -> Response {
    let said = serde_html_form::to_string(said).unwrap_or_default();
    let joint = if page.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{page}{joint}{said}")).into_response()
}
