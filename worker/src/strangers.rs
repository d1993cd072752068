//! Tasks this worker does not know: given back, each for longer and longer, and the first of a name said once.
//!
//! Whoever gave a task back knows to the moment when it is due again, and would win it again and again over a worker that
//! can run it. So it leaves the queue to the others for a moment then.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

use jobbers_common::{
    name::{QueueName, TaskId},
    task::ClaimedTask,
};

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// For how long the others go first when a task is due again.
const HEAD_START: Duration = Duration::from_millis(200);
/// Shortest time between two head starts, so that a flood of unknown tasks can't keep this worker from those it knows.
const SPACING: Duration = Duration::from_secs(1);
/// So that names made up without end can't fill the memory; past it everything is forgotten and starts anew.
const MOST_NAMES: usize = 1_000;
/// How many tasks are remembered. Others wait longest at once, so that a flood comes back no more often than it must.
const MOST_TASKS: usize = 10_000;

/// The tasks this worker was asked for and does not know.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    said: HashSet<(String, u32)>,
    /// For how long each was given back last, and when it can be forgotten: then somebody else has run it.
    delays: HashMap<TaskId, (Duration, Instant)>,
    swept_at: Option<Instant>,
    /// When the others go first in each queue.
    head_starts: HashMap<QueueName, BTreeSet<Instant>>,
}

impl Strangers {
    /// How long nobody shall try this task again: twice as long as the time before.
    pub(crate) fn delay(&mut self, task: &ClaimedTask, now: Instant) -> Duration {
        self.say_once(task);
        let before = self.delays.get(&task.id).map(|(delay, _)| *delay);
        let delay = match before {
            Some(before) => (before * 2).min(LONGEST),
            None if self.has_room(now) => FIRST,
            None => LONGEST,
        };
        if before.is_some() || delay == FIRST {
            self.delays.insert(task.id.clone(), (delay, now + delay * 2));
        }
        self.stand_back(&task.queue, now + delay);
        delay
    }

    /// The queues in which the others go first now.
    pub(crate) fn left_to_others(&self, now: Instant) -> Vec<QueueName> {
        let is_on =
            |starts: &BTreeSet<Instant>| starts.range(..=now).next_back().is_some_and(|at| *at + HEAD_START > now);
        self.head_starts.iter().filter(|(_, starts)| is_on(starts)).map(|(queue, _)| queue.clone()).collect()
    }

    /// When the next head start is over.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.head_starts.values().filter_map(BTreeSet::first).min().map(|at| *at + HEAD_START)
    }

    /// Forgets the head starts that are over. Answers whether there were any.
    pub(crate) fn follow_on(&mut self, now: Instant) -> bool {
        let mut is_any_over = false;
        self.head_starts.retain(|_, starts| {
            let before = starts.len();
            starts.retain(|at| *at + HEAD_START > now);
            is_any_over |= starts.len() < before;
            !starts.is_empty()
        });
        is_any_over
    }

    /// Whether one more task can be remembered; looked for at most once a second.
    fn has_room(&mut self, now: Instant) -> bool {
        if self.delays.len() >= MOST_TASKS && self.swept_at.is_none_or(|at| now >= at + FIRST) {
            self.swept_at = Some(now);
            self.delays.retain(|_, (_, until)| *until > now);
        }
        self.delays.len() < MOST_TASKS
    }

    fn say_once(&mut self, task: &ClaimedTask) {
        if self.said.len() >= MOST_NAMES {
            self.said.clear();
        }
        if self.said.insert((task.name.as_str().to_owned(), task.version)) {
            tracing::warn!(
                name = %task.name, version = task.version, id = %task.id,
                "no such task in this worker; its tasks are given back for a worker that has it"
            );
        }
    }

    fn stand_back(&mut self, queue: &QueueName, at: Instant) {
        let starts = self.head_starts.entry(queue.clone()).or_default();
        if starts.range(at.checked_sub(SPACING).unwrap_or(at)..at + SPACING).next().is_none() {
            starts.insert(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::payload::Payload;

    use super::*;

    fn task(id: &str) -> ClaimedTask {
        let context = crate::Context::detached(Payload::json(&b"{}"[..]));
        ClaimedTask { id: TaskId::new(id).unwrap(), ..context.claimed().clone() }
    }

    #[test]
    fn the_delay_of_a_task_doubles_each_time_it_comes_back_up_to_a_bound() {
        let (mut strangers, now) = (Strangers::default(), Instant::now());
        let delays: Vec<u64> = (0..7).map(|_| strangers.delay(&task("a"), now).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(strangers.delay(&task("b"), now), FIRST, "another of that name has not come back yet");
    }

    #[test]
    fn more_than_can_be_remembered_wait_longest_until_others_have_run_some() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        for n in 0..MOST_TASKS {
            assert_eq!(strangers.delay(&task(&n.to_string()), start), FIRST);
        }
        assert_eq!(strangers.delay(&task("more"), start), LONGEST);
        assert_eq!(strangers.delay(&task("0"), start), FIRST * 2, "what is remembered goes on");
        assert_eq!(strangers.delay(&task("later"), start + FIRST * 2), FIRST);
        assert_eq!(strangers.delays.len(), 2, "the others did not come back");
    }

    #[test]
    fn when_it_is_due_again_the_others_go_first() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let due = start + strangers.delay(&task("a"), start);
        let queue = task("a").queue;
        let mut asked = |at: Instant| (strangers.left_to_others(at), strangers.follow_on(at));
        assert_eq!(asked(due - Duration::from_millis(1)), (vec![], false));
        assert_eq!(asked(due), (vec![queue], false));
        assert_eq!(asked(due + HEAD_START), (vec![], true));
        assert_eq!(strangers.next_end(), None);
    }

    #[test]
    fn each_queue_has_head_starts_of_its_own() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let mail = ClaimedTask { queue: QueueName::new("mail").unwrap(), ..task("b") };
        let due = start + strangers.delay(&task("a"), start).max(strangers.delay(&mail, start));
        assert_eq!(strangers.left_to_others(due).len(), 2, "though both are due at one moment");
    }

    #[test]
    fn a_flood_leaves_most_of_the_time_to_what_is_known() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        for n in 0..5_000 {
            strangers.delay(&task(&n.to_string()), start + Duration::from_millis(n));
        }
        let at = |n: u64| start + Duration::from_secs(1) + Duration::from_millis(n);
        let back = (0..5_000).filter(|n| !strangers.left_to_others(at(*n)).is_empty()).count();
        assert_eq!(back, 1_000, "a fifth of five seconds");
    }
}
