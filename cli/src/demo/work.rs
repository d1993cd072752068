//! The demo's tasks: on their way in, under way, and read back.

use std::{path::Path, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use jobbers_api::{
    queue::QueueView,
    task::view::{SubmittedList, TaskView},
};
use jobbers_common::{lifecycle::Status, limits::MAX_BATCH, name::TaskId};
use serde_json::{Value, json};

use crate::{
    client::{self, ManagerClient},
    failure::Failure,
    terminal::progress::ProgressLine,
};

/// Where the tasks go: the queue every store has from the start.
const QUEUE: &str = "default";
/// How often is asked how far the tasks are.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Tasks read back at a time.
const READERS: usize = 16;

/// What a task says that panics on purpose.
const PANIC: &str = "panics once, then completes";

/// Keeps the panic that belongs to the demo off the terminal; any other is reported as usual.
pub fn expect_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some(PANIC) {
            tell(panic);
        }
    }));
}

/// A task that counts the words of a file.
#[must_use]
pub fn counting(path: &Path) -> Value {
    json!({"name": "text.wordcount", "parameters": {"path": path}})
}

/// Tasks that fail on purpose, with what shall become of them: whether they complete in the end.
#[must_use]
pub fn failing() -> [(Value, bool); 5] {
    let fail = |parameters: Value, max_retries: u32| {
        json!({
            "name": "fail", "parameters": parameters, "max_retries": max_retries,
            "retry_delay": "20ms", "backoff": "exponential",
        })
    };
    [
        (fail(json!({"times": 1, "message": "fails once, then completes"}), 3), true),
        (fail(json!({"times": 2, "message": "fails twice, then completes"}), 3), true),
        (fail(json!({"times": 1, "kind": "panic", "message": PANIC}), 3), true),
        (fail(json!({"message": "fails until its retries are used up"}), 2), false),
        (fail(json!({"kind": "fatal", "message": "fails for good at once"}), 3), false),
    ]
}

/// Submits tasks, as many as fit at a time, and answers their ids in order.
///
/// # Errors
/// When the manager can't be asked or refuses.
pub async fn submit(client: &ManagerClient, tasks: &[Value]) -> Result<Vec<TaskId>, Failure> {
    let mut ids = Vec::with_capacity(tasks.len());
    for tasks in tasks.chunks(MAX_BATCH) {
        let batch: SubmittedList = client.post("/tasks", Some(&json!({"tasks": tasks}))).await?.read()?;
        for task in batch.tasks {
            let foreign = |error| Failure::Foreign { url: client.base().to_owned(), reason: format!("{error}") };
            ids.push(TaskId::new(&task.id).map_err(foreign)?);
        }
    }
    Ok(ids)
}

/// Waits until `total` tasks are over, and shows how far they are.
///
/// # Errors
/// When the manager can't be asked.
pub(crate) async fn watch(client: &ManagerClient, total: u64, progress: &ProgressLine) -> Result<(), Failure> {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    loop {
        looks.tick().await;
        let queue: QueueView = client.get(&client::queue_path(QUEUE), client::NOTHING).await?.read()?;
        let count = |status: Status| queue.tasks.get(&status).copied().unwrap_or_default();
        let live: u64 =
            [Status::Waiting, Status::Scheduled, Status::Submitted, Status::Started].map(count).iter().sum();
        let over = queue.tasks.values().sum::<u64>() - live;
        let [running, scheduled, failed] = [Status::Started, Status::Scheduled, Status::Failed].map(count);
        progress.show(over, || format!("{running} running, {scheduled} to be retried, {failed} failed"));
        if over >= total {
            return Ok(());
        }
    }
}

/// Reads tasks back, with their results, in order.
///
/// # Errors
/// When the manager can't be asked.
pub async fn read_back(client: &ManagerClient, ids: &[TaskId]) -> Result<Vec<TaskView>, Failure> {
    let read = |id: TaskId| async move {
        client.get(&client::task_path(&id), client::NOTHING).await.and_then(|answer| Ok(answer.read::<TaskView>()?))
    };
    stream::iter(ids.iter().cloned()).map(read).buffered(READERS).try_collect().await
}
