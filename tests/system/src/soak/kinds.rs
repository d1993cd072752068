//! The kinds of tasks of a soak, and how each must end. A task's id begins with its kind and a dot.

use serde_json::{Value, json};

/// A kind.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) ends: Ends,
    /// The attempts that count: neither lost leases nor give-backs do. None says that any number will do.
    pub(crate) attempts: Option<u64>,
}

/// How a task must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Completed,
    /// For good, as a dead letter.
    Failed,
    /// As the client asked.
    Cancelled,
    /// Failed for good, and completed once it was sent again.
    CompletedWhenSentAgain,
    /// For good, because it kills its workers.
    Poisoned,
}

pub(crate) static KINDS: [Kind; 12] = [
    Kind { name: "quick", ends: Ends::Completed, attempts: Some(1) },
    Kind { name: "nap", ends: Ends::Completed, attempts: Some(1) },
    Kind { name: "doze", ends: Ends::Completed, attempts: Some(1) },
    Kind { name: "delayed", ends: Ends::Completed, attempts: Some(1) },
    Kind { name: "flaky", ends: Ends::Completed, attempts: Some(3) },
    Kind { name: "narrow", ends: Ends::Completed, attempts: Some(1) },
    Kind { name: "panicky", ends: Ends::Failed, attempts: Some(2) },
    Kind { name: "cancelled", ends: Ends::Cancelled, attempts: None },
    Kind { name: "letter", ends: Ends::CompletedWhenSentAgain, attempts: Some(1) },
    Kind { name: "poison", ends: Ends::Poisoned, attempts: Some(1) },
    Kind { name: "remote", ends: Ends::Completed, attempts: Some(1) },
    // Of workflows, schedules, bridges and clients that give no ids.
    Kind { name: "", ends: Ends::Completed, attempts: Some(1) },
];

/// At most so many tasks of the queue `narrow` run at a time.
pub(crate) const NARROW: usize = 3;

/// The kind of a task, by its id.
pub(crate) fn of(id: &str) -> &'static Kind {
    let begins = |kind: &&Kind| id.strip_prefix(kind.name).is_some_and(|rest| rest.starts_with('.'));
    KINDS.iter().find(begins).unwrap_or(&KINDS[KINDS.len() - 1])
}

/// The submission of a task, all but its id.
pub(crate) fn task(kind: &str) -> Value {
    match kind {
        "quick" => json!({"name": "note"}),
        "nap" => json!({"name": "nap"}),
        "doze" => json!({"name": "doze"}),
        "delayed" => json!({"name": "nap", "delay": "1s"}),
        "flaky" => json!({"name": "flaky", "max_retries": 2, "retry_delay": "100ms"}),
        "narrow" => json!({"name": "nap", "queue": "narrow"}),
        "panicky" => json!({"name": "panicky", "max_retries": 1, "retry_delay": "100ms"}),
        "cancelled" => json!({"name": "hold"}),
        "letter" => json!({"name": "obey", "parameters": {"fails": true}}),
        "poison" => json!({"name": "die"}),
        "remote" => json!({"name": "remote", "queue": "remote"}),
        other => panic!("{other} is no kind"),
    }
}
