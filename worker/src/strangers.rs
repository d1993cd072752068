//! Tasks this worker does not know: given back, each name for longer and longer, and said once.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use jobbers_common::task::ClaimedTask;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// So that names made up without end can't fill the memory; past it everything is forgotten and starts anew.
const MOST_NAMES: usize = 1_000;

/// The names this worker was asked for and does not know.
#[derive(Debug, Default)]
pub(crate) struct Strangers(HashMap<(String, u32), Asked>);

#[derive(Debug)]
struct Asked {
    delay: Duration,
    since: Instant,
}

impl Strangers {
    /// How long nobody shall try this task again. It doubles each time the tasks of its name have come back, so that a
    /// thousand of them at once count as one.
    pub(crate) fn delay(&mut self, task: &ClaimedTask, now: Instant) -> Duration {
        if self.0.len() >= MOST_NAMES {
            self.0.clear();
        }
        let key = (task.name.as_str().to_owned(), task.version);
        let asked = self.0.entry(key).or_insert_with(|| {
            tracing::warn!(
                name = %task.name, version = task.version, id = %task.id,
                "no such task in this worker; its tasks are given back for a worker that has it"
            );
            Asked { delay: FIRST, since: now }
        });
        if now.saturating_duration_since(asked.since) >= asked.delay {
            *asked = Asked { delay: (asked.delay * 2).min(LONGEST), since: now };
        }
        asked.delay
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::payload::Payload;

    use super::*;

    #[test]
    fn the_delay_doubles_each_time_they_come_back_up_to_a_bound() {
        let context = crate::Context::detached(Payload::json(&b"{}"[..]));
        let task = context.claimed();
        let mut strangers = Strangers::default();
        let mut now = Instant::now();
        let mut delays = Vec::new();
        for _ in 0..7 {
            // A hundred at once count as one.
            let delay = (0..100).map(|_| strangers.delay(task, now)).max().unwrap();
            delays.push(delay.as_secs());
            now += delay;
        }
        assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30]);
    }
}
