//! Whole tasks out of this store, and those of another.

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Error, Result,
        backup::{
            Backup, BoardPiece, Edges, Restored, StoredTask, TakenKey, validate_dump, validate_link, validate_restore,
        },
    },
    lifecycle::Status,
    limits::MAX_ERRORS_KEPT,
    name::{BoardName, QueueName, TaskId, WorkerId},
    payload::Payload,
    task::{NewTask, Task, suspicion::Suspicion},
    time::Timestamp,
};
use redis::{Cmd, Value};

use super::{
    RedisEngine, boards,
    follow::{dependencies, unique},
    kernel::{
        errors::write_errors,
        layout::REVISION_DIGITS,
        record::{self, write_stamp},
        reply::{array, text},
        script,
        state::{FIRST_SIGNAL, read_stored, write_all_news, write_signals},
    },
    server::{
        failure::malformed,
        pressure::{self, TASK_BYTES},
        store::Store,
    },
};

/// The most tasks that one script reads or stores, and the most edges that one links, so that none holds the server for
/// long.
const DUMPED_A_PIECE: usize = 100;
const RESTORED_A_PIECE: usize = 200;
const LINKED_A_PIECE: usize = 1_000;

#[async_trait]
impl Backup for RedisEngine {
    async fn settle_edges(&self) -> Result<()> {
        while dependencies::settle_some(&self.store).await? > 0 {}
        Ok(())
    }

    async fn dump(&self, ids: &[TaskId]) -> Result<Vec<Option<StoredTask>>> {
        validate_dump(ids)?;
        let mut dumped = Vec::with_capacity(ids.len());
        for piece in ids.chunks(DUMPED_A_PIECE) {
            let add = |command: &mut Cmd| {
                piece.iter().for_each(|id| {
                    command.arg(id.as_str());
                });
            };
            let answers = array(self.store.run(&self.store.bulk, &script::DUMP, add).await?)?;
            if answers.len() != piece.len() {
                return Err(malformed("expected one answer per task"));
            }
            for answer in answers {
                dumped.push(read_stored(answer)?);
            }
        }
        Ok(dumped)
    }

    async fn restore(&self, tasks: Vec<StoredTask>) -> Result<Vec<Restored>> {
        validate_restore(&tasks)?;
        let rows = tasks.into_iter().map(|stored| Row::of(&stored.at_rest())).collect::<Result<Vec<_>>>()?;
        let mut restored = Vec::with_capacity(rows.len());
        for piece in rows.chunks(RESTORED_A_PIECE) {
            restored.extend(restore(&self.store, piece).await?);
        }
        Ok(restored)
    }

    async fn link(&self, tasks: Vec<Edges>) -> Result<u64> {
        validate_link(&tasks)?;
        let (mut linked, mut rest) = (0, tasks.as_slice());
        while !rest.is_empty() {
            let mut edges = 0;
            let fits = |task: &&Edges| {
                edges += task.waits_for.len();
                edges <= LINKED_A_PIECE
            };
            let (piece, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            linked += link_whole(&self.store, piece).await?;
            rest = after;
        }
        Ok(linked)
    }

    async fn board_marks(&self, board: &BoardName) -> Result<Vec<String>> {
        boards::restore::marks(&self.store, board).await
    }

    async fn restore_board(&self, piece: BoardPiece) -> Result<Vec<Restored>> {
        piece.validate()?;
        boards::restore::restore(&self.store, &piece).await
    }
}

/// Links tasks, and what that leaves of those with many edges. Edges that others left go first: they may be of these tasks.
async fn link_whole(store: &Store, tasks: &[Edges]) -> Result<u64> {
    loop {
        let linked = link(store, tasks).await?;
        while dependencies::link_pieces(store).await? > 0 {}
        if let Some(linked) = linked {
            return Ok(linked);
        }
    }
}

/// `None` while edges of others are left.
async fn link(store: &Store, tasks: &[Edges]) -> Result<Option<u64>> {
    let add = |command: &mut Cmd| {
        for Edges { id, waits_for } in tasks {
            command.arg(id.as_str()).arg(waits_for.len());
            waits_for.iter().for_each(|edge| {
                command.arg(edge.policy.code()).arg(edge.on.as_str());
            });
        }
    };
    let Value::Int(linked) = store.run(&store.bulk, &script::LINK_RESTORED, add).await? else {
        return Err(malformed("expected a number of tasks"));
    };
    Ok(u64::try_from(linked).ok())
}

async fn restore(store: &Store, rows: &[Row]) -> Result<Vec<Restored>> {
    let greatest = rows.iter().map(|row| row.greatest).max().unwrap_or_default();
    let build = |_| {
        let mut command = store.command(&script::RESTORE);
        command.arg(greatest);
        rows.iter().for_each(|row| row.write(&mut command));
        command
    };
    let growth = rows.iter().map(Row::growth).sum();
    let answers = array(pressure::call(store, &script::RESTORE, growth, &build).await?)?;
    if answers.len() != rows.len() {
        return Err(malformed("expected one answer per task"));
    }
    answers.into_iter().map(|answer| read_answer(&text(answer)?)).collect()
}

/// One task's arguments.
struct Row {
    id: String,
    /// The greater of its revision and its position.
    greatest: u64,
    record: Vec<u8>,
    body: Vec<u8>,
    errors: Vec<u8>,
    news: Vec<u8>,
    counts: String,
    said: String,
    /// Until when it holds its key, and what it has become; if it was the last to take the key.
    taken: Option<Vec<u8>>,
    /// The predecessors it holds, a zero byte after each.
    parents: String,
}

impl Row {
    fn of(stored: &StoredTask) -> Result<Self> {
        let task = &stored.task;
        let (mut errors, mut news) = (Vec::new(), Vec::new());
        write_errors(&task.errors[..task.errors.len().min(MAX_ERRORS_KEPT)], &mut errors);
        write_all_news(task, &mut news);
        let parameters = task.parameters.clone().unwrap_or_else(|| Payload::json(Vec::new()));
        let new = NewTask {
            id_is_chosen: task.id_is_chosen,
            version: task.version,
            priority: task.priority,
            overrides: task.overrides.clone(),
            trace: task.trace.clone(),
            unique: task.unique.clone(),
            concurrency_key: task.concurrency_key.clone(),
            metadata: task.metadata.clone(),
            ..NewTask::new(task.id.clone(), task.name.clone(), task.queue.clone(), parameters)
        };
        let mut core = Vec::new();
        record::encode_as(stored.fingerprint, &new, &mut core)?;
        if let Some(dependencies) = &task.dependencies {
            record::mark_linked(&mut core, dependencies.is_spontaneous);
        }
        Ok(Self {
            id: task.id.to_string(),
            greatest: task.revision.max(stored.place()),
            record: write_record(stored, &core, if record::is_large(&new) { 0 } else { new.parameters.len() }),
            body: if record::is_large(&new) { new.parameters.bytes.to_vec() } else { Vec::new() },
            errors,
            news,
            counts: counts(task),
            said: new.unique.as_ref().map_or_else(String::new, |unique| unique::said(&new.name, unique)),
            taken: stored.key.as_ref().map(write_taken),
            parents: stored.parents.iter().map(|parent| format!("{parent}\0")).collect(),
        })
    }

    /// About how many bytes it adds.
    fn growth(&self) -> usize {
        TASK_BYTES + self.record.len() + self.body.len() + self.errors.len() + self.news.len()
    }

    fn write(&self, command: &mut Cmd) {
        command.arg(&self.id).arg(&self.record[..]).arg(&self.body[..]).arg(&self.errors[..]).arg(&self.news[..]);
        command.arg(&self.counts).arg(&self.said);
        match &self.taken {
            Some(taken) => command.arg("1").arg(&taken[..]),
            None => command.arg("").arg(NO_TIME),
        };
        command.arg(&self.parents);
    }
}

/// No time in digits.
const NO_TIME: &str = "0000000000000000";

/// The record of a task that does not run, with its core, which ends with so many bytes of parameters, in the layout of a
/// lease or of an ending.
fn write_record(stored: &StoredTask, core: &[u8], given: usize) -> Vec<u8> {
    let StoredTask { task, .. } = stored;
    let worker = task.worker.as_ref().map_or("", WorkerId::as_str);
    let mut record = format!("{}{:0REVISION_DIGITS$}", task.status.code(), task.revision).into_bytes();
    match task.completed_at {
        Some(completed_at) => {
            write_stamp(completed_at, &mut record);
            record.extend([if task.dead_letter { b'1' } else { b'0' }, b'N']);
            record.extend([b'0'; REVISION_DIGITS]);
        }
        None => record.extend(format!("{:0REVISION_DIGITS$}", stored.place()).into_bytes()),
    }
    write_stamp(task.ready_at, &mut record);
    write_stamp(task.started_at.unwrap_or_default(), &mut record);
    let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX).to_be_bytes();
    record.extend(short(task.attempt).into_iter().chain(short(task.crashes)));
    let suspicion = if task.status.is_finished() { Suspicion::NONE } else { task.suspicion };
    record.extend([record::write_suspicion(suspicion), u8::try_from(task.blames).unwrap_or(u8::MAX)]);
    record.push(u8::try_from(worker.len()).unwrap_or(u8::MAX));
    write_stamp(task.submitted_at, &mut record);
    match task.status {
        Status::Completed => {
            let (core, given) = core.split_at(core.len() - given);
            record.extend_from_slice(core);
            record::write_remains(task.result.as_ref(), given, &mut record);
        }
        _ => record.extend_from_slice(core),
    }
    record.extend_from_slice(worker.as_bytes());
    record
}

/// The dependencies of a task as `g` has them.
fn counts(task: &Task) -> String {
    let Some(dependencies) = &task.dependencies else { return String::new() };
    let aborted_by = dependencies.aborted_by.as_ref();
    let cause = aborted_by.map_or_else(String::new, |end| format!("{}{}", end.status.code(), end.id));
    let signals = match dependencies.external.as_slice() {
        [] => String::new(),
        signals => format!("{}{}", char::from(FIRST_SIGNAL), write_signals(signals)),
    };
    format!("{:06}{:06}{cause}{signals}", dependencies.total, dependencies.signals)
}

/// What `k:of` has of a key that a task took last, around its uniqueness constraint.
fn write_taken(taken: &TakenKey) -> Vec<u8> {
    let mut text = format!("{:016}", taken.until.map_or(0, Timestamp::as_micros)).into_bytes();
    if let Some(became) = &taken.became {
        text.extend_from_slice(&became.fingerprint.to_be_bytes());
        text.extend_from_slice(became.id.as_str().as_bytes());
    }
    text
}

fn read_answer(answer: &str) -> Result<Restored> {
    let (letter, rest) = answer.split_at_checked(1).ok_or_else(|| malformed("expected an answer"))?;
    Ok(match letter {
        "d" => Restored::Done,
        "a" => Restored::Already,
        "c" => Restored::Conflict,
        "q" => Restored::UnknownQueue(QueueName::new(rest).map_err(|error| Error::Corrupt(error.to_string()))?),
        "h" => Restored::Held(TaskId::new(rest).map_err(|error| Error::Corrupt(error.to_string()))?),
        _ => return Err(malformed("expected the result for a task")),
    })
}
