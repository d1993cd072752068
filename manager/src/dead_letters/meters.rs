//! The archive's metrics: how many letters it holds and since when, and their outcomes.
//!
//! Only the manager that keeps the archive reports its size, so that no letter is counted twice.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_archive::{Archive, WaitingLetters};
use jobbers_common::{
    engine::DeadTask,
    metrics::catalogue::{DEAD_LETTERS_DELETED, DEAD_LETTERS_RESUBMITTED},
    name::{QueueName, TaskName},
    time::Timestamp,
};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Meter},
};
use parking_lot::Mutex;

use super::calls::blocking;

/// How often the letters are counted.
const EVERY: Duration = Duration::from_secs(10);

/// The dead letters of each queue: how many, and when the first of them failed.
type Letters = BTreeMap<QueueName, (u64, Timestamp)>;

/// The instruments, and the latest counts.
#[derive(Debug)]
pub(crate) struct LetterMeters {
    resubmitted: Counter<u64>,
    deleted: Counter<u64>,
    counted: Mutex<Option<(Instant, Timestamp, Letters)>>,
}

impl LetterMeters {
    pub(crate) fn new(meter: &Meter) -> Self {
        let deleted = DEAD_LETTERS_DELETED.counter(meter);
        deleted.add(0, &[]);
        Self { resubmitted: DEAD_LETTERS_RESUBMITTED.counter(meter), deleted, counted: Mutex::default() }
    }

    /// Letters were deleted.
    pub(crate) fn deleted(&self, letters: u64) {
        self.deleted.add(letters, &[]);
    }

    /// A letter was sent again.
    pub(super) fn resubmitted(&self, (queue, name): &Pair) {
        self.resubmitted.add(1, &names(queue, name));
    }

    /// Whether it is time to count the letters again.
    pub(super) fn are_due(&self) -> bool {
        self.counted.lock().as_ref().is_none_or(|(at, ..)| at.elapsed() >= EVERY)
    }

    /// Counts the letters. A queue with settings counts as empty before its first letter, and every queue after its last.
    pub(super) async fn count(
        &self,
        archive: &Arc<Archive>,
        now: Timestamp,
        configured: impl Iterator<Item = &QueueName>,
    ) -> jobbers_archive::Result<()> {
        let configured: Vec<QueueName> = configured.cloned().collect();
        let waiting = blocking(archive, Archive::waiting).await?;
        let known = self.counted.lock().as_ref().map(|(_, _, letters)| letters.clone()).unwrap_or_default();
        let mut letters: Letters = known.into_keys().chain(configured).map(|queue| (queue, (0, now))).collect();
        for WaitingLetters { queue, name, count: dead, first_failed_at } in waiting {
            // From 0, so that the first resubmission appears as a step.
            self.resubmitted.add(0, &names(&queue, &name));
            let (count, first) = letters.entry(queue).or_insert((0, first_failed_at));
            *count += dead;
            *first = first_failed_at.min(*first);
        }
        *self.counted.lock() = Some((Instant::now(), now, letters));
        Ok(())
    }

    pub(super) fn of_queues(&self) -> Vec<(QueueName, u64, Duration)> {
        let counted = self.counted.lock();
        let Some((at, now, letters)) = counted.as_ref() else { return Vec::new() };
        let age = |count: u64, first: Timestamp| {
            if count == 0 {
                return Duration::ZERO;
            }
            let then = u64::try_from(now.as_micros().saturating_sub(first.as_micros())).unwrap_or(0);
            Duration::from_micros(then) + at.elapsed()
        };
        letters.iter().map(|(queue, (count, first))| (queue.clone(), *count, age(*count, *first))).collect()
    }
}

fn names(queue: &QueueName, task: &TaskName) -> [KeyValue; 2] {
    [KeyValue::new("queue", queue.as_str().to_owned()), KeyValue::new("task", task.as_str().to_owned())]
}

/// A queue and a task's name.
pub(super) type Pair = (QueueName, TaskName);

/// The pair of a letter.
pub(super) fn pair(dead: &DeadTask) -> Pair {
    (dead.task.queue.clone(), dead.task.name.clone())
}

#[cfg(test)]
mod tests {
    use jobbers_archive::Options;
    use jobbers_law::conformance::queue;
    use opentelemetry::global;

    use super::*;

    #[tokio::test]
    async fn a_queue_with_settings_counts_as_empty_from_the_first_look_on() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Arc::new(Archive::open(&folder.path().join("dead.db"), Options::default()).unwrap());
        let meters = LetterMeters::new(&global::meter("test"));
        assert!(meters.are_due() && meters.of_queues().is_empty());
        let queues = [queue("default")];
        meters.count(&archive, Timestamp::from_micros(1), queues.iter()).await.unwrap();
        assert_eq!(meters.of_queues(), [(queue("default"), 0, Duration::ZERO)]);
    }
}
