//! Lists that show more of a task than the store's lists do, or that are filtered by it.
//!
//! A store's list omits parameters, result and errors, and no store reads parameters. So each listed task is read as a
//! whole here. One request reads a bounded amount: by tasks, by time, and by the bytes of its answer.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use jobbers_api::{
    condition::Condition,
    problem::{Code, Problem, Result},
    task_list::Included,
};
use jobbers_common::{
    engine::{Engine, Error, ListRequest, TaskFilter, look::validate_limit},
    lifecycle::Status,
    task::Task,
};

/// Most conditions of one search.
const MOST_CONDITIONS: usize = 10;
/// The number of tasks listed per call.
const CHUNK: usize = 100;
/// The number of tasks read concurrently.
const READERS: usize = 16;

/// A search.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) filter: TaskFilter,
    /// The conditions, all of which must hold.
    pub(super) conditions: Vec<Condition>,
    pub(super) included: Included,
    /// Most tasks of the answer.
    pub(super) limit: usize,
}

/// How much one request reads.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    tasks: u64,
    time: Duration,
    /// The bytes included in the answer. One task is returned, whatever its size.
    bytes: usize,
}

const BOUNDS: Bounds = Bounds { tasks: 10_000, time: Duration::from_secs(2), bytes: 8 * 1024 * 1024 };

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) tasks: Vec<Task>,
    /// Where to continue; `None` at the end.
    pub(super) next: Option<String>,
    /// How many tasks were read.
    pub(super) scanned: u64,
    /// Whether the search ended before the page was full, because of its bounds.
    pub(super) gave_up: bool,
}

/// The tasks of one chunk to return.
struct Examined {
    tasks: Vec<Task>,
    bytes: usize,
    /// After how many tasks of the chunk the answer was full, if it was.
    full_after: Option<usize>,
}

impl Search {
    /// Up to `limit` tasks that match, from `cursor` on.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for conditions that no task can fulfil; those of the store.
    pub(super) async fn run(self, engine: &dyn Engine, cursor: Option<String>) -> Result<Found> {
        self.run_within(BOUNDS, engine, cursor).await
    }

    async fn run_within(mut self, bounds: Bounds, engine: &dyn Engine, cursor: Option<String>) -> Result<Found> {
        let start = Instant::now();
        let refused = |error: Error| Problem::from(error).recode(Code::InvalidRequest, Code::InvalidParameter);
        validate_limit(self.limit).map_err(refused)?;
        self.leave_completed_out()?;
        let mut found = Found { next: cursor, ..Found::default() };
        let (mut bytes_left, mut shortened) = (bounds.bytes, None);
        loop {
            let room = self.limit - found.tasks.len();
            let size = shortened.unwrap_or(if self.conditions.is_empty() { room.min(CHUNK) } else { CHUNK });
            let request = ListRequest { filter: self.filter.clone(), limit: size, cursor: found.next.clone() };
            let page = engine.list(request).await.map_err(refused)?;
            let may_be_large = found.tasks.is_empty();
            let examined = self.examine(engine, &page.tasks, room, bytes_left, may_be_large).await?;
            match examined.full_after {
                Some(0) => return Ok(found),
                // The same place is listed again, shorter, so that the cursor is where the answer ends.
                Some(after) if after < page.tasks.len() => {
                    shortened = Some(after);
                    continue;
                }
                _ => {}
            }
            found.scanned += page.tasks.len() as u64;
            found.tasks.extend(examined.tasks);
            found.next = page.next;
            bytes_left = bytes_left.saturating_sub(examined.bytes);
            let is_full = found.tasks.len() >= self.limit || shortened.is_some();
            if is_full || found.next.is_none() {
                return Ok(found);
            }
            if found.scanned >= bounds.tasks || start.elapsed() >= bounds.time {
                return Ok(Found { gave_up: true, ..found });
            }
        }
    }

    /// A task that completed keeps no parameters, so no condition holds for it.
    fn leave_completed_out(&mut self) -> Result<()> {
        let refused = |detail: String| Err(Problem::new(Code::InvalidParameter, detail));
        if self.conditions.is_empty() {
            return Ok(());
        }
        if self.conditions.len() > MOST_CONDITIONS {
            let number = self.conditions.len();
            return refused(format!("the query: where: at most {MOST_CONDITIONS} conditions, not {number}"));
        }
        let statuses = &mut self.filter.statuses;
        if statuses.is_empty() {
            *statuses = Status::ALL.to_vec();
        }
        statuses.retain(|status| *status != Status::Completed);
        if statuses.is_empty() {
            return refused("the query: where: a completed task keeps no parameters, so none can match".to_owned());
        }
        Ok(())
    }

    /// Reads listed tasks as a whole and keeps those that match, at most `room` and `bytes`. Omits tasks that are gone
    /// since they were listed, or no longer match.
    async fn examine(
        &self,
        engine: &dyn Engine,
        listed: &[Task],
        room: usize,
        bytes: usize,
        may_be_large: bool,
    ) -> Result<Examined> {
        let read = |task: &Task| {
            let id = task.id.clone();
            async move { engine.get(&id).await }
        };
        let reads: Vec<_> = listed.iter().map(read).collect();
        let mut whole = stream::iter(reads).buffered(READERS).enumerate();
        let mut examined = Examined { tasks: Vec::new(), bytes: 0, full_after: None };
        while let Some((index, task)) = whole.next().await {
            let Some(task) = task?.filter(|task| self.matches(task)) else { continue };
            let task = cut(task, self.included);
            let size = size_of(&task);
            let is_first = may_be_large && examined.tasks.is_empty();
            if examined.bytes + size > bytes && !is_first {
                examined.full_after = Some(index);
                break;
            }
            examined.bytes += size;
            examined.tasks.push(task);
            if examined.tasks.len() == room {
                examined.full_after = Some(index + 1);
                break;
            }
        }
        Ok(examined)
    }

    fn matches(&self, task: &Task) -> bool {
        self.filter.matches(task) && Condition::all_hold(&self.conditions, task.parameters.as_ref())
    }
}

/// The task without the parts that are not included.
fn cut(task: Task, included: Included) -> Task {
    Task {
        parameters: task.parameters.filter(|_| included.parameters),
        result: task.result.filter(|_| included.result),
        errors: if included.errors { task.errors } else { Vec::new() },
        checkpoint: None,
        ..task
    }
}

/// The bytes of the included parts.
fn size_of(task: &Task) -> usize {
    let payloads = [&task.parameters, &task.result].into_iter().flatten().map(|payload| payload.bytes.len());
    payloads.chain(task.errors.iter().map(|error| error.message.len())).sum()
}

#[cfg(test)]
mod tests {
    use jobbers_common::{
        engine::{OnConflict, Submit},
        name::{QueueName, TaskId, TaskName},
        payload::Payload,
        task::NewTask,
    };
    use jobbers_law::model::ModelEngine;

    use super::*;

    /// Tasks `t000`, `t001` and so on, whose parameters contain their number, and whether it is even.
    async fn store_of(tasks: usize) -> ModelEngine {
        let engine = ModelEngine::with_system_clock();
        let task = |n: usize| {
            let (id, name) = (TaskId::new(format!("t{n:03}")).unwrap(), TaskName::new("t").unwrap());
            let parameters = Payload::json(format!("{{\"n\":{n},\"even\":{}}}", n.is_multiple_of(2)).into_bytes());
            NewTask::new(id, name, QueueName::new("default").unwrap(), parameters)
        };
        let tasks = (0..tasks).map(task).collect();
        engine.submit(Submit { tasks, on_conflict: OnConflict::Fail }).await.unwrap();
        engine
    }

    fn search(conditions: &[&str], limit: usize) -> Search {
        let conditions = conditions.iter().map(|condition| condition.parse().unwrap()).collect();
        let included = Included { parameters: true, ..Included::default() };
        Search { filter: TaskFilter::default(), conditions, included, limit }
    }

    /// All pages of a search: the ids on each.
    async fn pages(engine: &ModelEngine, conditions: &[&str], limit: usize, bounds: Bounds) -> Vec<Vec<String>> {
        let (mut cursor, mut pages) = (None, Vec::new());
        loop {
            let found = search(conditions, limit).run_within(bounds, engine, cursor).await.unwrap();
            pages.push(found.tasks.iter().map(|task| task.id.to_string()).collect());
            cursor = found.next;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[tokio::test]
    async fn a_page_that_is_full_in_the_middle_of_a_list_goes_on_right_there() {
        let engine = store_of(250).await;
        let pages = pages(&engine, &["even=true"], 7, BOUNDS).await;
        let found: Vec<String> = pages.concat();
        let expected: Vec<String> = (0..250).step_by(2).map(|n| format!("t{n:03}")).collect();
        assert_eq!(found, expected);
        assert!(pages.iter().rev().skip(1).all(|page| page.len() == 7), "{pages:?}");
    }

    #[tokio::test]
    async fn a_search_that_looked_at_as_many_tasks_as_it_may_gives_up_and_goes_on_from_there() {
        let engine = store_of(250).await;
        let bounds = Bounds { tasks: 100, ..BOUNDS };
        let first = search(&["n=249"], 1).run_within(bounds, &engine, None).await.unwrap();
        assert_eq!((first.tasks.len(), first.scanned, first.gave_up), (0, 100, true));
        let second = search(&["n=249"], 1).run_within(bounds, &engine, first.next).await.unwrap();
        assert!(second.gave_up);
        let third = search(&["n=249"], 1).run_within(bounds, &engine, second.next).await.unwrap();
        assert_eq!((third.tasks.len(), third.gave_up), (1, false));
        let hurried = Bounds { time: Duration::ZERO, ..BOUNDS };
        assert!(search(&["n=249"], 1).run_within(hurried, &engine, None).await.unwrap().gave_up);
    }

    #[tokio::test]
    async fn an_answer_is_bounded_by_its_bytes_and_holds_one_task_at_least() {
        let engine = store_of(9).await;
        let each = r#"{"n":0,"even":false}"#.len();
        for (bytes, most) in [(2 * each, 2), (1, 1)] {
            let pages = pages(&engine, &[], 9, Bounds { bytes, ..BOUNDS }).await;
            assert_eq!(pages.concat().len(), 9);
            assert!(pages.iter().all(|page| page.len() <= most), "{pages:?}");
        }
    }

    #[tokio::test]
    async fn completed_tasks_are_not_looked_at() {
        let mut every = search(&["n=1"], 1);
        every.leave_completed_out().unwrap();
        assert!(!every.filter.wants(Status::Completed) && every.filter.wants(Status::Failed));
        let mut none = search(&["n=1"], 1);
        none.filter.statuses = vec![Status::Completed];
        none.leave_completed_out().unwrap_err();
        search(&["n=1"; 11], 1).leave_completed_out().unwrap_err();
    }
}
