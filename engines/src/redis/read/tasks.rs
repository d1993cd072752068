//! One task, and counts.

use std::time::Duration;

use jobbers_common::{
    engine::{
        DeadTask, Error, Probation, QueueListRequest, QueuePage, QueuePlace, QueueStats, Result, reads::validate_limit,
    },
    lifecycle::Status,
    name::{QueueName, TaskId},
    queue::gate::{Gate, ShutGate},
    task::{Task, suspicion::Suspicion},
    time::Timestamp,
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        record::read_suspicion,
        reply::{array, bytes, digits, number, text, tuple},
        script,
        state::read_task,
        values::{status_of, time},
    },
    server::{failure::malformed, store::Store},
    verbs::queues::{self, From},
};

/// The number of queues that one script counts.
const QUEUES_A_PIECE: usize = 100;

/// The whole task.
pub(crate) async fn get(store: &Store, id: &TaskId) -> Result<Option<Task>> {
    Ok(get_with_fingerprint(store, id).await?.map(|found| found.task))
}

/// The same, and the fingerprint of its submission.
pub(crate) async fn get_with_fingerprint(store: &Store, id: &TaskId) -> Result<Option<DeadTask>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    read_task(store.run(&store.work, &script::GET, add).await?)
}

/// The place of a ready task in its queue.
pub(crate) async fn place(store: &Store, id: &TaskId) -> Result<Option<QueuePlace>> {
    let add = |command: &mut Cmd| {
        command.arg(id.as_str());
    };
    let answer = store.run(&store.work, &script::PLACE, add).await?;
    if answer == Value::Nil {
        return Ok(None);
    }
    let mut words = array(answer)?.into_iter();
    let ahead = number(words.next().unwrap_or(Value::Nil))?;
    let rate_wait = read_wait(words.next().as_ref())?;
    let now = time(&bytes(words.next().unwrap_or(Value::Nil))?)?;
    let running = array(words.next().unwrap_or(Value::Nil))?;
    let probations = Probation::named(read_running_suspects(running)?, now);
    let held_back = words.map(read_shut_gate).collect::<Result<_>>()?;
    Ok(Some(QueuePlace { ahead, rate_wait, held_back, probations }))
}

/// Of each its id, its byte of suspicion, and since when it runs.
fn read_running_suspects(words: Vec<Value>) -> Result<Vec<(TaskId, Suspicion, Timestamp)>> {
    let (mut words, mut suspects) = (words.into_iter(), Vec::new());
    while let (Some(id), Some(byte), Some(started_at)) = (words.next(), words.next(), words.next()) {
        let id = TaskId::new(text(id)?).map_err(|_| malformed("expected a task's id"))?;
        let byte = u8::try_from(number(byte)?).map_err(|_| malformed("expected a byte"))?;
        suspects.push((id, read_suspicion(byte), time(&bytes(started_at)?)?));
    }
    Ok(suspects)
}

/// Microseconds, or -1 for none.
fn read_wait(word: Option<&Value>) -> Result<Option<Duration>> {
    let Some(Value::Int(wait)) = word else { return Err(malformed("expected a number of microseconds")) };
    Ok(u64::try_from(*wait).ok().map(Duration::from_micros))
}

fn read_shut_gate(answer: Value) -> Result<ShutGate> {
    let mut words = array(answer)?.into_iter();
    let gate = Gate::parse(&text(words.next().unwrap_or(Value::Nil))?).ok_or_else(|| malformed("expected a gate"))?;
    let running = number(words.next().unwrap_or(Value::Nil))?;
    let rate_wait = read_wait(words.next().as_ref())?;
    let id = |word| TaskId::new(text(word)?).map_err(|_| malformed("expected a task's id"));
    Ok(ShutGate { gate, running, holders: words.map(id).collect::<Result<_>>()?, rate_wait })
}

/// Counts of one queue.
pub(crate) async fn queue_stats(store: &Store, queue: &QueueName) -> Result<QueueStats> {
    let found = stats_of(store, std::slice::from_ref(queue)).await?.pop();
    found.ok_or_else(|| Error::UnknownQueue(queue.clone()))
}

/// Counts of a page of the queues, in the order of names.
pub(crate) async fn list_queues(store: &Store, request: &QueueListRequest) -> Result<QueuePage> {
    validate_limit(request.limit)?;
    let walked = queues::walk(store, "", From::after(request.after.as_ref()), request.limit).await?;
    let mut stats = Vec::with_capacity(walked.names.len());
    for some in walked.names.chunks(QUEUES_A_PIECE) {
        stats.extend(stats_of(store, some).await?);
    }
    let last = walked.names.last().cloned();
    Ok(QueuePage { queues: stats, next: walked.next.and(last) })
}

/// Counts of those of some queues that exist.
async fn stats_of(store: &Store, queues: &[QueueName]) -> Result<Vec<QueueStats>> {
    let add = |command: &mut Cmd| {
        queues.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let answers = array(store.run(&store.bulk, &script::STATS, add).await?)?;
    let read = queues.iter().zip(answers).map(|(name, answer)| read_stats(name, answer));
    Ok(read.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn read_stats(name: &QueueName, answer: Value) -> Result<Option<QueueStats>> {
    let [known, waiting, scheduled, submitted, started, oldest, counters, waiting_bytes, suspects] = tuple(answer)?;
    if number(known)? == 0 {
        return Ok(None);
    }
    let (oldest, waiting_bytes) = (bytes(oldest)?, bytes(waiting_bytes)?);
    let mut stats = QueueStats {
        queue: name.clone(),
        tasks: [
            (Status::Waiting, number(waiting)?),
            (Status::Scheduled, number(scheduled)?),
            (Status::Submitted, number(submitted)?),
            (Status::Started, number(started)?),
        ]
        .into(),
        suspects: number(suspects)?,
        oldest_ready_at: if oldest.is_empty() { None } else { Some(time(&oldest)?) },
        accepted: 0,
        removed: 0,
        waiting_bytes: if waiting_bytes.is_empty() { None } else { Some(digits(&waiting_bytes)?) },
    };
    let mut counters = array(counters)?.into_iter();
    while let (Some(name), Some(count)) = (counters.next(), counters.next()) {
        let count = number(count)?;
        match text(name)?.as_str() {
            "accepted" => stats.accepted = count,
            "removed" => stats.removed = count,
            "ghosts" => {}
            digit => drop(stats.tasks.insert(status_of(digit.as_bytes())?, count)),
        }
    }
    stats.tasks.retain(|_, count| *count > 0);
    Ok(Some(stats))
}
