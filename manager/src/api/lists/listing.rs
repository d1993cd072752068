//! Reads lists of the store, which may return short pages.

use std::time::{Duration, Instant};

use jobbers_api::problem::{Code, Problem, Result};
use jobbers_common::{
    engine::{Engine, Error, ListRequest, Page, QueueListRequest, QueueStats, TaskFilter, reads::validate_limit},
    task::Task,
};

/// Most calls of the store for one page; a page that is still short then is returned short.
const MAX_CALLS: usize = 20;
/// After this time the store is not called again for a page, which is then returned short. Without a queue, and with
/// few matches, each call may check hundreds of queues.
const PATIENCE: Duration = Duration::from_millis(200);
/// With more queues than this, tasks of all queues are not counted for a page.
const COUNTED_QUEUES: usize = 100;

/// Up to `limit` tasks that match and that `wanted` keeps, and where to continue.
pub(in crate::api) async fn fill(
    engine: &dyn Engine,
    filter: TaskFilter,
    limit: usize,
    cursor: Option<String>,
    wanted: impl Fn(&Task) -> bool,
) -> Result<Page> {
    fill_within(PATIENCE, engine, filter, limit, cursor, wanted).await
}

async fn fill_within(
    patience: Duration,
    engine: &dyn Engine,
    filter: TaskFilter,
    limit: usize,
    cursor: Option<String>,
    wanted: impl Fn(&Task) -> bool,
) -> Result<Page> {
    let start = Instant::now();
    // A limit or cursor that the store refuses came from the query.
    let refused = |error: Error| Problem::from(error).recode(Code::InvalidRequest, Code::InvalidParameter);
    validate_limit(limit).map_err(refused)?;
    let mut filled = Page { tasks: Vec::new(), next: cursor };
    for _ in 0..MAX_CALLS {
        let request =
            ListRequest { filter: filter.clone(), limit: limit - filled.tasks.len(), cursor: filled.next.take() };
        let page = engine.list(request).await.map_err(refused)?;
        filled.tasks.extend(page.tasks.into_iter().filter(|task| wanted(task)));
        filled.next = page.next;
        if filled.tasks.len() >= limit || filled.next.is_none() || start.elapsed() >= patience {
            break;
        }
    }
    Ok(filled)
}

/// How many tasks match in all, for the first page of a list. The store counts tasks by queue and status, so a filter that
/// restricts more, or the tasks of very many queues, are not counted.
pub(in crate::api) async fn total(
    engine: &dyn Engine,
    filter: &TaskFilter,
    cursor: Option<&str>,
) -> Result<Option<u64>> {
    let TaskFilter { statuses, queue, .. } = filter.clone();
    if cursor.is_some() || (TaskFilter { statuses, queue, ..TaskFilter::default() }) != *filter {
        return Ok(None);
    }
    let count = |stats: &QueueStats| -> u64 {
        stats.tasks.iter().filter(|(status, _)| filter.wants(**status)).map(|(_, tasks)| tasks).sum()
    };
    if let Some(queue) = &filter.queue {
        return match engine.queue_stats(queue).await {
            Ok(stats) => Ok(Some(count(&stats))),
            // The list of a queue that does not exist is empty.
            Err(Error::UnknownQueue(_)) => Ok(Some(0)),
            Err(error) => Err(error.into()),
        };
    }
    let page = engine.list_queues(QueueListRequest { after: None, limit: COUNTED_QUEUES }).await?;
    Ok(page.next.is_none().then(|| page.queues.iter().map(count).sum()))
}

#[cfg(test)]
mod tests {
    use jobbers_common::{
        engine::{OnConflict, Queues, Submit, Tasks},
        name::{QueueName, TaskId, TaskName},
        payload::Payload,
        task::NewTask,
    };
    use jobbers_law::model::ModelEngine;

    use super::*;

    async fn five_tasks() -> ModelEngine {
        let engine = ModelEngine::with_system_clock();
        let task = |n| {
            let (id, name) = (TaskId::new(format!("t{n}")).unwrap(), TaskName::new("t").unwrap());
            NewTask::new(id, name, QueueName::new("default").unwrap(), Payload::json(&b"1"[..]))
        };
        let tasks = (0..5).map(task).collect();
        engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
        engine
    }

    #[tokio::test]
    async fn a_total_is_counted_over_a_bounded_number_of_queues() {
        let engine = five_tasks().await;
        let all = TaskFilter::default();
        assert_eq!(total(&engine, &all, None).await.unwrap(), Some(5));
        let names: Vec<QueueName> = (0..COUNTED_QUEUES).map(|n| QueueName::new(format!("q{n}")).unwrap()).collect();
        engine.create_queues(&names).await.unwrap();
        assert_eq!(total(&engine, &all, None).await.unwrap(), None);
        let one = TaskFilter { queue: Some(QueueName::new("default").unwrap()), ..TaskFilter::default() };
        assert_eq!(total(&engine, &one, None).await.unwrap(), Some(5));
    }

    #[tokio::test]
    async fn a_page_that_takes_long_is_answered_short_and_goes_on_where_it_ended() {
        let engine = five_tasks().await;
        let is_last = |task: &Task| task.id.as_str() == "t4";
        let filter = TaskFilter::default;
        let patient = fill_within(Duration::MAX, &engine, filter(), 1, None, is_last).await.unwrap();
        assert_eq!(patient.tasks.len(), 1, "five calls of the store found it");
        let (mut cursor, mut pages) = (None, 0);
        loop {
            let page = fill_within(Duration::ZERO, &engine, filter(), 1, cursor, is_last).await.unwrap();
            pages += 1;
            if !page.tasks.is_empty() {
                break;
            }
            cursor = Some(page.next.expect("it was not reached yet"));
        }
        assert_eq!(pages, 5, "one call each");
    }
}
