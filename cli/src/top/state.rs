//! The state after two snapshots: present numbers, and the changes in between.

use std::{collections::BTreeMap, time::Instant};

use jobbers_common::lifecycle::Status;

use super::{
    order::RowOrder,
    snapshot::{Snapshot, count},
    steer::Steer,
};
use jobbers_api::queue::QueueView;

use crate::failure::Failure;

/// Tasks of a queue per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rates {
    /// Taken in.
    pub(crate) entered: f64,
    /// No longer waiting or running: finished, or deleted before that.
    pub(crate) left: f64,
}

/// What a picture is drawn from.
#[derive(Debug)]
pub(crate) struct TopState {
    /// The manager's address.
    pub(crate) manager: String,
    /// The latest look; none before the first.
    pub(crate) now: Option<Snapshot>,
    /// Per queue, between the last two looks; empty before the second.
    pub(crate) rates: BTreeMap<String, Rates>,
    /// Why the last look failed, if it did.
    pub(crate) failure: Option<String>,
    /// Whether the picture is held.
    pub(crate) held: bool,
    /// The order of the lists.
    pub(crate) order: RowOrder,
    /// Where the user is.
    pub(crate) steer: Steer,
}

impl TopState {
    /// Nothing is known yet.
    pub(crate) fn new(manager: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            now: None,
            rates: BTreeMap::new(),
            failure: None,
            held: false,
            order: RowOrder::Trouble,
            steer: Steer::default(),
        }
    }

    /// Takes a look in; nothing while the picture is held.
    pub(crate) fn look(&mut self, mut snapshot: Snapshot) {
        self.failure = None;
        if self.held {
            return;
        }
        if let Some(before) = &self.now {
            self.rates = rates(before, &snapshot);
        }
        self.order.arrange(&mut snapshot);
        self.now = Some(snapshot);
    }

    /// The manager could not be asked: what was known stays, and the reason is shown.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        self.failure = Some(failure.to_string());
    }

    /// Holds the picture, or lets it go on.
    pub(crate) fn hold(&mut self) {
        self.held = !self.held;
    }

    /// The next order.
    pub(crate) fn sort(&mut self) {
        self.order = self.order.next();
        if let Some(now) = &mut self.now {
            self.order.arrange(now);
        }
    }
}

/// Tasks that are not over.
fn live(queue: &QueueView) -> u64 {
    Status::ALL.iter().filter(|status| !status.is_finished()).map(|status| count(queue, *status)).sum()
}

/// What happened per second between two looks, in the queues that were there both times.
fn rates(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, Rates> {
    let seconds = seconds_between(before.at, after.at);
    let old: BTreeMap<&str, &QueueView> = before.queues.iter().map(|queue| (queue.name.as_str(), queue)).collect();
    let of = |queue: &QueueView| {
        let old = *old.get(queue.name.as_str())?;
        let entered = queue.accepted.saturating_sub(old.accepted);
        // What came in and is not there any more has left, and so has what was there before.
        let left = (live(old) + entered).saturating_sub(live(queue));
        Some((queue.name.to_string(), Rates { entered: per_second(entered, seconds), left: per_second(left, seconds) }))
    };
    after.queues.iter().filter_map(of).collect()
}

fn seconds_between(before: Instant, after: Instant) -> f64 {
    after.saturating_duration_since(before).as_secs_f64().max(0.001)
}

#[expect(clippy::cast_precision_loss, reason = "a rate to three digits")]
fn per_second(tasks: u64, seconds: f64) -> f64 {
    tasks as f64 / seconds
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    /// A queue with these numbers.
    pub(crate) fn queue(name: &str, accepted: u64, ready: u64, oldest: Option<f64>) -> QueueView {
        let tasks = json!({"submitted": ready, "started": 2, "completed": accepted - ready - 2});
        let queue = json!({
            "name": name, "paused": false, "max_per_worker": null, "retention": {"age": "1d", "count": 100_000}, "patience": "1h", "strict": false,
            "tasks": tasks, "oldest_ready_age": oldest, "accepted": accepted, "removed": 0,
        });
        serde_json::from_value(queue).unwrap()
    }

    /// A look at these queues.
    pub(crate) fn look(at: Instant, queues: Vec<QueueView>) -> Snapshot {
        Snapshot {
            at,
            queues,
            workers: Vec::new(),
            failures: Vec::new(),
            history: None,
            totals: None,
            sections: Vec::new(),
            inside: None,
        }
    }

    fn names(state: &TopState) -> Vec<&str> {
        state.now.iter().flat_map(|now| &now.queues).map(|queue| queue.name.as_str()).collect()
    }

    #[test]
    fn rates_are_what_changed_between_two_looks() {
        let (start, mut state) = (Instant::now(), TopState::new("http://m"));
        state.look(look(start, vec![queue("mail", 100, 10, None)]));
        assert!(state.rates.is_empty(), "one look has no rates");
        state.look(look(start + Duration::from_secs(2), vec![queue("mail", 140, 30, None), queue("new", 9, 1, None)]));
        // 40 came in 2 s, 20 more are ready: 20 have left.
        let expected = Rates { entered: 20.0, left: 10.0 };
        assert_eq!(state.rates, BTreeMap::from([("mail".to_owned(), expected)]), "a new queue has none yet");
    }

    #[test]
    fn the_longest_waiting_queue_stands_first_until_another_order_is_asked_for() {
        let mut state = TopState::new("http://m");
        let queues = vec![queue("c", 9, 5, None), queue("a", 9, 1, Some(3.0)), queue("b", 9, 2, Some(60.0))];
        state.look(look(Instant::now(), queues));
        assert_eq!(names(&state), ["b", "a", "c"]);
        state.sort();
        assert_eq!(names(&state), ["a", "b", "c"]);
        state.sort();
        assert_eq!(names(&state), ["c", "b", "a"]);
    }

    #[test]
    fn a_held_picture_does_not_change_and_a_failure_leaves_what_was_known() {
        let (start, mut state) = (Instant::now(), TopState::new("http://m"));
        state.look(look(start, vec![queue("mail", 100, 10, None)]));
        state.hold();
        state.look(look(start + Duration::from_secs(1), vec![queue("other", 9, 1, None)]));
        state.fail(&Failure::Unavailable("it is gone".to_owned()));
        assert_eq!((names(&state), state.failure.as_deref()), (vec!["mail"], Some("it is gone")));
    }
}
