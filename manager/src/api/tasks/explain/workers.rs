//! The reasons that concern workers.

use std::slice;

use jobbers_api::{
    problem::Result,
    task::explain::{Reason, ReasonCode as C},
    worker::held_since,
};
use jobbers_common::{
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM},
    name::{QueueName, WorkerId},
    queue::{Config, QueueConfig, QueueOrder, RoleConfig},
    task::Task,
    worker::{RegisteredWorker, WorkerReport, WorkerState, task_kind::TaskKind},
};

use super::holders::{NAMED, started};
use crate::app::App;

/// Whether each of the workers that could claim it runs as many tasks of its queue as one worker may.
pub(super) async fn per_worker_reason(
    app: &App,
    task: &Task,
    queue: &QueueConfig,
    free: &[WorkerId],
) -> Result<Option<Reason>> {
    let Some(most) = queue.max_per_worker else { return Ok(None) };
    let running = started(app, &task.queue, MAX_BATCH).await?;
    let of = |worker: &WorkerId| running.iter().filter(|task| task.worker.as_ref() == Some(worker)).count();
    if free.iter().any(|worker| of(worker) < usize::try_from(most).unwrap_or(usize::MAX)) {
        return Ok(None);
    }
    let message =
        format!("every worker that could run it runs {most} of queue {}, as many as one worker may", task.queue);
    let holders = running.into_iter().take(NAMED).map(|task| task.id).collect();
    Ok(Some(Reason::new(C::MaxPerWorker, message).held_by(holders)))
}

/// The workers that serve its queue and know it; or the reason if none does.
pub(super) fn able_workers<'a>(
    task: &Task,
    config: &Config,
    workers: &'a [RegisteredWorker],
) -> Result<Vec<&'a WorkerReport>, Reason> {
    let queue = &task.queue;
    let serving = serving(queue, config, workers)?;
    let wanted = TaskKind { name: task.name.clone(), version: task.version };
    let able: Vec<_> = serving.iter().copied().filter(|worker| wanted.is_known_to(worker)).collect();
    if able.is_empty() {
        let message = format!("none of the {} live workers that serve queue {queue} knows {wanted}", serving.len());
        return Err(Reason::new(C::NoWorkerForTask, message).with_workers(serving.into_iter(), NAMED));
    }
    Ok(able)
}

/// The live workers that serve a queue; or the reason if none does.
pub(crate) fn serving<'a>(
    queue: &QueueName,
    config: &Config,
    workers: &'a [RegisteredWorker],
) -> Result<Vec<&'a WorkerReport>, Reason> {
    let serving: Vec<_> = workers.iter().map(|it| &it.report).filter(|it| it.queues.contains(queue)).collect();
    if serving.is_empty() { Err(unserved(queue, config, workers)) } else { Ok(serving) }
}

/// The reason for a queue that no live worker serves.
fn unserved(queue: &QueueName, config: &Config, workers: &[RegisteredWorker]) -> Reason {
    let serving = config.roles.values().filter(|role| config.served_by(role).queues.contains(queue));
    let roles: Vec<&str> = serving.map(|role| role.name.as_str()).collect();
    if roles.is_empty() {
        if let Some(role) = config.roles.values().find(|role| role.matches(queue)) {
            let message = format!(
                "no role serves queue {queue}: role {} has a pattern for it, and serves {MAX_QUEUES_PER_CLAIM} others, as \
                 many as a role may; name it in a role",
                role.name
            );
            return Reason::new(C::NoRoleForQueue, message);
        }
        return Reason::new(C::NoRoleForQueue, format!("no role serves queue {queue}: add it to one"));
    }
    let others = if workers.is_empty() { "; the store has no live worker" } else { "" };
    let message = format!("no live worker serves queue {queue}; roles that would: {}{others}", roles.join(", "));
    Reason::new(C::NoWorkerForQueue, message).with_workers(workers.iter().map(|worker| &worker.report), NAMED)
}

/// Those of the able workers that could claim it now; or the reason if none could.
pub(super) fn free_workers(task: &Task, able: &[&WorkerReport]) -> Result<Vec<WorkerId>, Reason> {
    let wanted = format!("{}@{}", task.name, task.version);
    let awake: Vec<_> = able.iter().filter(|worker| worker.state == WorkerState::Running).collect();
    if awake.is_empty() {
        return Err(Reason::new(C::WorkersDraining, format!("every worker that knows {wanted} is stopping")));
    }
    let free: Vec<_> = awake.iter().filter(|worker| worker.running < worker.slots).collect();
    if free.is_empty() {
        let message = format!("every worker that knows {wanted} runs as many tasks as it has slots");
        return Err(Reason::new(C::WorkersBusy, message));
    }
    Ok(free.into_iter().map(|worker| worker.id.clone()).collect())
}

/// For a leased task: that it runs, and since when it holds a thread if it is a blocking task; or that it waits for one.
pub(super) fn running(task: &Task, workers: &[RegisteredWorker]) -> Reason {
    let Some(id) = &task.worker else { return Reason::new(C::Running, "it runs on a worker") };
    let worker = workers.iter().find(|worker| worker.report.id == *id);
    let stopping = if task.cancel_requested { ", and has been asked to stop" } else { "" };
    let its_thread = worker.and_then(|worker| {
        let held = &worker.report.blocking.as_ref()?.held;
        let thread = held.iter().find(|thread| thread.id == task.id && thread.attempt == task.attempt)?;
        Some(held_since(thread, worker))
    });
    match (its_thread, no_free_thread(task, slice::from_ref(id), workers)) {
        (Some(since), _) => {
            Reason::new(C::Running, format!("it runs on worker {id}{stopping}, and holds a thread there")).since(since)
        }
        (None, Some(waits)) => waits,
        (None, None) => Reason::new(C::Running, format!("it runs on worker {id}{stopping}")),
    }
}

/// For a blocking task, if each of these workers runs a blocking task on every thread: which tasks, and since when.
pub(super) fn no_free_thread(task: &Task, of: &[WorkerId], workers: &[RegisteredWorker]) -> Option<Reason> {
    let kind = format!("{}@{}", task.name, task.version);
    let (mut busy, mut held) = (0, Vec::new());
    for worker in workers.iter().filter(|worker| of.contains(&worker.report.id)) {
        let blocking = worker.report.blocking.as_ref().filter(|blocking| blocking.tasks.contains(&kind))?;
        if blocking.busy < blocking.threads {
            return None;
        }
        busy += u64::from(blocking.busy);
        held.extend(blocking.held.iter().map(|thread| (held_since(thread, worker), thread.id.clone())));
    }
    held.sort();
    let of = match of {
        [one] => format!("worker {one}"),
        several => format!("the {} workers that could claim it", several.len()),
    };
    let message = format!("it waits for a thread: each thread of {of} runs another blocking task");
    let mut reason = Reason::new(C::WaitsForThread, message);
    // A report names a hundred threads; of more, the latest may be missing.
    if let Some((last, _)) = held.last().filter(|_| held.len() as u64 == busy) {
        reason = reason.since(*last);
    }
    (busy > 0).then(|| reason.held_by(held.into_iter().take(NAMED).map(|(_, id)| id).collect()))
}

/// The threads that functions of its earlier attempts still hold.
pub(super) fn held_threads(task: &Task, workers: &[RegisteredWorker]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for worker in workers {
        for thread in worker.report.hung_threads.iter().filter(|thread| thread.id == task.id) {
            let WorkerReport { id, host, pid, .. } = &worker.report;
            let message = format!(
                "attempt {} is over, but its function has not returned and holds a thread of worker {id}, \
                 process {pid} on {host}",
                thread.attempt
            );
            reasons.push(Reason::new(C::HoldsThread, message).since(held_since(thread, worker)));
        }
    }
    reasons
}

/// Whether each of the able workers has earlier queues to empty first, by the strict order of its role.
pub(super) async fn earlier_queues(
    app: &App,
    task: &Task,
    config: &Config,
    able: &[&WorkerReport],
) -> Result<Option<Reason>> {
    let mut ready: Vec<String> = Vec::new();
    let mut roles: Vec<&RoleConfig> = able.iter().filter_map(|worker| config.roles.get(&worker.role)).collect();
    roles.sort_unstable_by_key(|role| &role.name);
    roles.dedup_by_key(|role| &role.name);
    for role in roles {
        let mut stands_before = false;
        for queue in &before(config, role, &task.queue) {
            if config.queues.get(queue).is_some_and(|queue| queue.paused) {
                continue;
            }
            let stats = app.engine.queue_stats(queue).await?;
            let tasks = stats.tasks.get(&Status::Submitted).copied().unwrap_or(0);
            if tasks > 0 {
                stands_before = true;
                ready.push(format!("{queue}, with {tasks} ready, by role {}", role.name));
            }
        }
        if !stands_before {
            return Ok(None);
        }
    }
    let message = || format!("queues that its workers empty first: {}", ready.join("; "));
    Ok((!ready.is_empty()).then(|| Reason::new(C::EarlierQueues, message())))
}

/// The queues that a role empties before this one.
fn before(config: &Config, role: &RoleConfig, queue: &QueueName) -> Vec<QueueName> {
    if role.order != QueueOrder::Strict {
        return Vec::new();
    }
    let mut queues = config.served_by(role).queues;
    queues.truncate(queues.iter().position(|served| served == queue).unwrap_or(0));
    queues
}
