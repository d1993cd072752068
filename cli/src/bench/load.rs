//! What the benchmark loads a store with: tasks that do nothing and carry 100 bytes.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, anyhow};
use jobbers_common::{
    engine::{Engine, OnConflict, Submit},
    name::{QueueName, TaskId, TaskName},
    payload::Payload,
    queue::{QueueConfig, Retention},
    task::NewTask,
};
use parking_lot::Mutex;
use ulid::Generator;

/// Tasks per call wherever calls are batched.
pub(super) const BATCH: usize = 100;
/// Callers at once wherever calls are batched.
pub(super) const CALLERS: usize = 4;
/// The task that does nothing.
pub(super) const NOOP: &str = "bench.noop";
/// The task that answers how long ago it was submitted.
pub(super) const LATENCY: &str = "bench.latency";
/// The queue, and the role, of most phases.
pub(super) const BENCH: &str = "bench";
/// 100 bytes of JSON.
pub(super) const PAYLOAD: &str =
    r#"{"account":"0123456789","from":"alpha@example.org","to":"omega@example.org","note":"a hundred B"}   "#;
/// Long enough for a worker to be idle again.
pub(super) const PAUSE: Duration = Duration::from_millis(12);
/// Bare exchanges measured with the same pause.
pub(super) const IDLE_SAMPLES: usize = 200;

/// Ids of one run, which sort by their time.
pub(super) type Ids = Arc<Mutex<Generator>>;

/// Retention that keeps everything for as long as a benchmark runs.
pub(super) fn unlimited() -> Retention {
    Retention { age: Duration::from_secs(86_400), count: u64::from(u32::MAX) }
}

/// A queue of the benchmark.
pub(super) fn queue(name: &str, paused: bool, retention: Retention) -> Result<QueueConfig> {
    Ok(QueueConfig { paused, retention, ..QueueConfig::new(QueueName::new(name)?) })
}

/// A batch of tasks that do nothing.
pub(super) fn batch(ids: &Ids, queue: &QueueName, size: usize) -> Result<Submit> {
    let (name, parameters) = (TaskName::new(NOOP)?, Payload::json(PAYLOAD));
    let mut ids = ids.lock();
    let tasks = (0..size)
        .map(|_| {
            let id = TaskId::new(ids.generate().map_err(|error| anyhow!("{error}"))?.to_string())?;
            Ok(NewTask::new(id, name.clone(), queue.clone(), parameters.clone()))
        })
        .collect::<Result<Vec<NewTask>>>()?;
    Ok(Submit { tasks, on_conflict: OnConflict::Fail })
}

/// Submits `calls` batches from each of `clients` clients at once, which await every call. Answers how many tasks.
pub(super) async fn submit(
    engine: &Arc<dyn Engine>,
    ids: &Ids,
    queue: &QueueName,
    clients: usize,
    calls: usize,
    size: usize,
) -> Result<usize> {
    let clients: Vec<_> = (0..clients)
        .map(|_| {
            let (engine, ids, queue) = (Arc::clone(engine), Arc::clone(ids), queue.clone());
            tokio::spawn(async move {
                for _ in 0..calls {
                    engine.submit(batch(&ids, &queue, size)?).await?;
                }
                anyhow::Ok(calls * size)
            })
        })
        .collect();
    let mut submitted = 0;
    for client in clients {
        submitted += client.await??;
    }
    Ok(submitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_a_hundred_bytes_of_json() {
        assert_eq!(PAYLOAD.len(), 100);
        assert!(serde_json::from_str::<serde_json::Value>(PAYLOAD).is_ok());
    }
}
