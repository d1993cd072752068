//! Tasks that are sent again.

use jobbers_common::{
    engine::{DeadTask, Error, Resubmit, ResubmitFrom, Resubmitted, Result, letters::validate_resubmit},
    name::{QueueName, TaskId, WorkerId},
    payload::Payload,
    task::{NewTask, Task},
};
use redis::Cmd;

use crate::redis::{
    follow::{letters::revision_digits, unique},
    kernel::{
        errors::write_errors,
        layout::FACTS,
        record::{self, write_stamp},
        reply::{array, text},
        script,
        state::write_news,
        values::status_of,
    },
    read::tasks,
    server::{
        failure::malformed,
        pressure::{self, TASK_BYTES},
        store::Store,
    },
};

/// The most tasks that one script sends again, so that none holds the server for long.
const RESUBMITTED_A_PIECE: usize = 300;

/// Sends tasks again.
pub(crate) async fn resubmit(store: &Store, batch: Vec<Resubmit>) -> Result<Vec<Resubmitted>> {
    validate_resubmit(&batch)?;
    if batch.is_empty() {
        return Ok(Vec::new());
    }
    let mut wishes = Vec::with_capacity(batch.len());
    for wish in batch {
        wishes.push(ResubmitArguments::of(store, wish).await?);
    }
    let mut resubmitted = Vec::with_capacity(wishes.len());
    for piece in wishes.chunks(RESUBMITTED_A_PIECE) {
        let build = |_| {
            let mut command = store.command(&script::RESUBMIT);
            piece.iter().for_each(|wish| wish.write(&mut command));
            command
        };
        let growth = piece.iter().map(ResubmitArguments::growth).sum();
        let answers = array(pressure::call(store, &script::RESUBMIT, growth, &build).await?)?;
        if answers.len() != piece.len() {
            return Err(malformed("expected one answer per task"));
        }
        for answer in answers {
            resubmitted.push(read_answer(&text(answer)?)?);
        }
    }
    Ok(resubmitted)
}

/// One task's arguments.
#[derive(Default)]
struct ResubmitArguments {
    id: String,
    revision: String,
    is_copy: bool,
    resets: bool,
    queue: String,
    alters: bool,
    /// The core of its record.
    core: Vec<u8>,
    body: Vec<u8>,
    facts: Vec<u8>,
    /// The worker that ran it last.
    ran: String,
    errors: Vec<u8>,
    news: Vec<u8>,
    said: String,
}

impl ResubmitArguments {
    async fn of(store: &Store, wish: Resubmit) -> Result<Self> {
        let Resubmit { id, from, queue, parameters, reset_attempts } = wish;
        let alters = queue.is_some() || parameters.is_some();
        let plain = Self {
            id: id.to_string(),
            resets: reset_attempts,
            queue: queue.as_ref().map_or_else(String::new, QueueName::to_string),
            alters,
            ..Self::default()
        };
        match from {
            ResubmitFrom::Archive(dead) => {
                let revision = revision_digits(dead.task.revision);
                plain.with_copy(*dead, queue, parameters).map(|wish| Self { is_copy: true, revision, ..wish })
            }
            ResubmitFrom::Store { revision } if !alters => {
                Ok(Self { revision: revision.map_or_else(String::new, revision_digits), ..plain })
            }
            // The record is written again from the stored one, which must not have changed since.
            ResubmitFrom::Store { revision } => match tasks::get_with_fingerprint(store, &id).await? {
                Some(found) if found.task.status.is_finished() && found.task.parameters.is_some() => {
                    let revision = revision_digits(revision.unwrap_or(found.task.revision));
                    plain.with_copy(found, queue, parameters).map(|wish| Self { revision, ..wish })
                }
                _ => Ok(Self { revision: revision_digits(0), ..plain }),
            },
        }
    }

    fn with_copy(self, dead: DeadTask, queue: Option<QueueName>, parameters: Option<Payload>) -> Result<Self> {
        let DeadTask { task, fingerprint } = dead;
        let (facts, ran) = (facts(&task), task.worker.as_ref().map_or_else(String::new, WorkerId::to_string));
        let (mut errors, mut news) = (Vec::new(), Vec::new());
        write_errors(&task.errors, &mut errors);
        write_news(task.last_span.as_deref(), task.checkpoint.as_ref(), &mut news);
        let parameters = parameters.or(task.parameters).ok_or_else(|| malformed("a copy without parameters"))?;
        let new = NewTask {
            id_is_chosen: task.id_is_chosen,
            version: task.version,
            priority: task.priority,
            overrides: task.overrides,
            trace: task.trace,
            unique: task.unique,
            concurrency_key: task.concurrency_key,
            metadata: task.metadata,
            ..NewTask::new(task.id, task.name, queue.unwrap_or(task.queue), parameters)
        };
        let mut core = Vec::new();
        write_stamp(task.submitted_at, &mut core);
        record::encode_as(fingerprint, &new, &mut core)?;
        let body = if record::is_large(&new) { new.parameters.bytes.to_vec() } else { Vec::new() };
        let said = new.unique.as_ref().map_or_else(String::new, |unique| unique::said(&new.name, unique));
        Ok(Self { core, body, facts, ran, errors, news, said, ..self })
    }

    /// About how many bytes it adds.
    fn growth(&self) -> usize {
        TASK_BYTES + self.core.len() + self.body.len() + self.errors.len() + self.news.len()
    }

    fn write(&self, command: &mut Cmd) {
        let flag = |is: bool| if is { "1" } else { "" };
        command.arg(&self.id).arg(&self.revision).arg(flag(self.is_copy)).arg(flag(self.resets)).arg(&self.queue);
        command.arg(flag(self.alters)).arg(&self.core[..]).arg(&self.body[..]).arg(&self.facts[..]).arg(&self.ran);
        command.arg(&self.errors[..]).arg(&self.news[..]).arg(&self.said);
    }
}

/// `started_at` to `blames`, as in a lease.
fn facts(task: &Task) -> Vec<u8> {
    let short = |number: u32| u16::try_from(number).unwrap_or(u16::MAX).to_be_bytes();
    let mut facts = Vec::with_capacity(FACTS.len());
    write_stamp(task.started_at.unwrap_or_default(), &mut facts);
    facts.extend(short(task.attempt).into_iter().chain(short(task.crashes)));
    facts.extend([b'0', u8::try_from(task.blames).unwrap_or(u8::MAX)]);
    facts
}

fn read_answer(answer: &str) -> Result<Resubmitted> {
    let (letter, rest) = answer.split_at_checked(1).ok_or_else(|| malformed("expected an answer"))?;
    Ok(match letter {
        "d" => Resubmitted::Done,
        "a" => Resubmitted::Already,
        "l" => Resubmitted::Live(status_of(rest.as_bytes())?),
        "m" => Resubmitted::Moved(status_of(rest.as_bytes())?),
        "u" => Resubmitted::Unknown,
        "q" => Resubmitted::UnknownQueue(QueueName::new(rest).map_err(|error| Error::Corrupt(error.to_string()))?),
        "h" => Resubmitted::Held(TaskId::new(rest).map_err(|error| Error::Corrupt(error.to_string()))?),
        _ => return Err(malformed("expected the result for a task")),
    })
}
