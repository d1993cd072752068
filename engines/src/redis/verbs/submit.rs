//! Accepting submissions. Callers that come while a call is under way share the next one.
//!
//! Submissions wait in line (`line.rs`) while a few calls are under way, and then go together. Each submission stays all or
//! nothing, and another's refusal does not affect it. `submit/wire.rs` has the arguments and the answers of the script.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jobbers_common::{
    engine::{Error, Result, Submit, Submitted},
    limits::MAX_BATCH,
    task::NewTask,
};
use redis::Value;
use tokio::sync::oneshot;

pub(super) use self::wire::start_argument;
use self::wire::{AnswerKey, TaskRun, encode, mode_of, read_answer, read_single_answers, write_group};
use crate::redis::{
    kernel::{reply::array, script},
    server::{
        failure::malformed,
        line::{Line, Request},
        pressure::{self, TASK_BYTES},
        store::Store,
    },
};

pub(crate) mod encoded;
mod wire;

/// Submissions of several callers share a call up to this number of bytes, so that it is sent and answered within the
/// time for an answer. The submission of a single caller is never divided.
const SHARED_BYTES: usize = 4 * 1024 * 1024;
/// Submissions of several callers share a call with at most this number of runs of similar tasks, which may all be for
/// different queues: a run costs the server more than a task. The submission of a single caller is never divided.
const SHARED_RUNS: usize = 250;
/// A batch whose tasks change the queue more often than this is sent queue by queue: a run costs as much as two tasks.
const RUNS_AS_GIVEN: usize = 20;

type SubmitAnswer = Result<Vec<Submitted>>;

/// One caller's tasks, ready to be sent.
#[derive(Debug)]
struct CallerTasks {
    tasks: Vec<AnswerKey>,
    /// Whether it has a unique key or a dependency: then it goes in a call of its own, whose tasks are judged together.
    goes_alone: bool,
    /// The action for ids that are taken, as the script reads it.
    mode: u8,
    runs: Vec<TaskRun>,
    /// Its size in bytes.
    bytes: usize,
    answer: oneshot::Sender<SubmitAnswer>,
}

/// The tasks of one group of the script: one caller's tasks, or single tasks of many callers that form one run. A
/// separate group would cost the server more than the task in it.
type SharedGroup = Vec<CallerTasks>;

/// The queue of submissions.
#[derive(Debug)]
pub(crate) struct Submitter {
    line: Line<CallerTasks>,
}

impl Request for CallerTasks {
    type Sender = Store;

    fn fitting(line: &[Self]) -> usize {
        fitting(line)
    }

    async fn send(store: &Store, call: Vec<Self>) {
        send(store, call).await;
    }
}

impl Submitter {
    /// Opens the queue; it closes when this is dropped.
    pub(crate) fn start(store: Arc<Store>) -> Self {
        Self { line: Line::start(store) }
    }

    /// Submits one caller's tasks.
    pub(crate) async fn submit(&self, batch: Submit) -> SubmitAnswer {
        batch.validate()?;
        let goes_alone = batch.tasks.iter().any(|task| task.unique.is_some() || task.is_linked());
        let (tasks, places) = if goes_alone { (batch.tasks, None) } else { gather_by_queue(batch.tasks) };
        let (mode, runs) = (mode_of(batch.on_conflict), encode(&tasks)?);
        let tasks = tasks.into_iter().map(AnswerKey::from).collect();
        let (answer, answered) = oneshot::channel();
        let gone = || Error::unavailable("the engine is shutting down");
        let bytes = runs.iter().map(TaskRun::bytes).sum();
        let group = CallerTasks { tasks, goes_alone, mode, runs, bytes, answer };
        self.line.enter(group).await;
        match answered.await.map_err(|_| gone())? {
            // A server that was emptied knows no queue at all.
            Err(Error::UnknownQueue(_)) if self.line.sender.prepare().await? => {
                Err(Error::unavailable("Redis lost its data; the store has been created again"))
            }
            answer => Ok(as_given(answer?, places)),
        }
    }
}

/// Groups the tasks of a batch with many runs by queue, and returns the places they had. Within its queue each task
/// keeps its order.
fn gather_by_queue(tasks: Vec<NewTask>) -> (Vec<NewTask>, Option<Vec<usize>>) {
    if tasks.chunk_by(|a, b| a.queue == b.queue).count() <= RUNS_AS_GIVEN {
        return (tasks, None);
    }
    let mut numbered: Vec<(usize, NewTask)> = tasks.into_iter().enumerate().collect();
    numbered.sort_by(|(_, a), (_, b)| a.queue.cmp(&b.queue));
    let (places, tasks): (Vec<_>, Vec<_>) = numbered.into_iter().unzip();
    (tasks, Some(places))
}

/// Returns answers in the order in which the tasks were given.
fn as_given(submitted: Vec<Submitted>, places: Option<Vec<usize>>) -> Vec<Submitted> {
    let Some(places) = places else { return submitted };
    let mut numbered: Vec<_> = places.into_iter().zip(submitted).collect();
    numbered.sort_unstable_by_key(|(place, _)| *place);
    numbered.into_iter().map(|(_, submitted)| submitted).collect()
}

/// How many groups from the front go into one call: at most [`MAX_BATCH`] tasks, [`SHARED_RUNS`] and [`SHARED_BYTES`],
/// and no id twice; a group with unique keys or dependencies goes alone. At least one.
fn fitting(line: &[CallerTasks]) -> usize {
    if let [_] = line {
        return 1;
    }
    let (mut seen, mut of_singles) = (HashSet::with_capacity(line.len()), HashSet::new());
    let (mut last, mut runs, mut bytes) = (None, 0, 0);
    for (place, group) in line.iter().enumerate() {
        bytes += group.bytes;
        runs += match group.runs.as_slice() {
            // Similar single tasks become one run, and most are similar to the one before.
            [run] if run.count == 1 => {
                let head = Some((group.mode, &run.head));
                let is_new = last != head && of_singles.insert(head);
                last = head;
                usize::from(is_new)
            }
            several => several.len(),
        };
        let fits = seen.len() + group.tasks.len() <= MAX_BATCH
            && runs <= SHARED_RUNS
            && bytes <= SHARED_BYTES
            && !group.goes_alone;
        if !fits || !group.tasks.iter().all(|task| seen.insert(task.id.as_str())) {
            return place.max(1);
        }
    }
    line.len()
}

async fn send(store: &Store, groups: Vec<CallerTasks>) {
    let shared = share(groups);
    let build = |_| {
        let mut command = store.command(&script::SUBMIT);
        command.arg(shared.len());
        for shared_group in &shared {
            let runs: Vec<&[TaskRun]> = shared_group.iter().map(|group| group.runs.as_slice()).collect();
            write_group(shared_group.first().map_or(b'f', |group| group.mode), &runs, &mut command);
        }
        command
    };
    let tasks = shared.iter().flatten();
    let growth = tasks.map(|group| group.bytes + TASK_BYTES * group.tasks.len()).sum();
    let answers = pressure::call(store, &script::SUBMIT, growth, &build).await.and_then(array);
    match answers {
        Ok(answers) if answers.len() == shared.len() => {
            shared.into_iter().zip(answers).for_each(|(shared_group, answer)| answer_callers(shared_group, answer));
        }
        outcome => {
            let error = outcome.err().unwrap_or_else(|| malformed("expected one answer per group"));
            shared.into_iter().flatten().for_each(|group| drop(group.answer.send(Err(error.clone()))));
        }
    }
}

/// Combines single tasks that differ in nothing the script must know.
fn share(groups: Vec<CallerTasks>) -> Vec<SharedGroup> {
    let mut shared: Vec<SharedGroup> = Vec::with_capacity(groups.len());
    let mut of_singles = HashMap::new();
    let mut last = None;
    for group in groups {
        let place = match group.runs.as_slice() {
            // Most often similar to the previous one.
            [run] if run.count == 1 => match last.filter(|place| has_head(shared.get(*place), group.mode, run)) {
                Some(place) => place,
                None => *of_singles.entry((group.mode, run.head.clone())).or_insert(shared.len()),
            },
            _ => shared.len(),
        };
        last = group.runs.first().is_some_and(|run| run.count == 1).then_some(place);
        match shared.get_mut(place) {
            Some(shared_group) => shared_group.push(group),
            None => shared.push(vec![group]),
        }
    }
    shared
}

/// Whether a single task differs from those of a shared group in nothing the script must know.
fn has_head(shared_group: Option<&SharedGroup>, mode: u8, run: &TaskRun) -> bool {
    let Some([first, ..]) = shared_group.map(Vec::as_slice) else { return false };
    first.mode == mode
        && matches!(first.runs.as_slice(), [of_first] if of_first.count == 1 && of_first.head == run.head)
}

/// Sends each caller of a shared group its own answer. A caller that is gone gets none.
fn answer_callers(mut shared_group: SharedGroup, answer: Value) {
    if let [_] = shared_group.as_slice() {
        shared_group.into_iter().for_each(|group| drop(group.answer.send(read_answer(answer.clone(), group.tasks))));
        return;
    }
    let tasks = shared_group.iter_mut().flat_map(|group| std::mem::take(&mut group.tasks)).collect();
    let mut answers = read_single_answers(answer, tasks).into_iter();
    for group in shared_group {
        let answer = answers.next().unwrap_or_else(|| Err(malformed("expected an answer per task")));
        group.answer.send(answer.map(|submitted| vec![submitted])).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jobbers_common::{
        engine::OnConflict,
        task::{NewTask, Start},
    };
    use jobbers_law::conformance::task;

    use super::*;

    /// A caller's task with this number, with this delay.
    fn single(number: u64, delay: u64) -> CallerTasks {
        let start = Start::After(Duration::from_secs(delay));
        let task = NewTask { start, ..task(&format!("t{number}")) };
        let runs = encode(std::slice::from_ref(&task)).unwrap();
        let bytes = runs.iter().map(TaskRun::bytes).sum();
        let (answer, _) = oneshot::channel();
        CallerTasks {
            tasks: vec![task.into()],
            goes_alone: false,
            mode: mode_of(OnConflict::Fail),
            runs,
            bytes,
            answer,
        }
    }

    #[test]
    fn a_shared_call_has_a_bounded_number_of_runs() {
        let line: Vec<CallerTasks> = (0..1_000).map(|n| single(n, n)).collect();
        assert_eq!(fitting(&line), SHARED_RUNS);
        let line: Vec<CallerTasks> = (0..1_000).map(|n| single(n, n % 2)).collect();
        assert_eq!(fitting(&line), 1_000, "those that are alike make one run");
    }
}
