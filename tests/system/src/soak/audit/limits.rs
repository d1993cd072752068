//! Whether more tasks of the narrow queue ran at a time than its limit allows.

use std::collections::BTreeMap;

use super::{Books, Broken, Complaint, all};
use crate::{executions::Run, soak::kinds::NARROW};

/// When each execution of a narrow task began and ended: with its last line, or with the blow to its worker.
fn intervals(books: &Books) -> Vec<(i64, i64)> {
    let mut all: BTreeMap<(&str, u64), (Run, i64)> = BTreeMap::new();
    for effect in books.effects.iter().filter(|effect| effect.task.starts_with("narrow.")) {
        let run = Run { attempt: u64::from(effect.attempt), pid: effect.pid, at: effect.at };
        all.entry((&effect.task, effect.fence)).or_insert((run, effect.at)).1 = effect.at;
    }
    let certain = |(run, end): (Run, i64)| (run.at, books.executions.blow_after(run).map_or(end, |blow| blow.min(end)));
    all.into_values().map(certain).collect()
}

/// The most that ran at a time. What ends when another one begins does not count with it.
fn most_at_a_time(intervals: &[(i64, i64)]) -> usize {
    let mut changes: Vec<(i64, isize)> =
        intervals.iter().flat_map(|(from, until)| [(*from, 1), (*until, -1)]).collect();
    changes.sort_unstable();
    let running = changes.iter().scan(0, |running, (_, change)| {
        *running += change;
        Some(*running)
    });
    running.max().unwrap_or_default().unsigned_abs()
}

pub(super) fn complaints(books: &Books) -> Vec<Complaint> {
    let most = most_at_a_time(&intervals(books));
    let text = format!("{most} tasks of the narrow queue ran at a time, and its limit is {NARROW}");
    all(Broken::LimitExceeded, (most > NARROW).then_some(text))
}

#[test]
fn the_most_at_a_time_is_counted() {
    assert_eq!(most_at_a_time(&[]), 0);
    assert_eq!(most_at_a_time(&[(1, 5), (5, 9), (9, 9)]), 1);
    assert_eq!(most_at_a_time(&[(1, 5), (2, 3), (4, 9), (3, 5)]), 3);
}
