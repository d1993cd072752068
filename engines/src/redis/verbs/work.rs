//! The worker's side: cycles, renewals, cancels.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        Cancelled, Cycle, CycleReply, Error, ExtendAnswer, Extension, Heartbeat, Outcome, Reclaimed, Result,
        SettleAnswer, Settlement, work::validate_extend,
    },
    limits::MAX_BATCH,
    name::{QueueName, TaskId, WorkerId},
    outcome::transition::is_repetition,
    task::{ClaimedTask, Fence},
    time::Timestamp,
};
use redis::{Cmd, Value};
use tracing::warn;
use ulid::Ulid;

use super::upkeep::{read_lost, read_reclaimed};
use crate::redis::{
    kernel::{
        errors::write_failure,
        reply::{array, bytes, digits, number, text, tuple},
        script,
        state::{NotHandedOut, read_claims},
        values::{micros, status_of, time, write_payload},
    },
    read::tasks,
    server::{
        batches::{LeasedBatch, WrittenBatch},
        failure::malformed,
        primary::node::ANSWER_WITHIN,
        store::Store,
    },
};

/// Runs one cycle. If a frozen server runs a claim after its caller stopped waiting, the claim leases nothing, because
/// the leases would have to expire before another worker got the tasks. No caller waits longer than an answer may take,
/// or than the lease lasts. If the answer is lost, the cycle is sent again under the same number, and a server that has
/// carried it out returns the earlier result instead of repeating it.
pub(crate) async fn cycle(store: &Store, cycle: &Cycle) -> Result<CycleReply> {
    cycle.validate()?;
    let stale = store.notifications.take_registered(&cycle.worker);
    let request = Ulid::generate().to_string();
    let slot = store.cycles.take_slot(&cycle.worker);
    let lease = cycle.claim.as_ref().map_or(ANSWER_WITHIN, |claim| claim.lease);
    let claim_until = store.present_after(lease.min(ANSWER_WITHIN));
    let config = Arc::clone(&store.config.lock());
    let (others, batches) = store.batches.write_ends(&cycle.settlements, &config);
    let build = |again: bool| {
        let mut command = store.command(&script::CYCLE);
        command.arg(cycle.worker.as_str()).arg(&store.instance).arg(slot.number).arg(&request);
        command.arg(if again { "again" } else { "" }).arg(others.len());
        let mut scratch = Vec::new();
        others.iter().for_each(|place| write_settlement(&cycle.settlements[*place], &mut command, &mut scratch));
        command.arg(batches.len());
        batches.iter().for_each(|batch| write_ends(batch, config.version, &mut command));
        write_claim(cycle, &stale, claim_until, &mut command);
        command
    };
    let answer = store.work.call(Some(&script::CYCLE), &build).await?;
    slot.release();
    let (letters, mut reply, now) = read_reply(answer, cycle, store)?;
    store.note_present(now);
    store.batches.note_config(reply.config_version);
    if let Some(claim) = cycle.claim.as_ref().filter(|claim| claim.limit > 0 && !reply.more) {
        store.notifications.registered(&cycle.worker, claim.queues.iter().map(|it| it.queue.clone()).collect());
    }
    let places = others.iter().copied().chain(batches.iter().flat_map(|batch| &batch.ends).map(|end| end.settlement));
    let mut settled = vec![0; cycle.settlements.len()];
    places.zip(letters).for_each(|(place, letter)| settled[place] = letter);
    reply.settled = settle_answers(store, cycle, settled, &mut reply.more).await?;
    if reply.config_version == 0 && store.prepare().await? {
        warn!("Redis lost its data; the store has been created again");
    }
    Ok(reply)
}

/// A lease as the script compares it: fences are 15 digits.
fn fence_digits(fence: Fence) -> String {
    format!("{:015}", fence.0)
}

fn write_settlement(settlement: &Settlement, command: &mut Cmd, payload: &mut Vec<u8>) {
    payload.clear();
    let outcome = match &settlement.outcome {
        Outcome::Completed { result } => {
            write_payload(result.as_ref(), payload);
            "c".to_owned()
        }
        Outcome::Retry { delay, failure } => {
            write_failure(failure, payload);
            format!("r{}", micros(*delay))
        }
        Outcome::Failed { failure, dead_letter } => {
            write_failure(failure, payload);
            format!("f{}", u8::from(*dead_letter))
        }
        Outcome::Stalled { failure, dead_letter } => {
            write_failure(failure, payload);
            format!("s{}", u8::from(*dead_letter))
        }
        Outcome::Aborted { failure } => {
            write_failure(failure, payload);
            "a".to_owned()
        }
        Outcome::Unknown { delay, patience, failure, dead_letter } => {
            write_failure(failure, payload);
            format!("u{}{}:{}", u8::from(*dead_letter), micros(*patience), micros(*delay))
        }
        Outcome::Cancelled => "x".to_owned(),
        Outcome::Released { delay } => format!("l{}", micros(*delay)),
        Outcome::Unstarted { delay } => format!("n{}", micros(*delay)),
    };
    let mut outcome = outcome.into_bytes();
    if let Some(span) = settlement.span_to_keep() {
        outcome.push(b';');
        outcome.extend_from_slice(span.as_bytes());
    }
    if let Some(heartbeat) = &settlement.heartbeat {
        let progress = progress_json(heartbeat).unwrap_or_default();
        outcome.extend_from_slice(format!("!{:06}", progress.len()).as_bytes());
        outcome.extend_from_slice(&progress);
        outcome.extend_from_slice(&reported(heartbeat));
    }
    command.arg(settlement.id.as_str()).arg(fence_digits(settlement.fence));
    command.arg(outcome).arg(payload.as_slice());
}

fn write_claim(cycle: &Cycle, stale: &[QueueName], until: Timestamp, command: &mut Cmd) {
    command.arg(stale.len());
    stale.iter().for_each(|queue| {
        command.arg(queue.as_str());
    });
    if let Some(claim) = &cycle.claim {
        command.arg(claim.limit).arg(micros(claim.lease)).arg(until.as_micros()).arg(claim.refused.len());
        claim.refused.iter().for_each(|refusal| {
            command.arg(refusal.queue.as_str()).arg(refusal.kind.gate_code());
        });
        claim.queues.iter().for_each(|it| {
            command.arg(it.queue.as_str()).arg(it.limit);
        });
    }
}

/// Writes ends of tasks of one batch.
fn write_ends(written: &WrittenBatch, config_version: u64, command: &mut Cmd) {
    let WrittenBatch { batch, ends } = written;
    command.arg(batch.queue.as_str()).arg(fence_digits(batch.first)).arg(config_version).arg(ends.len());
    for end in ends {
        command.arg(end.id.as_str()).arg(end.place).arg(end.record.as_slice());
    }
}

/// A letter per settlement, the reply without them, and the server's time. Remembers what was leased in batches.
fn read_reply(answer: Value, cycle: &Cycle, store: &Store) -> Result<(Vec<u8>, CycleReply, Timestamp)> {
    let [settled, claims, cancel_requested, version, next_due, now, more, reclaimed, expired] = tuple(answer)?;
    let settled = bytes(settled)?;
    if settled.len() != cycle.settlements.len() {
        return Err(malformed("expected one answer per settlement"));
    }
    let now = time(&bytes(now)?)?;
    let (mut claimed, mut batch) = (Vec::new(), None::<Arc<LeasedBatch>>);
    let mut note = |task: &ClaimedTask, record, first| {
        if batch.as_ref().is_none_or(|batch| batch.first != first) {
            let (queue, worker) = (task.queue.clone(), cycle.worker.clone());
            batch = Some(Arc::new(LeasedBatch { first, queue, worker, started_at: now }));
        }
        if let Some(batch) = &batch {
            store.batches.remember(batch, task.fence, task.id.clone(), record);
        }
    };
    for claim in array(claims)? {
        for NotHandedOut { id, why } in read_claims(claim, now, &mut claimed, &mut note)? {
            warn!(task = id, why, "a queue held a task that no worker can get");
        }
    }
    let id = |value| TaskId::new(text(value)?).map_err(|_| malformed("expected a task's id"));
    let reply = CycleReply {
        settled: Vec::new(),
        claimed,
        cancel_requested: array(cancel_requested)?.into_iter().map(id).collect::<Result<_>>()?,
        config_version: digits(&bytes(version)?)?,
        // -1 is not a number of microseconds.
        next_due: text(next_due)?.parse().ok().map(Duration::from_micros),
        more: number(more)? == 1,
        reclaimed: match reclaimed {
            Value::Nil => Reclaimed::default(),
            reclaimed => {
                let [requeued, ended] = tuple(reclaimed)?;
                read_reclaimed(requeued, ended)?
            }
        },
        expired: read_lost(expired)?,
    };
    Ok((settled, reply, now))
}

/// The answers of settlements. A task that was over by the same lease is read, to compare how it ended; if it has moved since,
/// the lease is lost. Tasks that are not in the batch they were leased in, or a configuration that has changed since, are
/// settled in full, which leaves the worker no longer registered as waiting: then there may be `more`.
async fn settle_answers(store: &Store, cycle: &Cycle, letters: Vec<u8>, more: &mut bool) -> Result<Vec<SettleAnswer>> {
    let is_refused = |letter: &u8| *letter == b'w';
    let refused = letters.iter().zip(&cycle.settlements).filter(|(letter, _)| is_refused(letter));
    let refused: Vec<Settlement> = refused.map(|(_, settlement)| settlement.clone()).collect();
    let mut in_full = Vec::new().into_iter();
    if !refused.is_empty() {
        let again = Cycle { worker: cycle.worker.clone(), settlements: refused, claim: None };
        in_full = Box::pin(self::cycle(store, &again)).await?.settled.into_iter();
        *more = *more || cycle.claim.is_some();
    }
    let mut answers = Vec::with_capacity(letters.len());
    for (letter, settlement) in letters.into_iter().zip(&cycle.settlements) {
        answers.push(match letter {
            b'w' => in_full.next().ok_or_else(|| malformed("expected one answer per settlement"))?,
            b'-' => SettleAnswer::LeaseLost,
            b'=' | b'#' => {
                let task = tasks::get(store, &settlement.id).await?;
                let ended = task.filter(|task| is_repetition(&settlement.outcome, task, letter == b'#'));
                ended.map_or(SettleAnswer::LeaseLost, |task| SettleAnswer::Accepted(task.status))
            }
            digit => SettleAnswer::Accepted(status_of(&[digit])?),
        });
    }
    Ok(answers)
}

/// Renews leases.
pub(crate) async fn extend(
    store: &Store,
    worker: &WorkerId,
    lease: Duration,
    extensions: &[Extension],
) -> Result<Vec<ExtendAnswer>> {
    validate_extend(lease, extensions)?;
    if extensions.is_empty() {
        return Ok(Vec::new());
    }
    let add = |command: &mut Cmd| {
        command.arg(micros(lease)).arg(worker.as_str());
        extensions.iter().for_each(|extension| write_extension(extension, command));
    };
    let letters = bytes(store.run(&store.leases, &script::EXTEND, add).await?)?;
    let read = |letter: &u8| match letter {
        b'e' => Ok(ExtendAnswer::Extended { cancel_requested: false }),
        b'c' => Ok(ExtendAnswer::Extended { cancel_requested: true }),
        b'l' => Ok(ExtendAnswer::LeaseLost),
        _ => Err(malformed("expected an answer per lease")),
    };
    letters.iter().map(read).collect()
}

fn write_extension(extension: &Extension, command: &mut Cmd) {
    command.arg(extension.id.as_str()).arg(fence_digits(extension.fence));
    let Some(heartbeat) = &extension.heartbeat else {
        command.arg("").arg("-").arg("-");
        return;
    };
    command.arg("h").arg(progress_json(heartbeat).unwrap_or_else(|| b"-".to_vec())).arg(reported(heartbeat));
}

fn progress_json(heartbeat: &Heartbeat) -> Option<Vec<u8>> {
    serde_json::to_vec(heartbeat.progress.as_ref()?).ok()
}

/// A heartbeat's checkpoint, or that there is none, as the layout `told`.
fn reported(heartbeat: &Heartbeat) -> Vec<u8> {
    let Some(checkpoint) = &heartbeat.checkpoint else { return b"-".to_vec() };
    let mut told = b"+".to_vec();
    write_payload(Some(checkpoint), &mut told);
    told
}

/// The most tasks that one script cancels, so that none holds the server for long.
const CANCELLED_A_PIECE: usize = 300;

/// Cancels tasks.
pub(crate) async fn cancel(store: &Store, ids: &[TaskId]) -> Result<Vec<Cancelled>> {
    if ids.len() > MAX_BATCH {
        return Err(Error::Invalid(format!("a call cancels at most {MAX_BATCH} tasks")));
    }
    let mut cancelled = Vec::with_capacity(ids.len());
    for piece in ids.chunks(CANCELLED_A_PIECE) {
        let add = |command: &mut Cmd| {
            piece.iter().for_each(|id| {
                command.arg(id.as_str());
            });
        };
        for letter in bytes(store.run(&store.work, &script::CANCEL, add).await?)? {
            cancelled.push(read_cancelled(letter)?);
        }
    }
    Ok(cancelled)
}

fn read_cancelled(letter: u8) -> Result<Cancelled> {
    match letter {
        b'd' => Ok(Cancelled::Done),
        b'r' => Ok(Cancelled::Requested),
        b'u' => Ok(Cancelled::Unknown),
        digit => Ok(Cancelled::AlreadyOver(status_of(&[digit])?)),
    }
}
