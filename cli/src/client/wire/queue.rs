//! Queues and their limits.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Page;

/// A page of the queues.
#[derive(Debug, Deserialize)]
pub struct Queues {
    /// In the order of their names.
    pub queues: Vec<Queue>,
    /// The cursor of the next page.
    pub next_cursor: Option<String>,
}

impl Page for Queues {
    type Item = Queue;

    fn turned(self) -> (Vec<Queue>, Option<String>) {
        (self.queues, self.next_cursor)
    }
}

/// A queue.
#[derive(Debug, Deserialize)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// Whether it gives nothing out.
    pub paused: bool,
    /// At most this many of its tasks run in one worker at a time.
    pub max_per_worker: Option<u32>,
    /// At most this many of its tasks run at a time.
    pub max_concurrent: Option<u32>,
    /// How many of its tasks may start per period.
    pub rate_limit: Option<Rate>,
    /// How many tasks it accepts per period.
    pub submit_rate_limit: Option<Rate>,
    /// At most this many of its tasks wait.
    pub max_length: Option<u64>,
    /// Which parameter gives a task its concurrency key.
    pub key_parameter: Option<String>,
    /// At most this many of its tasks of one key run at a time.
    pub max_concurrent_per_key: Option<u32>,
    /// How many of its tasks of one key may start per period.
    pub rate_limit_per_key: Option<Rate>,
    /// What its tasks of these names may do.
    #[serde(default)]
    pub task_limits: BTreeMap<String, TaskLimits>,
    /// How many bytes of parameters may wait in it.
    pub max_bytes: Option<u64>,
    /// As many do now, where that is limited.
    pub waiting_bytes: Option<u64>,
    /// How long finished tasks are kept.
    pub retention: Retention,
    /// How long workers give a task back that none of them knows.
    pub patience: String,
    /// Whether it refuses what no live worker can run.
    #[serde(default)]
    pub strict: bool,
    /// Tasks per status.
    #[serde(default)]
    pub tasks: BTreeMap<String, u64>,
    /// For how many seconds the task that has been ready longest has been so.
    pub oldest_ready_age: Option<f64>,
    /// Tasks ever accepted.
    pub accepted: u64,
    /// Tasks deleted since.
    pub removed: u64,
}

/// What the tasks of one name may do in a queue.
#[derive(Debug, Deserialize)]
pub struct TaskLimits {
    /// At most this many run at a time.
    pub max_concurrent: Option<u32>,
    /// How many may start per period.
    pub rate_limit: Option<Rate>,
}

/// A rate.
#[derive(Debug, Deserialize)]
pub struct Rate {
    /// How many tasks start in each period.
    pub tasks: u32,
    /// The period.
    pub per: String,
}

/// How long, and how many, finished tasks are kept.
#[derive(Debug, Deserialize)]
pub struct Retention {
    /// Kept this long after they were over.
    pub age: String,
    /// At most this many.
    pub count: u64,
}

/// What a purge or a deletion removed.
#[derive(Debug, Deserialize)]
pub struct Purged {
    /// Tasks deleted.
    pub removed: u64,
    /// Whether there may be more.
    pub more: bool,
}
