//! What happened in all queues together. One reading of the store is for all who ask within a few seconds: with many
//! queues it takes some milliseconds.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{Engine, Result},
    history::{Grain, Slot},
    limits::MAX_QUEUES_PER_READ,
    name::QueueName,
    time::Timestamp,
};

use super::{live_config::LiveConfig, overview::Overview, shared_reading::SharedReading};

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
    pub(crate) async fn read(
        &self,
        engine: &dyn Engine,
        live: &LiveConfig,
        overview: &Overview,
        by: Grain,
    ) -> Result<Total> {
        let last = match by {
            Grain::Minute => &self.minutes,
            Grain::Hour => &self.hours,
        };
        last.get(async {
            // To list the queues takes as long as to read their history.
            let queues = overview.queues(engine, live).await?;
            sum(engine, &queues, by).await
        })
        .await
    }
}

/// Reads in pieces, and adds up.
async fn sum(engine: &dyn Engine, queues: &[QueueName], by: Grain) -> Result<Total> {
    let (mut sums, mut now) = (BTreeMap::<Timestamp, Slot>::new(), engine.history(&[], by).await?.now);
    for names in queues.chunks(MAX_QUEUES_PER_READ) {
        let history = engine.history(names, by).await?;
        now = now.max(history.now);
        for slot in history.queues.into_iter().flatten() {
            sums.entry(slot.at).or_insert_with(|| Slot::empty(slot.at)).add(&slot);
        }
    }
    Ok(Total { now, slots: sums.into_values().collect() })
}
