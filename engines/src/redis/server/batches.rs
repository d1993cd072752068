//! What this process has leased in batches. It writes the records of those tasks by itself when they are completed, because a
//! script that writes them takes more of the server's time.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use jobbers_common::{
    engine::{Outcome, Settlement},
    name::{QueueName, TaskId, WorkerId},
    queue::Config,
    task::Fence,
    time::Timestamp,
};
use parking_lot::Mutex;

use crate::redis::kernel::ending::FreshRecord;

/// So many tasks are remembered; of others, the script writes the ends.
const MOST_REMEMBERED: usize = 4_096;

/// A batch of leases, as a script made it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeasedBatch {
    /// The fence of its first task.
    pub(crate) first: Fence,
    pub(crate) queue: QueueName,
    pub(crate) worker: WorkerId,
    pub(crate) started_at: Timestamp,
}

/// A task that runs in a batch.
#[derive(Debug)]
struct BatchedTask {
    batch: Arc<LeasedBatch>,
    id: TaskId,
    record: Bytes,
}

/// The tasks that run in batches, and what is known of the configuration.
#[derive(Debug, Default)]
pub(crate) struct Batches(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    tasks: HashMap<Fence, BatchedTask>,
    /// In the order in which they were leased; some have ended.
    order: VecDeque<Fence>,
    config_version: u64,
}

/// The ends of tasks of one batch.
#[derive(Debug)]
pub(crate) struct WrittenBatch {
    pub(crate) batch: Arc<LeasedBatch>,
    pub(crate) ends: Vec<WrittenEnd>,
}

/// The end of a task.
#[derive(Debug)]
pub(crate) struct WrittenEnd {
    /// The place of its settlement in the cycle.
    pub(crate) settlement: usize,
    pub(crate) id: TaskId,
    /// Its place in the batch, from 0.
    pub(crate) place: u64,
    /// Its record from `dead_letter` on.
    pub(crate) record: Vec<u8>,
}

impl Batches {
    /// Remembers a task that was leased in a batch.
    pub(crate) fn remember(&self, batch: &Arc<LeasedBatch>, fence: Fence, id: TaskId, record: Bytes) {
        if FreshRecord::new(&record).is_none() {
            return;
        }
        let remembered = &mut *self.0.lock();
        remembered.tasks.insert(fence, BatchedTask { batch: Arc::clone(batch), id, record });
        remembered.order.push_back(fence);
        while remembered.order.len() > MOST_REMEMBERED {
            if let Some(oldest) = remembered.order.pop_front() {
                remembered.tasks.remove(&oldest);
            }
        }
    }

    /// The version of the configuration that the latest cycle saw.
    pub(crate) fn note_config(&self, version: u64) {
        self.0.lock().config_version = version;
    }

    /// Writes the ends of those tasks that were completed in a batch, if this is the present configuration, and forgets all
    /// that are settled. Returns the places of the other settlements.
    pub(crate) fn write_ends(&self, settlements: &[Settlement], config: &Config) -> (Vec<usize>, Vec<WrittenBatch>) {
        let remembered = &mut *self.0.lock();
        let is_present = config.version == remembered.config_version;
        let (mut others, mut batches) = (Vec::new(), Vec::<WrittenBatch>::new());
        for (place, settlement) in settlements.iter().enumerate() {
            let task = remembered.tasks.remove(&settlement.fence).filter(|_| is_present);
            let Some((batch, end)) = task.and_then(|task| written(task, place, settlement, config)) else {
                others.push(place);
                continue;
            };
            match batches.iter_mut().rev().find(|it| it.batch == batch) {
                Some(known) => known.ends.push(end),
                None => batches.push(WrittenBatch { batch, ends: vec![end] }),
            }
        }
        (others, batches)
    }
}

/// The end of a task that was completed, and its batch.
fn written(
    task: BatchedTask,
    place: usize,
    settlement: &Settlement,
    config: &Config,
) -> Option<(Arc<LeasedBatch>, WrittenEnd)> {
    let Settlement { outcome: Outcome::Completed { result }, heartbeat: None, .. } = settlement else { return None };
    let BatchedTask { batch, id, record } = task;
    let fresh = FreshRecord::new(&record).filter(|_| id == settlement.id)?;
    let parameters = fresh.parameters();
    let keeps = config.settings_of(&batch.queue).keeps_parameters(parameters.len());
    let parameters = if keeps { parameters } else { &[] };
    let (worker, fence) = (batch.worker.as_str(), settlement.fence);
    let record = fresh.completed(worker, fence, batch.started_at, result.as_ref(), parameters);
    let place_in_batch = fence.0 - batch.first.0;
    Some((batch, WrittenEnd { settlement: place, id, place: place_in_batch, record }))
}
