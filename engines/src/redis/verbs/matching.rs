//! Which tasks match a filter by their latest errors, which views omit.

use jobbers_common::{
    engine::{Result, TaskFilter},
    task::Task,
};
use redis::Cmd;

use crate::redis::{
    kernel::{
        errors::read_errors,
        reply::{array, bytes},
        script,
    },
    server::store::Store,
};

/// The number of tasks whose errors one script returns.
const TASKS_A_PIECE: usize = 200;

/// Those of some tasks whose latest error matches.
pub(crate) async fn by_error<T: AsRef<Task> + Sync>(
    store: &Store,
    filter: &TaskFilter,
    tasks: Vec<T>,
) -> Result<Vec<T>> {
    if filter.error.is_none() {
        return Ok(tasks);
    }
    let mut latest = Vec::with_capacity(tasks.len());
    for some in tasks.chunks(TASKS_A_PIECE) {
        let add = |command: &mut Cmd| {
            some.iter().for_each(|task| {
                command.arg(task.as_ref().id.as_str());
            });
        };
        for history in array(store.run(&store.bulk, &script::LATEST_ERRORS, add).await?)? {
            latest.push(read_errors(&bytes(history)?)?.pop());
        }
    }
    let with_errors = tasks.into_iter().zip(latest);
    Ok(with_errors
        .filter(|(task, error)| filter.matches_error(task.as_ref(), error.as_ref()))
        .map(|(task, _)| task)
        .collect())
}
