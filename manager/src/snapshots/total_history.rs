//! What happened in all queues together. One reading of the store is for all who ask within a few seconds: with many
//! queues it takes some milliseconds.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{Engine, QueueListRequest, Result},
    history::{Grain, Slot},
    limits::{MAX_BATCH, MAX_QUEUES_PER_READ},
    name::QueueName,
    time::Timestamp,
};

use super::shared_reading::SharedReading;

/// The slots in which something happened, the earliest first, and the store's time when they were read.
#[derive(Debug, Clone)]
pub(crate) struct Total {
    pub(crate) now: Timestamp,
    pub(crate) slots: Vec<Slot>,
}

/// The last reading of each grain.
#[derive(Debug, Default)]
pub(crate) struct TotalHistory {
    minutes: SharedReading<Total>,
    hours: SharedReading<Total>,
}

impl TotalHistory {
    /// The sum over all queues.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn read(&self, engine: &dyn Engine, by: Grain) -> Result<Total> {
        let last = match by {
            Grain::Minute => &self.minutes,
            Grain::Hour => &self.hours,
        };
        last.get(sum(engine, by)).await
    }
}

/// Reads in pieces, and adds up.
async fn sum(engine: &dyn Engine, by: Grain) -> Result<Total> {
    let (mut sums, mut now, mut after) = (BTreeMap::<Timestamp, Slot>::new(), engine.history(&[], by).await?.now, None);
    loop {
        let page = engine.list_queues(QueueListRequest { after, limit: MAX_BATCH }).await?;
        let names: Vec<QueueName> = page.queues.into_iter().map(|stats| stats.queue).collect();
        for names in names.chunks(MAX_QUEUES_PER_READ) {
            let history = engine.history(names, by).await?;
            now = now.max(history.now);
            for slot in history.queues.into_iter().flatten() {
                sums.entry(slot.at).or_insert_with(|| Slot::empty(slot.at)).add(&slot);
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(Total { now, slots: sums.into_values().collect() });
        }
    }
}
