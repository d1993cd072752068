//! The attempts of a task in words.

use jobbers_api::task::view::TaskView;
use jobbers_common::limits::MAX_RETRIES;

use crate::terminal::output;

/// The present attempt, and the leases that were lost.
pub(super) fn all(task: &TaskView) -> String {
    let mut words = present(task);
    if task.crashes > 0 {
        words.push_str(&format!(", and {} lost", output::count(u64::from(task.crashes), "lease")));
    }
    words
}

/// Which attempt, and of how many if that is known: `3 of 4`. Retries that end with a time have no number.
pub(super) fn present(task: &TaskView) -> String {
    let policy = task.policy_in_force.as_ref().unwrap_or(&task.policy);
    match (policy.max_retries, policy.max_tries) {
        (_, Some(most)) if task.policy.max_retries.is_none() => format!("{} of {most}", task.attempt),
        (Some(retries), _) if retries < MAX_RETRIES => {
            format!("{} of {}", task.attempt, u64::from(retries) + 1)
        }
        _ => task.attempt.to_string(),
    }
}
