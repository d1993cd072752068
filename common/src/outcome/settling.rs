//! Decides the outcome of an attempt that did not succeed. A pure function, so that every runtime decides alike.

use std::time::Duration;

use crate::{
    engine::Outcome,
    limits::MAX_DELAY,
    outcome::panic::words_of,
    policy::{DeadLetter, TaskPolicy, error_kind::ErrorKind},
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
    /// The work is given up.
    Aborted,
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

/// What a task has used up by the end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// The attempt's number, 1 for the first: retry number `attempt` comes next.
    pub attempt: u32,
    /// How long ago the task was submitted, or sent again from the start.
    pub age: Duration,
}

/// The outcome to settle with. `draw` is uniform in `[0, 1)` and feeds the jitter.
///
/// In this order: what the attempt answered as fatal, and errors the policy gives up on, are never retried; then the
/// count, and the span of time, must leave room for the next attempt; then its delay is what the attempt asked for, at
/// most 366 days, or else the policy's backoff.
#[must_use]
pub fn settle_failure(
    policy: &TaskPolicy,
    spent: Spent,
    verdict: &Verdict,
    failure: AttemptFailure,
    draw: f64,
) -> Outcome {
    let dead_letter = policy.dead_letter == DeadLetter::Save;
    let backoff = || policy.backoff.delay(spent.attempt, policy.retry_delay, policy.max_retry_delay, draw);
    let delay = match verdict {
        Verdict::Stalled => return Outcome::Stalled { failure, dead_letter },
        Verdict::Aborted => return Outcome::Aborted { failure },
        Verdict::Fatal => None,
        _ if gives_up_on(policy, verdict, &failure) || spent.attempt > policy.max_retries => None,
        Verdict::RetryAfter(delay) => Some((*delay).min(MAX_DELAY)),
        Verdict::Retry => Some(backoff()),
    };
    let in_time = |delay: &Duration| policy.retry_for.is_none_or(|span| spent.age.saturating_add(*delay) <= span);
    match delay.filter(in_time) {
        Some(delay) => Outcome::Retry { delay, failure },
        None => Outcome::Failed { failure, dead_letter },
    }
}

/// Whether the policy never retries such an error. A list may name the kind of error, or how the attempt failed.
///
/// `retry_on` speaks of what the task function answered: neither of its time limits nor of a delay it asks for itself.
fn gives_up_on(policy: &TaskPolicy, verdict: &Verdict, failure: &AttemptFailure) -> bool {
    let meant_by = |listed: &ErrorKind| {
        listed.as_str() == failure.kind.as_str()
            || failure.error_kind.as_ref().is_some_and(|kind| kind.is_meant_by(listed))
    };
    let chosen = policy.retry_on.is_empty()
        || matches!(failure.kind, FailureKind::Timeout | FailureKind::Stall)
        || matches!(verdict, Verdict::RetryAfter(_))
        || policy.retry_on.iter().any(meant_by);
    !chosen || policy.fatal_on.iter().any(meant_by)
}

/// The failure a panic leaves behind. `place` is where it began, as `FILE:LINE:COLUMN`, if that is known.
#[must_use]
pub fn panic_failure(payload: &(dyn std::any::Any + Send), place: Option<&str>) -> AttemptFailure {
    let words = words_of(payload).unwrap_or("the task panicked without a message");
    let message = place.map_or_else(|| words.to_owned(), |place| format!("{words} ({place})"));
    AttemptFailure::new(FailureKind::Panic, message)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::policy::{PolicyOverrides, backoff::Backoff};

    fn failure() -> AttemptFailure {
        AttemptFailure::new(FailureKind::Error, "boom")
    }

    fn spent(attempt: u32, seconds: u64) -> Spent {
        Spent { attempt, age: Duration::from_secs(seconds) }
    }

    fn kinds(names: &[&str]) -> Cow<'static, [ErrorKind]> {
        names.iter().map(|name| ErrorKind::new(*name).unwrap()).collect::<Vec<_>>().into()
    }

    /// The delay of the retry, if there is one.
    fn delay(policy: &TaskPolicy, spent: Spent, verdict: &Verdict, failure: AttemptFailure) -> Option<Duration> {
        match settle_failure(policy, spent, verdict, failure, 0.0) {
            Outcome::Retry { delay, .. } => Some(delay),
            _ => None,
        }
    }

    #[test]
    fn max_retries_3_means_four_runs() {
        let policy = TaskPolicy { retry_delay: Duration::ZERO, ..TaskPolicy::default() };
        for attempt in 1..=3 {
            assert_eq!(delay(&policy, spent(attempt, 0), &Verdict::Retry, failure()), Some(Duration::ZERO));
        }
        assert_eq!(delay(&policy, spent(4, 0), &Verdict::Retry, failure()), None);
    }

    #[test]
    fn a_fatal_error_is_never_retried_and_is_dead_lettered_unless_the_policy_says_none() {
        for (dead_letter, kept) in [(DeadLetter::default(), true), (DeadLetter::Save, true), (DeadLetter::None, false)]
        {
            let policy = TaskPolicy { dead_letter, retry_on: kinds(&["error"]), ..TaskPolicy::default() };
            for (verdict, expected) in [
                (Verdict::Fatal, Outcome::Failed { failure: failure(), dead_letter: kept }),
                (Verdict::Stalled, Outcome::Stalled { failure: failure(), dead_letter: kept }),
                (Verdict::Aborted, Outcome::Aborted { failure: failure() }),
            ] {
                assert_eq!(settle_failure(&policy, spent(1, 0), &verdict, failure(), 0.0), expected);
            }
        }
    }

    #[test]
    fn retries_of_a_task_that_sets_nothing_pause_longer_each_time() {
        let longest = |attempt| match settle_failure(
            &TaskPolicy::default(),
            spent(attempt, 0),
            &Verdict::Retry,
            failure(),
            1.0,
        ) {
            Outcome::Retry { delay, .. } => delay.as_secs(),
            other => panic!("a retry, not {other:?}"),
        };
        assert_eq!([1, 2, 3].map(longest), [1, 2, 4]);
    }

    #[test]
    fn retry_after_wins_over_the_backoff_and_its_cap_but_uses_up_a_retry() {
        let policy = TaskPolicy { max_retries: 1, max_retry_delay: Duration::from_secs(1), ..TaskPolicy::default() };
        let after = |seconds| Verdict::RetryAfter(Duration::from_secs(seconds));
        assert_eq!(delay(&policy, spent(1, 0), &after(90), failure()), Some(Duration::from_secs(90)));
        assert_eq!(delay(&policy, spent(2, 0), &after(90), failure()), None);
        assert_eq!(delay(&policy, spent(1, 0), &after(u64::MAX), failure()), Some(MAX_DELAY));
    }

    #[test]
    fn no_retry_begins_when_its_span_of_time_is_over() {
        let policy = TaskPolicy {
            retry_for: Some(Duration::from_secs(60)),
            retry_delay: Duration::from_secs(10),
            backoff: Backoff::Constant,
            max_retries: 100,
            ..TaskPolicy::default()
        };
        assert_eq!(delay(&policy, spent(1, 50), &Verdict::Retry, failure()), Some(Duration::from_secs(10)));
        assert_eq!(delay(&policy, spent(1, 51), &Verdict::Retry, failure()), None);
        let after = Verdict::RetryAfter(Duration::from_secs(61));
        assert_eq!(delay(&policy, spent(1, 0), &after, failure()), None, "an attempt beyond the end helps nobody");
        assert_eq!(delay(&policy, Spent { attempt: 1, age: Duration::MAX }, &Verdict::Retry, failure()), None);
    }

    #[test]
    fn a_span_of_time_without_a_count_stands_in_its_place() {
        let hour = Some(Duration::from_secs(3_600));
        let only_time = PolicyOverrides { retry_for: hour, ..PolicyOverrides::default() };
        let both = PolicyOverrides { max_retries: Some(2), ..only_time.clone() };
        assert_eq!(TaskPolicy::default().with(&only_time).max_retries, crate::limits::MAX_RETRIES);
        assert_eq!(TaskPolicy::default().with(&both).max_retries, 2);
    }

    #[test]
    fn errors_are_told_apart_by_their_kind_or_by_how_the_attempt_failed() {
        let of = |kind, name: &str| AttemptFailure::new(kind, "boom").of(ErrorKind::lossy(name));
        let (busy, parse) = (of(FailureKind::Error, "busy"), of(FailureKind::Error, "core::num::error::ParseIntError"));
        let (panic, timeout) = (of(FailureKind::Panic, ""), of(FailureKind::Timeout, ""));
        let retried = |retry_on: &[&str], fatal_on: &[&str], failure: &AttemptFailure| {
            let policy = TaskPolicy { retry_on: kinds(retry_on), fatal_on: kinds(fatal_on), ..TaskPolicy::default() };
            delay(&policy, spent(1, 0), &Verdict::Retry, failure.clone()).is_some()
        };
        for (retry_on, fatal_on, failure, expected) in [
            (&[][..], &["ParseIntError"][..], &parse, false),
            (&[], &["ParseIntError"], &busy, true),
            (&[], &["panic"], &panic, false),
            (&[], &["timeout"], &timeout, false),
            (&["busy"], &[], &busy, true),
            (&["busy"], &[], &parse, false),
            (&["busy"], &[], &panic, false),
            (&["busy"], &[], &timeout, true),
            (&["error"], &["busy"], &busy, false),
            (&["error"], &["busy"], &parse, true),
        ] {
            assert_eq!(retried(retry_on, fatal_on, failure), expected, "{retry_on:?} {fatal_on:?} {failure:?}");
        }
    }

    #[test]
    fn a_delay_the_attempt_asks_for_is_a_wish_to_be_retried_unless_the_error_is_fatal() {
        let policy = TaskPolicy { retry_on: kinds(&["busy"]), fatal_on: kinds(&["invalid"]), ..TaskPolicy::default() };
        let after = Verdict::RetryAfter(Duration::from_secs(1));
        assert!(delay(&policy, spent(1, 0), &after, failure()).is_some());
        assert_eq!(delay(&policy, spent(1, 0), &after, failure().of(ErrorKind::lossy("invalid"))), None);
    }
}
