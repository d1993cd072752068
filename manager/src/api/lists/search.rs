//! Lists that show more of a task than the store's lists do, or that are filtered by it.
//!
//! A store's list omits parameters, result and errors, and no store reads parameters. So each listed task is read as a
//! whole here. One request reads a bounded amount: by tasks, by time, and by the bytes of its answer.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use jobbers_api::{
    problem::{Code, Problem, Result},
    task::{condition::Condition, list::Included},
};
use jobbers_common::{
    engine::{Engine, Error, ListRequest, TaskFilter, reads::validate_limit},
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
pub(in crate::api) struct Search {
    pub(in crate::api) filter: TaskFilter,
    /// The conditions, all of which must hold.
    pub(in crate::api) conditions: Vec<Condition>,
    pub(in crate::api) included: Included,
    /// Most tasks of the answer.
    pub(in crate::api) limit: usize,
}

/// How much one request reads.
#[derive(Debug, Clone, Copy)]
struct SearchBounds {
    tasks: u64,
    time: Duration,
    /// The bytes included in the answer. One task is returned, whatever its size.
    bytes: usize,
}

const BOUNDS: SearchBounds = SearchBounds { tasks: 10_000, time: Duration::from_secs(2), bytes: 8 * 1024 * 1024 };

/// How many bytes are read for a piece of the answer, unless a single task has more.
const PIECE_BYTES: usize = 512 * 1024;

/// A search that is answered piece by piece, so that it holds no more than a piece of its answer.
#[derive(Debug)]
pub(in crate::api) struct Walk {
    search: Search,
    bounds: SearchBounds,
    start: Instant,
    found: usize,
    bytes_left: usize,
    /// How many tasks are listed at a time.
    chunk: usize,
    pub(in crate::api) end: SearchEnd,
    pub(in crate::api) is_over: bool,
}

/// Where a search ended.
#[derive(Debug, Default)]
pub(in crate::api) struct SearchEnd {
    /// Where to continue; `None` at the end.
    pub(in crate::api) next: Option<String>,
    /// How many tasks were read.
    pub(in crate::api) scanned: u64,
    /// Whether the search ended before the page was full, because of its bounds.
    pub(in crate::api) gave_up: bool,
}

/// The tasks of one chunk to return.
struct ExaminedTasks {
    tasks: Vec<Task>,
    bytes: usize,
    /// After how many tasks of the chunk the piece was full, if it was.
    full_after: Option<usize>,
}

/// How much a piece may hold.
#[derive(Debug, Clone, Copy)]
struct PieceRoom {
    tasks: usize,
    bytes: usize,
    /// The bytes that its first task may have.
    first: usize,
}

impl Search {
    /// The way to up to `limit` tasks that match, from `cursor` on.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for conditions that no task can fulfil.
    pub(in crate::api) fn walk(self, cursor: Option<String>) -> Result<Walk> {
        self.walk_within(BOUNDS, cursor)
    }

    fn walk_within(self, bounds: SearchBounds, cursor: Option<String>) -> Result<Walk> {
        validate_limit(self.limit).map_err(refused)?;
        self.check_conditions()?;
        Ok(Walk {
            search: self,
            bounds,
            start: Instant::now(),
            found: 0,
            bytes_left: bounds.bytes,
            chunk: CHUNK,
            end: SearchEnd { next: cursor, ..SearchEnd::default() },
            is_over: false,
        })
    }

    fn check_conditions(&self) -> Result<()> {
        match self.conditions.len() {
            0..=MOST_CONDITIONS => Ok(()),
            number => {
                let detail = format!("the query: where: at most {MOST_CONDITIONS} conditions, not {number}");
                Err(Problem::new(Code::InvalidParameter, detail))
            }
        }
    }

    /// Reads listed tasks as a whole and keeps those that match, as far as there is room. Omits tasks that are gone since
    /// they were listed, or no longer match.
    async fn examine(&self, engine: &dyn Engine, listed: &[Task], room: PieceRoom) -> Result<ExaminedTasks> {
        let read = |task: &Task| {
            let id = task.id.clone();
            async move { engine.get(&id).await }
        };
        let reads: Vec<_> = listed.iter().map(read).collect();
        let mut whole = stream::iter(reads).buffered(READERS).enumerate();
        let mut examined = ExaminedTasks { tasks: Vec::new(), bytes: 0, full_after: None };
        while let Some((index, task)) = whole.next().await {
            let Some(task) = task?.filter(|task| self.matches(task)) else { continue };
            let task = cut(task, self.included);
            let size = size_of(&task);
            let most = if examined.tasks.is_empty() { room.first } else { room.bytes };
            if examined.bytes + size > most {
                examined.full_after = Some(index);
                break;
            }
            examined.bytes += size;
            examined.tasks.push(task);
            if examined.tasks.len() == room.tasks {
                examined.full_after = Some(index + 1);
                break;
            }
        }
        Ok(examined)
    }

    fn matches(&self, task: &Task) -> bool {
        // Who may not see parameters must not find them by guessing.
        let parameters = task.parameters.as_ref().filter(|_| !task.metadata.is_sensitive());
        self.filter.matches(task) && Condition::all_hold(&self.conditions, parameters)
    }
}

/// A limit or cursor that the store refuses came from the query.
fn refused(error: Error) -> Problem {
    Problem::from(error).recode(Code::InvalidRequest, Code::InvalidParameter)
}

impl Walk {
    /// The next tasks; none only at the end.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for a cursor that the store refuses; those of the store.
    pub(in crate::api) async fn piece(&mut self, engine: &dyn Engine) -> Result<Vec<Task>> {
        let mut shortened = None;
        while !self.is_over {
            let room = self.room();
            let size =
                shortened.unwrap_or(if self.search.conditions.is_empty() { room.tasks.min(self.chunk) } else { CHUNK });
            let request =
                ListRequest { filter: self.search.filter.clone(), limit: size, cursor: self.end.next.clone() };
            let page = engine.list(request).await.map_err(refused)?;
            let examined = self.search.examine(engine, &page.tasks, room).await?;
            match examined.full_after {
                Some(0) => {
                    self.is_over = true;
                    break;
                }
                // The same place is listed again, shorter, so that the cursor is where the piece ends.
                Some(after) if after < page.tasks.len() => {
                    (shortened, self.chunk) = (Some(after), after);
                    continue;
                }
                _ => shortened = None,
            }
            self.note(&examined, page.tasks.len(), page.next);
            if !examined.tasks.is_empty() {
                return Ok(examined.tasks);
            }
        }
        Ok(Vec::new())
    }

    fn room(&self) -> PieceRoom {
        let first = if self.found == 0 { usize::MAX } else { self.bytes_left };
        PieceRoom { tasks: self.search.limit - self.found, bytes: self.bytes_left.min(PIECE_BYTES), first }
    }

    fn note(&mut self, examined: &ExaminedTasks, listed: usize, next: Option<String>) {
        self.found += examined.tasks.len();
        self.bytes_left = self.bytes_left.saturating_sub(examined.bytes);
        self.end.scanned += listed as u64;
        self.end.next = next;
        let is_full = self.found >= self.search.limit || self.end.next.is_none();
        self.end.gave_up =
            !is_full && (self.end.scanned >= self.bounds.tasks || self.start.elapsed() >= self.bounds.time);
        self.is_over = is_full || self.end.gave_up;
    }

    /// Ends the page here, because its answer can't go on; the next page continues.
    pub(in crate::api) fn stop(&mut self) {
        self.is_over = true;
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
        engine::{OnConflict, Submit, Tasks},
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

    async fn page(
        search: Search,
        bounds: SearchBounds,
        engine: &ModelEngine,
        cursor: Option<String>,
    ) -> (Vec<Task>, SearchEnd) {
        let mut walk = search.walk_within(bounds, cursor).unwrap();
        let mut tasks = Vec::new();
        while !walk.is_over {
            tasks.extend(walk.piece(engine).await.unwrap());
        }
        (tasks, walk.end)
    }

    /// All pages of a search: the ids on each.
    async fn pages(engine: &ModelEngine, conditions: &[&str], limit: usize, bounds: SearchBounds) -> Vec<Vec<String>> {
        let (mut cursor, mut pages) = (None, Vec::new());
        loop {
            let found = page(search(conditions, limit), bounds, engine, cursor).await;
            pages.push(found.0.iter().map(|task| task.id.to_string()).collect());
            cursor = found.1.next;
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
        let bounds = SearchBounds { tasks: 100, ..BOUNDS };
        let (tasks, first) = page(search(&["n=249"], 1), bounds, &engine, None).await;
        assert_eq!((tasks.len(), first.scanned, first.gave_up), (0, 100, true));
        let (_, second) = page(search(&["n=249"], 1), bounds, &engine, first.next).await;
        assert!(second.gave_up);
        let (tasks, third) = page(search(&["n=249"], 1), bounds, &engine, second.next).await;
        assert_eq!((tasks.len(), third.gave_up), (1, false));
        let hurried = SearchBounds { time: Duration::ZERO, ..BOUNDS };
        assert!(page(search(&["n=249"], 1), hurried, &engine, None).await.1.gave_up);
    }

    #[tokio::test]
    async fn an_answer_is_bounded_by_its_bytes_and_holds_one_task_at_least() {
        let engine = store_of(9).await;
        let each = r#"{"n":0,"even":false}"#.len();
        for (bytes, most) in [(2 * each, 2), (1, 1)] {
            let pages = pages(&engine, &[], 9, SearchBounds { bytes, ..BOUNDS }).await;
            assert_eq!(pages.concat().len(), 9);
            assert!(pages.iter().all(|page| page.len() <= most), "{pages:?}");
        }
    }

    #[test]
    fn the_number_of_conditions_is_bounded() {
        search(&["n=1"; MOST_CONDITIONS], 1).check_conditions().unwrap();
        search(&["n=1"; MOST_CONDITIONS + 1], 1).check_conditions().unwrap_err();
    }
}
