//! The arguments of `scripts/verbs/submit.lua`, and its answers.

use std::{collections::HashSet, time::Duration};

use jobbers_common::{
    dependency::{Dependency, signal::AwaitedSignal},
    engine::{ConflictReason, Error, OnConflict, Result, Submitted, SubmittedHow},
    lifecycle::Status,
    limits::DEPENDENCIES_A_PIECE,
    name::{QueueName, TaskId},
    submission::batch::linked_later,
    task::{NewTask, Start, unique::UniqueKey},
    time::micros,
};
use redis::{Cmd, Value};

use crate::redis::{
    follow::unique,
    kernel::{
        record,
        reply::{array, number, text},
        values::status_of,
    },
    server::failure::malformed,
};

/// The parts of a task that are needed to read its answer.
#[derive(Debug)]
pub(super) struct AnswerKey {
    pub(super) id: TaskId,
    queue: QueueName,
    key: Option<UniqueKey>,
}

impl From<NewTask> for AnswerKey {
    fn from(task: NewTask) -> Self {
        Self { id: task.id, queue: task.queue, key: task.unique.map(|unique| unique.key) }
    }
}

/// Arguments of a script, one after the other.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash)]
pub(super) struct Arguments {
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

/// Tasks that differ in nothing the script must know: the common arguments, the number of tasks, and each of them.
#[derive(Debug)]
pub(super) struct TaskRun {
    pub(super) head: Arguments,
    pub(super) count: usize,
    tasks: Arguments,
}

impl TaskRun {
    /// Its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.head.bytes.len() + self.tasks.bytes.len()
    }
}

/// Forms runs of a caller's tasks, in their order.
pub(super) fn encode(tasks: &[NewTask]) -> Result<Vec<TaskRun>> {
    let named: HashSet<&TaskId> = tasks.iter().flat_map(|task| &task.depends_on).map(|edge| &edge.on).collect();
    let tasks: Vec<(&NewTask, bool)> = tasks.iter().zip(linked_later(tasks)).collect();
    let alike = tasks.chunk_by(|a, b| traits_of(a.0, a.1) == traits_of(b.0, b.1));
    let runs = alike.filter_map(|tasks| Some((tasks.first()?, tasks)));
    runs.map(|(first, tasks)| encode_run(first, tasks, &named)).collect()
}

/// What the script must know about tasks besides their records.
type Traits<'a> = (&'a QueueName, u8, Start, [bool; 6]);

/// The same for one task: its queue, priority and start; whether its parameters are large, it has a unique key, it
/// waits for others or for signals, its client chose its id, it waits for signals, and its edges are stored later.
fn traits_of(task: &NewTask, is_pieced: bool) -> Traits<'_> {
    let (is_unique, is_signalled) = (task.unique.is_some(), !task.signals.is_empty());
    let flags = [record::is_large(task), is_unique, task.is_linked(), task.id_is_chosen, is_signalled, is_pieced];
    (&task.queue, task.priority.get(), task.start, flags)
}

fn encode_run(first: &(&NewTask, bool), tasks: &[(&NewTask, bool)], named: &HashSet<&TaskId>) -> Result<TaskRun> {
    let mut written = Arguments::default();
    for (task, is_pieced) in tasks {
        written.push(task.id.as_str().as_bytes());
        let core_at = written.bytes.len();
        record::encode(task, &mut written.bytes)?;
        if task.is_linked() || named.contains(&task.id) {
            record::mark_linked(&mut written.bytes[core_at..], task.is_spontaneous);
        }
        written.ends.push(written.bytes.len());
        if record::is_large(task) {
            written.push(&task.parameters.bytes);
        }
        if let Some(unique) = &task.unique {
            let said = unique::said(&task.name, unique);
            written.push(format!("{}{said}", unique::letter(unique.on_duplicate)).as_bytes());
        }
        if !task.signals.is_empty() {
            let signal = |AwaitedSignal { name, timeout, on_timeout }: &AwaitedSignal| {
                format!("{}{:016}{name}\0", on_timeout.code(), timeout.map_or(0, micros))
            };
            written.push(task.signals.iter().map(signal).collect::<String>().as_bytes());
        }
        if task.is_linked() {
            let edges = |edges: &[Dependency]| -> String {
                edges.iter().map(|edge| format!("{}{}\0", edge.policy.code(), edge.on)).collect()
            };
            let pieces = task.depends_on.chunks(DEPENDENCIES_A_PIECE).map(|piece| edges(piece) + "\u{1}");
            written.push(
                match is_pieced {
                    true => format!("{:06}{}", task.depends_on.len(), pieces.collect::<String>()).into_bytes(),
                    false => edges(&task.depends_on).into_bytes(),
                }
                .as_slice(),
            );
        }
    }
    let (queue, priority, start, flags) = traits_of(first.0, first.1);
    let mut head = Arguments::default();
    head.push(queue.as_str().as_bytes());
    head.push(&[b'0' + priority]);
    head.push(start_argument(start).as_bytes());
    let letters = flags.into_iter().zip(*b"ludcsw");
    head.push(&letters.filter_map(|(is, letter)| is.then_some(letter)).collect::<Vec<u8>>());
    Ok(TaskRun { head, count: tasks.len(), tasks: written })
}

/// When tasks may start, as the scripts read it.
pub(crate) fn start_argument(start: Start) -> String {
    match start {
        Start::Now => String::new(),
        Start::After(delay) => format!("a{}", micros(delay)),
        Start::At(at) => format!("t{}", at.as_micros()),
    }
}

/// The action for ids that are taken.
pub(super) const fn mode_of(on_conflict: OnConflict) -> u8 {
    match on_conflict {
        OnConflict::Fail => b'f',
        OnConflict::Skip => b's',
        OnConflict::Replace => b'r',
    }
}

/// Writes a group: the runs of one caller; or one run of several callers, each with one task, that share a head.
pub(super) fn write_group(mode: u8, callers: &[&[TaskRun]], command: &mut Cmd) {
    let [first, others @ ..] = callers else { return };
    command.arg(&[if others.is_empty() { mode } else { mode.to_ascii_uppercase() }]).arg(first.len());
    for run in *first {
        run.head.write_to(command);
        command.arg(run.count + others.len());
        run.tasks.write_to(command);
    }
    others.iter().copied().flatten().for_each(|run| run.tasks.write_to(command));
}

/// Reads the results for one caller's tasks.
pub(super) fn read_answer(answer: Value, tasks: Vec<AnswerKey>) -> Result<Vec<Submitted>> {
    let (letters, mut words) = match read_reply(answer, tasks.len())? {
        GroupReply::Conflict(mut words) => return Err(read_conflict(&mut words, tasks)?),
        GroupReply::Duplicate(mut words) => return Err(read_duplicate(&mut words, tasks)?),
        GroupReply::Predecessor(mut words) => {
            let AnswerKey { id, .. } = read_place(&mut words, tasks)?;
            return Err(Error::UnknownPredecessor { id, predecessor: task_id(&mut words)? });
        }
        GroupReply::Letters(letters, words) => (letters, words),
    };
    letters.bytes().zip(tasks).map(|(letter, task)| read_letter(letter, task, &mut words)).collect()
}

/// Reads the results for tasks of as many callers.
pub(super) fn read_single_answers(answer: Value, tasks: Vec<AnswerKey>) -> Vec<Result<Submitted>> {
    match read_reply(answer, tasks.len()) {
        Ok(GroupReply::Letters(letters, mut words)) => {
            letters.bytes().zip(tasks).map(|(letter, task)| read_letter(letter, task, &mut words)).collect()
        }
        Ok(GroupReply::Conflict(_) | GroupReply::Duplicate(_) | GroupReply::Predecessor(_)) => {
            tasks.iter().map(|_| Err(malformed("expected a letter per task"))).collect()
        }
        Err(error) => tasks.iter().map(|_| Err(error.clone())).collect(),
    }
}

type Words = std::vec::IntoIter<Value>;

/// The script's reply for a group.
enum GroupReply {
    /// A letter for each task, and the words that belong to some letters.
    Letters(String, Words),
    /// The id of one task is taken, so the whole group is refused.
    Conflict(Words),
    /// A unique key is held, so the whole group is refused.
    Duplicate(Words),
    /// A task waits for one that does not exist.
    Predecessor(Words),
}

fn read_reply(answer: Value, count: usize) -> Result<GroupReply> {
    if let Value::Int(1) = answer {
        return Ok(GroupReply::Letters("c".repeat(count), Words::default()));
    }
    let mut words = array(answer)?.into_iter();
    let first = text(next(&mut words))?;
    match first.as_str() {
        "queue" => Err(Error::UnknownQueue(queue_name(&mut words)?)),
        "full" => {
            let queue = queue_name(&mut words)?;
            Err(Error::QueueFull { queue, max_length: number(next(&mut words))? })
        }
        "heavy" => {
            let queue = queue_name(&mut words)?;
            Err(Error::QueueBytesFull { queue, max_bytes: number(next(&mut words))? })
        }
        "rate" => Err(Error::RateLimited { queue: queue_name(&mut words)?, retry_after: wait(&mut words)? }),
        "burst" => {
            let (queue, tasks) = (queue_name(&mut words)?, number(next(&mut words))?);
            let burst = u32::try_from(number(next(&mut words))?).unwrap_or(u32::MAX);
            Err(Error::over_burst(&queue, usize::try_from(tasks).unwrap_or(usize::MAX), burst))
        }
        "length" => {
            let (queue, tasks) = (queue_name(&mut words)?, number(next(&mut words))?);
            let max_length = number(next(&mut words))?;
            Err(Error::over_length(&queue, usize::try_from(tasks).unwrap_or(usize::MAX), max_length))
        }
        "conflict" => Ok(GroupReply::Conflict(words)),
        "duplicate" => Ok(GroupReply::Duplicate(words)),
        "predecessor" => Ok(GroupReply::Predecessor(words)),
        _ => Ok(GroupReply::Letters(first, words)),
    }
}

fn read_conflict(words: &mut Words, tasks: Vec<AnswerKey>) -> Result<Error> {
    let AnswerKey { id, .. } = read_place(words, tasks)?;
    let status = status_word(words)?;
    let started = next(words) == Value::BulkString(b"s".to_vec());
    let reason = if started { ConflictReason::Started } else { ConflictReason::BodyDiffers };
    Ok(Error::Conflict { id, status, reason })
}

fn read_duplicate(words: &mut Words, tasks: Vec<AnswerKey>) -> Result<Error> {
    let AnswerKey { id, key, .. } = read_place(words, tasks)?;
    let key = key.ok_or_else(|| malformed("expected a task with a unique key"))?;
    Ok(Error::Duplicate { id, key, holder: task_id(words)?, status: status_word(words)? })
}

fn read_place(words: &mut Words, tasks: Vec<AnswerKey>) -> Result<AnswerKey> {
    let place = usize::try_from(number(next(words))?).unwrap_or(usize::MAX);
    tasks.into_iter().nth(place).ok_or_else(|| malformed("expected the place of a task"))
}

fn read_letter(letter: u8, task: AnswerKey, words: &mut Words) -> Result<Submitted> {
    let AnswerKey { id, queue, .. } = task;
    let (status, how) = match letter {
        b'c' => (Status::Submitted, SubmittedHow::Created),
        b'd' => (Status::Scheduled, SubmittedHow::Created),
        b'r' => (Status::Submitted, SubmittedHow::Replaced),
        b'p' => (Status::Scheduled, SubmittedHow::Replaced),
        b'C' => return read_whole(SubmittedHow::Created, words),
        b'R' => return read_whole(SubmittedHow::Replaced, words),
        b'E' => return read_whole(SubmittedHow::Existing, words),
        b'U' => return read_whole(SubmittedHow::Updated, words),
        b'e' => {
            let queue = queue_name(words)?;
            return Ok(Submitted { id, queue, status: status_word(words)?, how: SubmittedHow::Existing });
        }
        b'b' => {
            return Err(Error::Conflict { id, status: status_word(words)?, reason: ConflictReason::BodyDiffers });
        }
        b'f' => return Err(Error::QueueFull { queue, max_length: number(next(words))? }),
        b'g' => return Err(Error::QueueBytesFull { queue, max_bytes: number(next(words))? }),
        b'q' => return Err(Error::RateLimited { queue, retry_after: wait(words)? }),
        b's' => return Err(Error::Conflict { id, status: status_word(words)?, reason: ConflictReason::Started }),
        _ => return Err(malformed("expected a known letter")),
    };
    Ok(Submitted { id, queue, status, how })
}

/// The answer when unique keys are involved: the task may be another one.
fn read_whole(how: SubmittedHow, words: &mut Words) -> Result<Submitted> {
    Ok(Submitted { id: task_id(words)?, queue: queue_name(words)?, status: status_word(words)?, how })
}

fn next(words: &mut Words) -> Value {
    words.next().unwrap_or(Value::Nil)
}

fn wait(words: &mut Words) -> Result<Duration> {
    Ok(Duration::from_micros(number(next(words))?))
}

fn status_word(words: &mut Words) -> Result<Status> {
    status_of(text(next(words))?.as_bytes())
}

fn task_id(words: &mut Words) -> Result<TaskId> {
    TaskId::new(text(next(words))?).map_err(|_| malformed("expected a task's id"))
}

fn queue_name(words: &mut Words) -> Result<QueueName> {
    QueueName::new(text(next(words))?).map_err(|_| malformed("expected a queue's name"))
}
