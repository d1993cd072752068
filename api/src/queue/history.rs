//! The history of queues, as it is answered: what happened, by minute and by hour.

use jobbers_common::{
    history::{Counts, Grain, Slot, Times},
    name::QueueName,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::{IntoParams, ToSchema},
    value::{NameDoc, Rfc3339},
};

/// The length of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, Default)]
#[serde(rename_all = "lowercase")]
#[schema(as = HistoryGrain)]
pub enum By {
    /// One minute; kept for two hours.
    #[default]
    Minute,
    /// One hour; kept for eight days.
    Hour,
}

impl From<By> for Grain {
    fn from(by: By) -> Self {
        match by {
            By::Minute => Self::Minute,
            By::Hour => Self::Hour,
        }
    }
}

/// Which part of a history.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryParams {
    /// The length of a slot.
    #[serde(default)]
    #[param(default = "minute", inline)]
    pub by: By,
    /// Only this many slots, the latest; the last one is still under way.
    #[param(minimum = 1, maximum = 192)]
    pub last: Option<usize>,
}

/// What happened in a queue, or in all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = History)]
pub struct HistoryView {
    /// The queue; absent for all of them together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub queue: Option<QueueName>,
    /// The length of a slot.
    pub by: By,
    /// The store's time.
    pub now: Rfc3339,
    /// Every slot, the earliest first; the last one is under way.
    pub slots: Vec<SlotView>,
    /// The upper bounds of the buckets of `waited` and `ran`, in seconds; the last bucket has none.
    pub bounds: Vec<f64>,
}

/// What happened within a minute or an hour, in numbers of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = HistorySlot)]
pub struct SlotView {
    /// When it begins.
    pub at: Rfc3339,
    /// Tasks accepted, those moved here from another queue included.
    pub accepted: u64,
    /// Attempts begun.
    pub started: u64,
    /// Tasks completed.
    pub completed: u64,
    /// Tasks that failed for good: `failed` or `stalled`.
    pub failed: u64,
    /// Tasks that ended otherwise: `cancelled`, `aborted` or `dropped`.
    pub other: u64,
    /// Attempts that failed, or whose worker vanished, after which the task is tried again.
    pub retried: u64,
    /// How long tasks had been ready when they started: tasks by bucket. By hour; absent if none started. A batch may
    /// count by one of its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<[u64; Times::BUCKETS]>,
    /// How long attempts had run when their workers settled them, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<[u64; Times::BUCKETS]>,
}

impl From<&Slot> for SlotView {
    fn from(slot: &Slot) -> Self {
        let Counts { accepted, started, completed, failed, other, retried } = slot.counts;
        let times = |times: &Times| (times.total() > 0).then_some(times.0);
        let (waited, ran) = (times(&slot.waited), times(&slot.ran));
        Self { at: Rfc3339(slot.at), accepted, started, completed, failed, other, retried, waited, ran }
    }
}

impl HistoryView {
    /// The last `last` slots up to now, filled from those in which something happened.
    #[must_use]
    pub fn new(queue: Option<QueueName>, by: By, now: Timestamp, happened: &[Slot], last: Option<usize>) -> Self {
        let grain = Grain::from(by);
        let (first, end) = (grain.first_kept(now), grain.number_at(now));
        let skipped = grain.kept().saturating_sub(last.unwrap_or(usize::MAX));
        let slots = (first..=end).skip(skipped).map(|number| {
            let at = grain.begin_of(number);
            let found = happened.binary_search_by_key(&at, |slot| slot.at);
            SlotView::from(&found.map_or_else(|_| Slot::empty(at), |place| happened[place]))
        });
        #[expect(clippy::cast_precision_loss, reason = "the bounds are small")]
        let bounds = Times::BOUNDS_MS.iter().map(|ms| *ms as f64 / 1e3).collect();
        Self { queue, by, now: Rfc3339(now), slots: slots.collect(), bounds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_there_and_the_last_one_is_that_of_now() {
        let now = Timestamp::from_micros(Grain::Hour.micros() * 1_000 + 90_000_000);
        let slot =
            Slot { counts: Counts { failed: 3, ..Counts::default() }, ..Slot::empty(Grain::Minute.begin_of(59_999)) };
        let view = HistoryView::new(None, By::Minute, now, &[slot], None);
        assert_eq!(view.slots.len(), 120);
        let failed: Vec<u64> = view.slots.iter().map(|slot| slot.failed).collect();
        assert_eq!((failed[117], failed.iter().sum::<u64>()), (3, 3));
        assert_eq!(view.slots[119].at, Rfc3339(Timestamp::from_micros(60_001 * 60_000_000)));
        let last = HistoryView::new(None, By::Hour, now, &[], Some(3));
        assert_eq!((last.slots.len(), last.slots[2].at), (3, Rfc3339(Grain::Hour.begin_of(1_000))));
    }
}
