//! What becomes of an attempt that did not succeed. A pure function, so that every runtime decides alike.

use std::time::Duration;

use crate::{
    engine::Outcome,
    policy::{DeadLetter, TaskPolicy},
    task::{AttemptFailure, ClaimedTask, FailureKind},
};

/// How an attempt ended when it did not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Try again while retries are left.
    Retry,
    /// Try again after exactly this long, while retries are left.
    RetryAfter(Duration),
    /// Never again.
    Fatal,
    /// Its progress heartbeat was overdue, and its policy says `stall`.
    Stalled,
}

/// The outcome for a task the worker does not know. No code speaks for it, so it is kept as a dead letter unless its
/// submission says otherwise.
#[must_use]
pub fn settle_unknown(task: &ClaimedTask, delay: Duration, patience: Duration) -> Outcome {
    let message = format!("no worker that was offered it knows {}@{}", task.name, task.version);
    Outcome::Unknown {
        delay,
        patience,
        failure: AttemptFailure::new(FailureKind::Unknown, message),
        dead_letter: task.overrides.dead_letter != Some(DeadLetter::None),
    }
}

/// The outcome to settle with.
///
/// `attempt` is 1 for the first run, so retry number `attempt` comes next; `draw` is uniform in `[0, 1)` and feeds the
/// jitter.
#[must_use]
pub fn settle_failure(
    policy: &TaskPolicy,
    attempt: u32,
    verdict: &Verdict,
    failure: AttemptFailure,
    draw: f64,
) -> Outcome {
    let dead_letter = policy.dead_letter == DeadLetter::Save;
    let delay = match verdict {
        Verdict::Stalled => return Outcome::Stalled { failure, dead_letter },
        Verdict::Fatal => None,
        _ if attempt > policy.max_retries => None,
        Verdict::RetryAfter(delay) => Some(*delay),
        Verdict::Retry => Some(
            policy
                .retry_delay
                .map_or(Duration::ZERO, |base| policy.backoff.delay(attempt, base, policy.max_retry_delay, draw)),
        ),
    };
    match delay {
        Some(delay) => Outcome::Retry { delay, failure },
        None => Outcome::Failed { failure, dead_letter },
    }
}

/// The failure a panic leaves behind.
#[must_use]
pub fn panic_failure(payload: &(dyn std::any::Any + Send)) -> AttemptFailure {
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the task panicked without a message".to_owned());
    AttemptFailure::new(FailureKind::Panic, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> AttemptFailure {
        AttemptFailure::new(FailureKind::Error, "boom")
    }

    #[test]
    fn max_retries_3_means_four_runs() {
        let policy = TaskPolicy::default();
        for attempt in 1..=3 {
            assert!(matches!(
                settle_failure(&policy, attempt, &Verdict::Retry, failure(), 0.0),
                Outcome::Retry { delay: Duration::ZERO, .. }
            ));
        }
        assert!(matches!(settle_failure(&policy, 4, &Verdict::Retry, failure(), 0.0), Outcome::Failed { .. }));
    }

    #[test]
    fn a_fatal_error_is_never_retried_and_is_dead_lettered_by_policy() {
        let policy = TaskPolicy { dead_letter: DeadLetter::Save, ..TaskPolicy::default() };
        assert_eq!(
            settle_failure(&policy, 1, &Verdict::Fatal, failure(), 0.0),
            Outcome::Failed { failure: failure(), dead_letter: true }
        );
    }

    #[test]
    fn retry_after_is_taken_as_it_is_but_uses_up_a_retry() {
        let policy = TaskPolicy { max_retries: 1, max_retry_delay: Duration::from_secs(1), ..TaskPolicy::default() };
        let verdict = Verdict::RetryAfter(Duration::from_secs(90));
        assert!(matches!(
            settle_failure(&policy, 1, &verdict, failure(), 0.0),
            Outcome::Retry { delay, .. } if delay == Duration::from_secs(90)
        ));
        assert!(matches!(settle_failure(&policy, 2, &verdict, failure(), 0.0), Outcome::Failed { .. }));
    }
}
