//! The tasks that hold what another one waits for.

use jobbers_api::problem::Result;
use jobbers_common::{
    engine::{ListRequest, TaskFilter},
    lifecycle::Status,
    name::QueueName,
    task::Task,
};

use crate::app::App;

/// How many of the tasks that hold a queue's slots, and of the workers that can't run a task, are named.
pub(super) const NAMED: usize = 10;

/// Tasks of a queue that run, those of the oldest claims first.
pub(super) async fn started(app: &App, queue: &QueueName, limit: usize) -> Result<Vec<Task>> {
    let filter = TaskFilter { statuses: vec![Status::Started], queue: Some(queue.clone()), ..TaskFilter::default() };
    Ok(app.engine.list(ListRequest { filter, limit, cursor: None }).await?.tasks)
}
