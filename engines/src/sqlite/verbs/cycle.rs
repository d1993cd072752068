//! The worker's loop: settle finished tasks, claim new ones.

use std::{collections::BTreeMap, time::Duration};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, CycleReply, Error, LostTask, Result},
    lifecycle::{Move, Status},
    name::{QueueName, TaskId, TaskName, WorkerId},
    task::{ClaimedTask, Fence, suspicion::Suspicion},
    time::Timestamp,
};
use jobbers_sqlite_file::columns;
use rusqlite::{OptionalExtension, Row};
use tracing::warn;

use super::{maintain, settle};
use crate::sqlite::{
    follow::{
        dependency::{backlog, signals},
        expiry::{self, MAX_EXPIRED, is_late},
        gates::{self, fields::GateFields},
        history,
        limits::ClaimRoom,
        losses, unknown,
    },
    kernel::{chore::Chore, row::Columns, step::Step},
    sql,
    store::error::OrStore,
    threads::waiters::Wants,
};

/// How many due tasks, and how many expired leases, one claim handles.
const MAINTAIN_LIMIT: usize = 100;

const EXPIRY_COLUMNS: [usize; 3] = expiry::columns_of(sql::NEXT_READY);
const SUSPECT_COLUMNS: [usize; 3] = columns(sql::READY_SUSPECTS, ["key", "losses", "ran_s"]);
const GATE_COLUMNS: [usize; 3] = GateFields::columns_of(sql::READY_SUSPECTS);

/// How many suspects of a queue one claim looks at.
const MAX_SUSPECTS: usize = 1_000;

/// About how many tasks a cycle touches.
pub(crate) fn weight(cycle: &Cycle) -> usize {
    cycle.settlements.len() + cycle.claim.as_ref().map_or(0, |claim| claim.limit)
}

/// Settlements first, then the claim. A claim that took every ready task registers the worker as waiting, before other
/// writes.
pub(crate) fn run(step: &mut Step<'_>, cycle: &Cycle) -> Result<CycleReply> {
    step.waiters.unregister(&cycle.worker);
    let settled = settle::settle(step, &cycle.settlements)?;
    signals::signal_all(step)?;
    let mut reply = CycleReply { settled, ..CycleReply::default() };
    if let Some(claim) = cycle.claim.as_ref().filter(|claim| claim.limit > 0) {
        let queues = step.known(claim.queues.iter().map(|it| &it.queue))?;
        maintain::promote_due(step, &queues, MAINTAIN_LIMIT)?;
        reply.reclaimed = maintain::reclaim_expired(step, &queues, MAINTAIN_LIMIT)?;
        signals::signal_all(step)?;
        backlog::work_off(step)?;
        let ready = claim_ready(step, &cycle.worker, claim)?;
        (reply.claimed, reply.expired, reply.more) = (ready.claimed, ready.expired, ready.more);
        if !reply.expired.is_empty() {
            signals::signal_all(step)?;
        }
        if !reply.more {
            let due = next_due(step, &queues)?;
            let (wants, rate) = what_to_wait_for(step, claim, &reply.claimed)?;
            let again = (!reply.expired.is_empty()).then_some(Duration::ZERO);
            let joins = ready.held_back_until.map(|until| until.since(step.now));
            reply.next_due = due.into_iter().chain(rate).chain(joins).chain(again).min();
            step.waiters.register(&cycle.worker, wants);
        }
    }
    reply.cancel_requested = cancel_requests(step, &cycle.worker)?;
    reply.config_version = step.catalog().config.version;
    Ok(reply)
}

/// What a claim took.
struct ReadyTasks {
    claimed: Vec<ClaimedTask>,
    /// Tasks that it dropped.
    expired: Vec<LostTask>,
    /// When the first probation ends that held suspects back.
    held_back_until: Option<Timestamp>,
    /// Whether there may be more: limits, suspicion or refusals hold tasks back, tasks were dropped, or a queue gave as many
    /// as requested.
    more: bool,
}

fn claim_ready(step: &mut Step<'_>, worker: &WorkerId, claim: &ClaimRequest) -> Result<ReadyTasks> {
    let (mut claimed, mut more) = (Vec::new(), !step.catalog().limited.is_empty() || !claim.refused.is_empty());
    let (mut expired, mut held_back_until) = (Vec::new(), None);
    for wish in &claim.queues {
        let limit = wish.limit.min(claim.limit - claimed.len());
        if limit == 0 || expired.len() >= MAX_EXPIRED || !step.catalog().is_open(&wish.queue) {
            continue;
        }
        let Some(queue) = step.find_queue(&wish.queue)? else { continue };
        let room = ClaimRoom::of(step, queue)?;
        let (limit, before) = (limit.min(room.tasks(step.now)), claimed.len());
        if limit > 0 {
            let refused = unknown::RefusedKinds::of(claim, &wish.queue);
            let first_gate = unknown::first_gate(step, queue)?;
            if first_gate.is_some() {
                more = true;
                unknown::let_return(step, queue, &refused, limit)?;
            }
            let mut gates = gates::Gates::of(step, queue, refused, limit)?;
            let mut taker = QueueClaim {
                queue,
                name: &wish.queue,
                worker,
                lease: claim.lease,
                claimed: &mut claimed,
                expired: &mut expired,
                held_back_until: &mut held_back_until,
            };
            let has_suspects = first_gate.as_ref().is_some_and(|gate| gate == unknown::SUSPECTS);
            let mut left = limit - taker.take_suspects(step, limit, has_suspects, gates.as_mut())?;
            while left > 0 {
                let dropped = taker.expired.len();
                let open = match &mut gates {
                    Some(gates) => gates.make_way(step, left, |step, key| taker.drop_expired(step, key))?,
                    None => left,
                };
                left -= taker.take(step, open)?;
                let has_dropped = taker.expired.len() > dropped;
                if taker.expired.len() >= MAX_EXPIRED || !has_dropped && (open == 0 || gates.is_none()) {
                    break;
                }
                if has_dropped && first_gate.is_some() {
                    unknown::let_return(step, queue, &unknown::RefusedKinds::of(claim, &wish.queue), left)?;
                }
            }
            match gates {
                None => more |= left == 0,
                Some(gates) => gates.note_started(step, limit - left)?,
            }
            room.note_started(step, queue, claimed.len() - before)?;
        }
    }
    let more = (more || !expired.is_empty()) && !claimed.is_empty();
    Ok(ReadyTasks { claimed, expired, held_back_until, more })
}

/// What a waiting worker is woken for, and when a rate allows it more.
fn what_to_wait_for(
    step: &Step<'_>,
    claim: &ClaimRequest,
    claimed: &[ClaimedTask],
) -> Result<(Wants, Option<Duration>)> {
    // The tasks it took leave no room: further tasks wake other workers.
    let taken_of = |queue: &QueueName| claimed.iter().filter(|task| task.queue == *queue).count();
    let limit = claim.limit.saturating_sub(claimed.len());
    let mut wants = Wants { ready: Vec::new(), freed: Vec::new(), limit, refused: BTreeMap::new() };
    let mut soonest: Option<Duration> = None;
    for wish in claim.queues.iter().filter(|wish| step.catalog().is_open(&wish.queue)) {
        let Some(queue) = step.find_queue(&wish.queue)? else { continue };
        let room = ClaimRoom::of(step, queue)?;
        let wait = room.wait(step.now, wish.limit.min(claim.limit)).filter(|_| wish.limit > 0);
        if room.slots == 0 {
            wants.freed.push(queue);
        } else if let Some(wait) = wait
            && step.tally(queue, &[Status::Submitted])? > 0
        {
            // It returns by itself at that time; waking it for a further submission would be useless.
            soonest = soonest.into_iter().chain([wait]).min();
        } else {
            wants.ready.push((queue, wish.limit.saturating_sub(taken_of(&wish.queue))));
            let refused = unknown::RefusedKinds::of(claim, &wish.queue);
            if wish.limit > 0 {
                soonest = soonest.into_iter().chain(gates::next_due(step, queue, !refused.is_empty())?).min();
            }
            if !refused.is_empty() {
                wants.refused.insert(queue, refused.gates().cloned().collect());
            }
        }
    }
    Ok((wants, soonest))
}

/// A claim from one queue.
pub(crate) struct QueueClaim<'a> {
    queue: i64,
    name: &'a QueueName,
    worker: &'a WorkerId,
    lease: Duration,
    /// Receives the leased tasks.
    claimed: &'a mut Vec<ClaimedTask>,
    /// Receives those that were dropped.
    expired: &'a mut Vec<LostTask>,
    /// Receives when the first probation ends that holds suspects back.
    held_back_until: &'a mut Option<Timestamp>,
}

impl QueueClaim<'_> {
    /// Of the next `limit` tasks that are not suspect, drops those that have expired, and leases the others. Returns how
    /// many it leased.
    fn take(&mut self, step: &mut Step<'_>, limit: usize) -> Result<usize> {
        let mut next = step.prepare(sql::NEXT_READY)?;
        let mut rows = next.query((self.queue, sql::count(limit))).or_store()?;
        let (mut leases, mut late) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next().or_store()? {
            if is_late(row, EXPIRY_COLUMNS, step.now)? {
                late.push(row.get("key").or_store()?);
            } else {
                leases.push(self.hand_out(row, step)?);
            }
        }
        drop(rows);
        self.lease(step, &leases)?;
        for key in late {
            self.drop_expired(step, key)?;
        }
        Ok(leases.len())
    }

    /// Drops a task that has expired.
    pub(crate) fn drop_expired(&mut self, step: &mut Step<'_>, key: i64) -> Result<()> {
        self.expired.push(expiry::drop_task(step, key, self.worker)?);
        Ok(())
    }

    /// Leases ready suspects, if any: as many as the worker may hold and `gates` let pass. Returns how many.
    fn take_suspects(
        &mut self,
        step: &mut Step<'_>,
        limit: usize,
        mut has_suspects: bool,
        mut gates: Option<&mut gates::Gates>,
    ) -> Result<usize> {
        if let Some(gates) = &mut gates {
            gates.let_back(step, limit)?;
            has_suspects = true;
        }
        let suspects = if has_suspects { self.ready_suspects(step)? } else { Vec::new() };
        if suspects.is_empty() {
            return Ok(0);
        }
        let mut held = losses::held_by(step, self.worker)?;
        let mut leases = Vec::new();
        let mut by_key = step.prepare(sql::READY_TASK)?;
        for (key, suspicion, fields) in suspects {
            if leases.len() == limit {
                break;
            }
            if !held.may_add(suspicion) {
                *self.held_back_until = held.first_end();
                continue;
            }
            if let Some(gates) = &mut gates
                && (gates.refuses(&fields) || !gates.ask(step, key, &fields)?)
            {
                continue;
            }
            held.add(suspicion, step.now);
            let mut rows = by_key.query([key]).or_store()?;
            if let Some(row) = rows.next().or_store()? {
                leases.push(self.hand_out(row, step)?);
            }
        }
        self.lease(step, &leases)?;
        Ok(leases.len())
    }

    fn ready_suspects(&self, step: &Step<'_>) -> Result<Vec<(i64, Suspicion, GateFields)>> {
        let mut statement = step.prepare(sql::READY_SUSPECTS)?;
        let [key, losses, ran_s] = SUSPECT_COLUMNS;
        let read = |row: &Row<'_>| {
            let suspicion = Suspicion::new(row.get(losses)?, row.get(ran_s)?);
            Ok((row.get(key)?, suspicion, GateFields::read(row, GATE_COLUMNS)?))
        };
        let rows = statement.query_map((self.queue, sql::count(MAX_SUSPECTS)), read).or_store()?;
        rows.collect::<rusqlite::Result<_>>().or_store()
    }

    /// Adds a row of `next_ready` to the worker's tasks. Returns its key and fence.
    fn hand_out(&mut self, row: &Row<'_>, step: &mut Step<'_>) -> Result<(i64, i64)> {
        let (key, fence) = (row.get("key").or_store()?, step.next_revision());
        match claimed_task(row, self.name, fence, step.now) {
            Ok(task) => {
                history::note_waited(step, self.queue, task.ready_at);
                self.claimed.push(task);
            }
            // It does not block its neighbours: its lease expires unassigned and counts as a crash.
            Err(error) => warn!(key, %error, "a queue held a task that can't be read"),
        }
        Ok((key, fence))
    }

    fn lease(&self, step: &mut Step<'_>, leases: &[(i64, i64)]) -> Result<()> {
        let mut lease_one = step.prepare(sql::CLAIM_TASK)?;
        let expires_at = step.now.after(self.lease).as_micros();
        if !leases.is_empty() {
            step.note_due(Chore::Reclaim, self.queue, expires_at);
        }
        for (key, fence) in leases {
            let leased = lease_one.execute((key, fence, step.now_micros(), self.worker.as_str(), expires_at));
            if leased.or_store()? != 1 {
                return Err(Error::Corrupt(format!("the index of ready tasks names row {key}, which is not ready")));
            }
            step.note_moved(*key, self.queue, Status::Submitted, Move::Claim, Status::Started)?;
        }
        Ok(())
    }
}

/// Reads a row of `next_ready` as a claimed task.
fn claimed_task(row: &Row<'_>, queue: &QueueName, fence: i64, now: Timestamp) -> Result<ClaimedTask> {
    let mut columns = Columns::of(row);
    let _key: i64 = columns.take("key")?;
    let mut task = ClaimedTask {
        id: columns.name("id", TaskId::new)?,
        name: columns.name("name", TaskName::new)?,
        version: columns.take("version")?,
        queue: queue.clone(),
        priority: columns.priority("rank")?,
        overrides: columns.overrides("overrides")?,
        attempt: columns.take::<u32>("attempt")? + 1,
        crashes: columns.take("crashes")?,
        fence: Fence(fence.unsigned_abs()),
        submitted_at: columns.time("submitted_at")?,
        ready_at: columns.time("ready_at")?,
        started_at: now,
        trace: columns.trace("trace")?,
        last_span: columns.trace("last_span")?,
        metadata: columns.metadata("metadata")?,
        concurrency_key: columns.concurrency_key("concurrency_key")?,
        parameters: columns
            .payload("parameters_type", "parameters")?
            .ok_or_else(|| Error::Corrupt("a task without parameters is ready".to_owned()))?,
        checkpoint: None,
    };
    task.checkpoint = columns.payload("checkpoint_type", "checkpoint")?;
    Ok(task)
}

fn next_due(step: &Step<'_>, queues: &[i64]) -> Result<Option<Duration>> {
    let mut statement = step.prepare(sql::NEXT_DUE)?;
    let mut earliest: Option<i64> = None;
    for queue in queues {
        let due: Option<i64> = statement.query_row([queue], |row| row.get(0)).optional().or_store()?;
        earliest = earliest.into_iter().chain(due).min();
    }
    Ok(earliest.map(|due| Timestamp::from_micros(due).since(step.now)))
}

fn cancel_requests(step: &Step<'_>, worker: &WorkerId) -> Result<Vec<TaskId>> {
    let mut statement = step.prepare(sql::CANCEL_REQUESTS)?;
    let mut rows = statement.query([worker.as_str()]).or_store()?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next().or_store()? {
        ids.push(Columns::of(row).name("id", TaskId::new)?);
    }
    Ok(ids)
}
