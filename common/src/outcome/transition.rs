//! How a started task moves on: one decision, made the same way by the model and both engines.
//!
//! SQLite and the model call these functions. The Lua of the Redis engine repeats them; the conformance case
//! `every_outcome_moves_a_task_as_the_table_says` compares all pairs of outcome and state.

use std::time::Duration;

use crate::{
    engine::Outcome,
    lifecycle::{Move, Status},
    policy::{Exhausted, Tries},
    task::{AttemptError, AttemptFailure, FailureKind, Task},
    time::Timestamp,
};

/// Where a task that goes back to its queue waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// At its old place, due since it first was.
    OldPlace,
    /// At the end of its priority, due after this delay; at once when it is zero.
    After(Duration),
}

/// What happens to the time since which workers have been giving a task back because they do not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownMark {
    /// It stays, or begins now.
    Set,
    /// It is forgotten: the task ran.
    Clear,
    /// It is left as it is: the task is over.
    Leave,
}

/// The end of an attempt, as the store carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The move.
    pub event: Move,
    /// The status it leads to.
    pub to: Status,
    /// Where the task waits; `None` when it is over.
    pub back: Option<Return>,
    /// Whether the attempt counts. One that does not is subtracted again.
    pub counts: bool,
    /// Whether the failure that came with the outcome is added to the task's errors.
    pub notes_failure: bool,
    /// Whether a copy goes to the outbox.
    pub dead_letter: bool,
    /// Whether the task ran to an end of its own, so that it is no longer suspect. It did not when it was given back, or
    /// its worker vanished.
    pub ran: bool,
    /// What happens to the mark of an unknown task.
    pub unknown: UnknownMark,
}

/// What the store knows of a started task when its attempt is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The present.
    pub now: Timestamp,
    /// Whether a cancel was requested. It wins over every outcome.
    pub cancel_requested: bool,
    /// Since when workers have been giving the task back.
    pub unknown_since: Option<Timestamp>,
    /// What the end of this lease means for its tries.
    pub tries: Tries,
}

impl Transition {
    const fn over(event: Move, to: Status) -> Self {
        Self {
            event,
            to,
            back: None,
            counts: true,
            notes_failure: false,
            dead_letter: false,
            ran: true,
            unknown: UnknownMark::Leave,
        }
    }

    fn back(event: Move, back: Return) -> Self {
        let is_later = matches!(back, Return::After(delay) if !delay.is_zero());
        Self {
            back: Some(back),
            unknown: UnknownMark::Clear,
            ..Self::over(event, if is_later { Status::Scheduled } else { Status::Submitted })
        }
    }

    /// Given back unharmed: only a release at once keeps the old place.
    fn released(delay: Duration) -> Self {
        let back = if delay.is_zero() { Return::OldPlace } else { Return::After(delay) };
        Self { counts: false, ran: false, ..Self::back(Move::Release, back) }
    }

    /// The tries of the task are used up by a lease that ends with `event`. What failed is noted.
    fn exhausted(event: Move, exhausted: Exhausted, dead_letter: bool) -> Self {
        let over = match exhausted {
            Exhausted::Failed => Self::over(event, Status::Failed),
            Exhausted::Aborted => Self::over(Move::Abort, Status::Aborted),
        };
        Self { notes_failure: true, dead_letter, ..over }
    }

    /// What an outcome does.
    #[must_use]
    pub fn of_outcome(outcome: &Outcome, facts: &Facts) -> Self {
        let failed = !matches!(outcome, Outcome::Unknown { .. }) && outcome.failure().is_some();
        if facts.cancel_requested {
            return Self { notes_failure: failed, ..Self::over(Move::Cancel, Status::Cancelled) };
        }
        if let Tries::Last { exhausted, dead_letter } = facts.tries
            && matches!(outcome, Outcome::Retry { .. } | Outcome::Released { .. })
        {
            return Self::exhausted(Move::Fail, exhausted, dead_letter);
        }
        match outcome {
            Outcome::Completed { .. } => Self::over(Move::Complete, Status::Completed),
            Outcome::Cancelled => Self::over(Move::Cancel, Status::Cancelled),
            Outcome::Failed { dead_letter, .. } => {
                Self { notes_failure: true, dead_letter: *dead_letter, ..Self::over(Move::Fail, Status::Failed) }
            }
            Outcome::Stalled { dead_letter, .. } => {
                Self { notes_failure: true, dead_letter: *dead_letter, ..Self::over(Move::Stall, Status::Stalled) }
            }
            Outcome::Aborted { .. } => Self { notes_failure: true, ..Self::over(Move::Abort, Status::Aborted) },
            Outcome::Retry { delay, .. } => {
                Self { notes_failure: true, ..Self::back(Move::Retry, Return::After(*delay)) }
            }
            Outcome::Released { delay } => Self { counts: facts.tries == Tries::Left, ..Self::released(*delay) },
            Outcome::Unstarted { delay } => Self::released(*delay),
            Outcome::Unknown { delay, patience, dead_letter, .. } => {
                if facts.unknown_since.unwrap_or(facts.now).after(*patience) > facts.now {
                    return Self { unknown: UnknownMark::Set, ..Self::released(*delay) };
                }
                Self { notes_failure: true, dead_letter: *dead_letter, ..Self::over(Move::Drop, Status::Dropped) }
            }
        }
    }

    /// What the loss of a lease does. `is_poison`: the task's blames have reached its `max_crashes`; `saves`: a poison task is kept
    /// as a dead letter.
    #[must_use]
    pub fn of_lost_lease(cancel_requested: bool, is_poison: bool, saves: bool, tries: Tries) -> Self {
        if cancel_requested {
            return Self { notes_failure: true, ..Self::over(Move::Cancel, Status::Cancelled) };
        }
        if is_poison {
            return Self { notes_failure: true, dead_letter: saves, ..Self::over(Move::Expire, Status::Failed) };
        }
        if let Tries::Last { exhausted, dead_letter } = tries {
            return Self::exhausted(Move::Expire, exhausted, dead_letter);
        }
        let counts = tries == Tries::Left;
        Self { counts, notes_failure: true, ran: false, ..Self::back(Move::Expire, Return::OldPlace) }
    }
}

/// Whether a finished task is stored as this outcome of its last lease leaves it: then a settlement with that lease's fence is
/// a repetition. Any other outcome, result or failure is another settlement, and comes too late. `cancel_requested`: it was when
/// the lease was settled, so every outcome became `cancelled`, and no result was kept to compare.
#[must_use]
pub fn is_repetition(outcome: &Outcome, task: &Task, cancel_requested: bool) -> bool {
    let noted = task.errors.last().filter(|error| is_noted_at_end(error, task));
    let given_back = AttemptFailure::given_back_at_last_try();
    let failure = outcome.failure().unwrap_or(&given_back);
    let is_same = |error: &AttemptError| {
        error.kind == failure.kind && error.error_kind == failure.error_kind && error.message == failure.message
    };
    let result = match outcome {
        Outcome::Completed { result } => result.as_ref(),
        _ => None,
    };
    let facts = Facts {
        now: task.completed_at.unwrap_or_default(),
        cancel_requested,
        // If it was dropped, the patience of its queue was over.
        unknown_since: Some(Timestamp::from_micros(i64::MIN)),
        tries: task.overrides.tries(task.attempt),
    };
    let Transition { to, back, notes_failure, .. } = Transition::of_outcome(outcome, &facts);
    back.is_none()
        && to == task.status
        && (to != Status::Completed || result == task.result.as_ref())
        && if notes_failure { noted.is_some_and(is_same) } else { noted.is_none() }
}

/// Whether an error was noted by the settlement that ended its task.
fn is_noted_at_end(error: &AttemptError, task: &Task) -> bool {
    Some(error.at) == task.completed_at && error.attempt >= task.attempt && error.kind != FailureKind::Crash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::is_legal;

    fn facts(cancel_requested: bool) -> Facts {
        Facts { now: Timestamp::from_micros(100), cancel_requested, unknown_since: None, tries: Tries::Unlimited }
    }

    fn outcomes() -> Vec<Outcome> {
        let failure = || AttemptFailure::new(FailureKind::Error, "boom");
        let mut all =
            vec![Outcome::Completed { result: None }, Outcome::Cancelled, Outcome::Aborted { failure: failure() }];
        for delay in [Duration::ZERO, Duration::from_secs(1)] {
            all.extend([
                Outcome::Retry { delay, failure: failure() },
                Outcome::Released { delay },
                Outcome::Unstarted { delay },
            ]);
            for patience in [Duration::ZERO, Duration::from_secs(9)] {
                all.push(Outcome::Unknown { delay, patience, failure: failure(), dead_letter: true });
            }
        }
        for dead_letter in [false, true] {
            all.push(Outcome::Failed { failure: failure(), dead_letter });
            all.push(Outcome::Stalled { failure: failure(), dead_letter });
        }
        all
    }

    #[test]
    fn every_transition_is_legal_and_only_an_ended_task_waits_nowhere() {
        let lost = [(false, false), (false, true), (true, false), (true, true)];
        let tries = [
            Tries::Unlimited,
            Tries::Left,
            Tries::Last { exhausted: Exhausted::Failed, dead_letter: true },
            Tries::Last { exhausted: Exhausted::Aborted, dead_letter: false },
        ];
        let of_losses = lost
            .into_iter()
            .flat_map(|(cancelled, poison)| tries.map(|it| Transition::of_lost_lease(cancelled, poison, true, it)));
        let of_outcomes = outcomes().into_iter().flat_map(|outcome| {
            let facts = tries.into_iter().flat_map(|tries| [false, true].map(|it| Facts { tries, ..facts(it) }));
            facts.map(|facts| Transition::of_outcome(&outcome, &facts)).collect::<Vec<_>>()
        });
        for transition in of_outcomes.chain(of_losses) {
            assert!(is_legal(Status::Started, transition.event, transition.to), "{transition:?}");
            assert_eq!(transition.back.is_none(), transition.to.is_finished(), "{transition:?}");
            assert!(transition.to.is_finished() || !transition.dead_letter, "{transition:?}");
        }
    }

    #[test]
    fn a_requested_cancel_wins_and_keeps_no_dead_letter() {
        for outcome in outcomes() {
            let transition = Transition::of_outcome(&outcome, &facts(true));
            assert_eq!((transition.to, transition.dead_letter), (Status::Cancelled, false), "{outcome:?}");
        }
        assert_eq!(Transition::of_lost_lease(true, true, true, Tries::Left).to, Status::Cancelled);
    }

    #[test]
    fn patience_begins_with_the_first_give_back() {
        let patience = Duration::from_micros(50);
        let failure = AttemptFailure::new(FailureKind::Unknown, "unknown");
        let outcome = Outcome::Unknown { delay: Duration::ZERO, patience, failure, dead_letter: true };
        for (since, to) in [(None, Status::Submitted), (Some(51), Status::Submitted), (Some(50), Status::Dropped)] {
            let facts = Facts { unknown_since: since.map(Timestamp::from_micros), ..facts(false) };
            assert_eq!(Transition::of_outcome(&outcome, &facts).to, to, "{since:?}");
        }
    }

    #[test]
    fn only_give_backs_and_losses_do_not_count() {
        for outcome in outcomes() {
            let transition = Transition::of_outcome(&outcome, &facts(false));
            let is_release = transition.event == Move::Release;
            assert_eq!((transition.counts, transition.ran), (!is_release, !is_release), "{outcome:?}");
        }
        let lost = Transition::of_lost_lease(false, false, true, Tries::Unlimited);
        assert_eq!((lost.counts, lost.ran, lost.back), (false, false, Some(Return::OldPlace)));
    }

    #[test]
    fn where_tries_are_limited_every_lease_counts_but_one_on_which_nothing_began() {
        let facts = Facts { tries: Tries::Left, ..facts(false) };
        for outcome in outcomes() {
            let is_untried = matches!(outcome, Outcome::Unstarted { .. } | Outcome::Unknown { .. });
            let transition = Transition::of_outcome(&outcome, &facts);
            assert_eq!(transition.counts, !is_untried || transition.to.is_finished(), "{outcome:?}");
        }
        assert!(Transition::of_lost_lease(false, false, true, Tries::Left).counts);
    }

    #[test]
    fn the_last_try_ends_a_task_that_would_go_back() {
        for (exhausted, to) in [(Exhausted::Failed, Status::Failed), (Exhausted::Aborted, Status::Aborted)] {
            let tries = Tries::Last { exhausted, dead_letter: false };
            let facts = Facts { tries, ..facts(false) };
            for outcome in outcomes() {
                let transition = Transition::of_outcome(&outcome, &facts);
                match outcome {
                    Outcome::Retry { .. } | Outcome::Released { .. } => assert_eq!(transition.to, to, "{outcome:?}"),
                    Outcome::Unstarted { .. } => assert_eq!(transition.event, Move::Release),
                    other => assert_eq!(transition, Transition::of_outcome(&other, &self::facts(false))),
                }
            }
            assert_eq!(Transition::of_lost_lease(false, false, true, tries).to, to);
        }
    }
}
