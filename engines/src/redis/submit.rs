//! Taking tasks in. Callers that come while a call is under way share the next one.
//!
//! A server does the same work for a hundred tasks in one call as for a dozen in calls of their own, so submissions
//! wait in line while a few calls are in flight, and then go together: with one caller nothing waits, not even for
//! another task of the runtime, and batches form by themselves under load. Each submission stays all or nothing, and none is harmed by another's refusal.

use std::{collections::HashSet, sync::Arc};

use jobbers_common::{
    engine::{ConflictReason, Error, OnConflict, Result, Submit, Submitted, SubmittedHow},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId},
    task::{NewTask, Start},
    time::micros,
};
use redis::{Cmd, Value};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::{
    failure::malformed,
    record,
    reply::{array, number, text},
    script,
    state::status_of,
    store::Store,
};

/// Calls under way at a time. With two, one is prepared while the other runs.
const IN_FLIGHT: usize = 2;
/// Submissions that wait in line before their callers do.
const LINE: usize = 1_024;

type Answer = Result<Vec<Submitted>>;

/// One caller's tasks, ready to be sent.
#[derive(Debug)]
struct Group {
    ids: Vec<(TaskId, QueueName)>,
    arguments: Arguments,
    answer: oneshot::Sender<Answer>,
}

/// Arguments of a script, one after the other.
#[derive(Debug, Default)]
struct Arguments {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Arguments {
    fn push(&mut self, argument: &[u8]) {
        self.bytes.extend_from_slice(argument);
        self.ends.push(self.bytes.len());
    }

    fn write_to(&self, command: &mut Cmd) {
        let mut start = 0;
        for end in &self.ends {
            command.arg(&self.bytes[start..*end]);
            start = *end;
        }
    }
}

/// The line of submissions.
#[derive(Debug)]
pub(super) struct Submitter {
    store: Arc<Store>,
    line: mpsc::Sender<Group>,
    /// Fair: while the line waits for a permit, nobody slips in before it.
    in_flight: Arc<Semaphore>,
}

impl Submitter {
    /// Opens the line; it closes with this.
    pub(super) fn start(store: Arc<Store>) -> Self {
        let (line, groups) = mpsc::channel(LINE);
        let in_flight = Arc::new(Semaphore::new(IN_FLIGHT));
        tokio::spawn(serve(Arc::clone(&store), groups, Arc::clone(&in_flight)));
        Self { store, line, in_flight }
    }

    /// Submits one caller's tasks.
    pub(super) async fn submit(&self, batch: Submit) -> Answer {
        batch.validate()?;
        let arguments = encode(&batch)?;
        let ids = batch.tasks.into_iter().map(|task| (task.id, task.queue)).collect();
        let (answer, answered) = oneshot::channel();
        let gone = || Error::unavailable("the engine is shutting down");
        let group = Group { ids, arguments, answer };
        match self.in_flight.try_acquire() {
            Ok(_permit) => send(&self.store, vec![group]).await,
            Err(_) => self.line.send(group).await.map_err(|_| gone())?,
        }
        match answered.await.map_err(|_| gone())? {
            // A server that was emptied knows no queue at all.
            Err(Error::UnknownQueue(_)) if self.store.prepare().await? => {
                Err(Error::unavailable("Redis lost its data; the store has been set up anew"))
            }
            answer => answer,
        }
    }
}

async fn serve(store: Arc<Store>, mut groups: mpsc::Receiver<Group>, in_flight: Arc<Semaphore>) {
    let mut line = Vec::new();
    loop {
        // Once somebody waits, first the permission and then the rest of the line: what comes meanwhile goes along.
        if line.is_empty() && groups.recv_many(&mut line, MAX_BATCH).await == 0 {
            return;
        }
        let Ok(permit) = Arc::clone(&in_flight).acquire_owned().await else { return };
        while line.len() < MAX_BATCH
            && let Ok(group) = groups.try_recv()
        {
            line.push(group);
        }
        let rest = line.split_off(fitting(&line));
        let call = std::mem::replace(&mut line, rest);
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            send(&store, call).await;
            drop(permit);
        });
    }
}

/// How many groups from the front go into one call: at most [`MAX_BATCH`] tasks, and no id twice. At least one.
fn fitting(line: &[Group]) -> usize {
    if let [_] = line {
        return 1;
    }
    let mut seen = HashSet::new();
    for (place, group) in line.iter().enumerate() {
        let fits = seen.len() + group.ids.len() <= MAX_BATCH;
        if !fits || !group.ids.iter().all(|(id, _)| seen.insert(id.as_str())) {
            return place.max(1);
        }
    }
    line.len()
}

async fn send(store: &Store, groups: Vec<Group>) {
    let build = |_| {
        let mut command = store.command(&script::SUBMIT);
        command.arg(groups.len());
        groups.iter().for_each(|group| group.arguments.write_to(&mut command));
        command
    };
    let answers = store.bulk.call(Some(&script::SUBMIT), build).await.and_then(array);
    match answers {
        Ok(answers) if answers.len() == groups.len() => {
            for (group, answer) in groups.into_iter().zip(answers) {
                // A caller that is gone does not want to know.
                group.answer.send(read_answer(answer, group.ids)).ok();
            }
        }
        outcome => {
            let error = outcome.err().unwrap_or_else(|| malformed("one answer per group was due"));
            groups.into_iter().for_each(|group| drop(group.answer.send(Err(error.clone()))));
        }
    }
}

/// Tasks that differ in nothing the script must know.
#[derive(PartialEq, Eq)]
struct Run<'a> {
    queue: &'a QueueName,
    priority: u8,
    start: Start,
    large: bool,
}

impl<'a> Run<'a> {
    fn of(task: &'a NewTask) -> Self {
        Self { queue: &task.queue, priority: task.priority.get(), start: task.start, large: record::is_large(task) }
    }

    fn write(&self, count: usize, into: &mut Arguments) {
        into.push(self.queue.as_str().as_bytes());
        into.push(&[b'0' + self.priority]);
        match self.start {
            Start::Now => into.push(b""),
            Start::After(delay) => into.push(format!("a{}", micros(delay)).as_bytes()),
            Start::At(at) => into.push(format!("t{}", at.as_micros()).as_bytes()),
        }
        into.push(if self.large { b"1" } else { b"" });
        into.push(count.to_string().as_bytes());
    }
}

/// Writes a group as `scripts/submit.lua` reads it.
fn encode(batch: &Submit) -> Result<Arguments> {
    let mode = match batch.on_conflict {
        OnConflict::Fail => b"f",
        OnConflict::Skip => b"s",
        OnConflict::Replace => b"r",
    };
    let runs: Vec<&[NewTask]> = batch.tasks.chunk_by(|a, b| Run::of(a) == Run::of(b)).collect();
    let mut arguments = Arguments::default();
    arguments.push(mode);
    arguments.push(runs.len().to_string().as_bytes());
    for tasks in runs {
        let Some(first) = tasks.first() else { continue };
        Run::of(first).write(tasks.len(), &mut arguments);
        for task in tasks {
            arguments.push(task.id.as_str().as_bytes());
            record::encode(task, &mut arguments.bytes)?;
            arguments.ends.push(arguments.bytes.len());
            if record::is_large(task) {
                arguments.push(&task.parameters.bytes);
            }
        }
    }
    Ok(arguments)
}

fn read_answer(answer: Value, ids: Vec<(TaskId, QueueName)>) -> Answer {
    let created = |(id, queue)| Submitted { id, queue, status: Status::Submitted, how: SubmittedHow::Created };
    if let Value::Int(1) = answer {
        return Ok(ids.into_iter().map(created).collect());
    }
    let mut words = array(answer)?.into_iter();
    let first = text(words.next().ok_or_else(|| malformed("a verdict was due"))?)?;
    match first.as_str() {
        "queue" => {
            let name = text(words.next().unwrap_or(Value::Nil))?;
            Err(Error::UnknownQueue(QueueName::new(name).map_err(|_| malformed("a queue's name was due"))?))
        }
        "conflict" => {
            let place = usize::try_from(number(words.next().unwrap_or(Value::Nil))?).unwrap_or(usize::MAX);
            let (id, _) = ids.into_iter().nth(place).ok_or_else(|| malformed("the place of a task was due"))?;
            let status = status_of(text(words.next().unwrap_or(Value::Nil))?.as_bytes())?;
            let started = words.next() == Some(Value::BulkString(b"s".to_vec()));
            let reason = if started { ConflictReason::Started } else { ConflictReason::BodyDiffers };
            Err(Error::Conflict { id, status, reason })
        }
        letters => letters.bytes().zip(ids).map(|(letter, task)| read_letter(letter, task, &mut words)).collect(),
    }
}

fn read_letter(
    letter: u8,
    (id, queue): (TaskId, QueueName),
    existing: &mut impl Iterator<Item = Value>,
) -> Result<Submitted> {
    let (status, how) = match letter {
        b'c' => (Status::Submitted, SubmittedHow::Created),
        b'd' => (Status::Scheduled, SubmittedHow::Created),
        b'r' => (Status::Submitted, SubmittedHow::Replaced),
        b'p' => (Status::Scheduled, SubmittedHow::Replaced),
        _ => {
            let name = text(existing.next().unwrap_or(Value::Nil))?;
            let queue = QueueName::new(name).map_err(|_| malformed("a queue's name was due"))?;
            let status = status_of(text(existing.next().unwrap_or(Value::Nil))?.as_bytes())?;
            return Ok(Submitted { id, queue, status, how: SubmittedHow::Existing });
        }
    };
    Ok(Submitted { id, queue, status, how })
}
