//! Work that comes due in the store: it is carried out piece by piece, and looked for again when the next of it is due.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use jobbers_common::{
    engine::{Due, Error, Result},
    time::Timestamp,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The most entries that one look reads.
pub(crate) const READ_AT_ONCE: usize = 100;
/// The most looks without a pause.
const LOOKS: usize = 100;

/// Carries out what is due, `at_a_time` entries at once, until a look finds none. Returns how long it is until the next one
/// is due, if that is known.
///
/// # Errors
/// The first; what is left is looked at later.
pub(crate) async fn carry_out<T, L, A>(
    look: impl Fn() -> L,
    at_a_time: usize,
    attend: impl Fn(T, Timestamp) -> A,
) -> Result<Option<Duration>>
where
    L: Future<Output = Result<Due<T>>>,
    A: Future<Output = Result<()>>,
{
    for _ in 0..LOOKS {
        let looked_at = Instant::now();
        let Due { now, due, next_at } = look().await?;
        if due.is_empty() {
            let until = next_at.map(|at| at.since(now).saturating_sub(looked_at.elapsed()));
            // Not too early: the store's clock decides what is due.
            return Ok(until.map(|until| until + Duration::from_millis(1)));
        }
        let attended = stream::iter(due).map(|entry| attend(entry, now)).buffer_unordered(at_a_time);
        let failed: Vec<Error> = attended.filter_map(|done| async { done.err() }).collect().await;
        if let Some(error) = failed.into_iter().next() {
            return Err(error);
        }
    }
    Ok(None)
}

/// Runs a chore at an interval until `stop` is cancelled.
pub(crate) async fn every<F: Future<Output = ()>>(stop: &CancellationToken, period: Duration, chore: impl Fn() -> F) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let repeating = async {
        loop {
            ticks.tick().await;
            chore().await;
        }
    };
    stop.run_until_cancelled(repeating).await;
}

/// Repeats `round` for ever: when the next entry is due, when `changed` is notified, and at least once in `every`. What
/// keeps it from working is logged, once until it changes: `what` names the entries, and `done` what happens to them.
pub(crate) async fn repeat<R: Future<Output = Result<Option<Duration>>>>(
    (what, done): (&str, &str),
    every: Duration,
    changed: &Notify,
    round: impl Fn() -> R,
) {
    let mut trouble: Option<Error> = None;
    loop {
        let ended = round().await;
        let pause = ended.as_ref().map_or(every, |pause| pause.map_or(every, |pause| pause.min(every)));
        note_trouble((what, done), &mut trouble, ended.err());
        // A change made here is handled at once.
        tokio::time::timeout(pause, changed.notified()).await.ok();
    }
}

fn note_trouble((what, done): (&str, &str), before: &mut Option<Error>, now: Option<Error>) {
    let is_same = |error: &Error| before.as_ref().is_some_and(|it| it.kind() == error.kind());
    match &now {
        None if before.is_some() => tracing::info!("{what} are {done} again"),
        Some(error) if !is_same(error) => tracing::warn!(%error, "{what} can't be {done}"),
        _ => {}
    }
    *before = now;
}

/// Whether the store, and not a task, is why it could not be submitted.
pub(crate) const fn is_trouble(error: &Error) -> bool {
    matches!(
        error,
        Error::Unavailable { .. }
            | Error::Full(_)
            | Error::ReadOnly(_)
            | Error::Schema { .. }
            | Error::Corrupt(_)
            | Error::Defect(_)
            | Error::Config(_)
    )
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::VecDeque};

    use super::*;

    const fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    /// A store whose looks find these entries in turn.
    struct Looks(RefCell<VecDeque<Result<Due<u32>>>>);

    impl Looks {
        fn of<const N: usize>(entries: [&[u32]; N], next_at: Option<Timestamp>) -> Self {
            let found = entries.map(|entries| Ok(Due { now: at(1_000), due: entries.to_vec(), next_at }));
            Self(RefCell::new(found.into()))
        }

        async fn look(&self) -> Result<Due<u32>> {
            self.0.borrow_mut().pop_front().unwrap()
        }
    }

    #[tokio::test]
    async fn all_that_is_due_is_carried_out_and_the_next_is_not_awaited_too_short() {
        let (looks, seen) = (Looks::of([&[1, 2], &[3], &[]], Some(at(10_001_000))), RefCell::new(Vec::new()));
        let attend = async |entry, now| {
            seen.borrow_mut().push((entry, now));
            Ok(())
        };
        let pause = carry_out(|| looks.look(), 4, attend).await.unwrap().unwrap();
        assert_eq!(seen.into_inner(), [(1, at(1_000)), (2, at(1_000)), (3, at(1_000))]);
        assert!(pause > Duration::from_secs(9) && pause <= Duration::from_millis(10_001), "{pause:?}");
    }

    #[tokio::test]
    async fn a_failure_ends_the_round_after_the_entries_beside_it() {
        let (looks, seen) = (Looks::of([&[1, 2, 3], &[4]], None), RefCell::new(0));
        let attend = async |entry| {
            *seen.borrow_mut() += 1;
            if entry == 2 { Err(Error::unavailable("away")) } else { Ok(()) }
        };
        let ended = carry_out(|| looks.look(), 1, |entry, _| attend(entry)).await;
        assert!(matches!(ended, Err(Error::Unavailable { .. })));
        assert_eq!((seen.into_inner(), looks.0.borrow().len()), (3, 1));
    }
}
