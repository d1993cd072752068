//! `/leases`: workers in any language claim tasks, keep their leases, and return them.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Extension as FromRequestExtension, Json as JsonAnswer,
    extract::State,
    response::{IntoResponse, Response},
};
use jobbers_api::{
    lease::{
        RefusedEntry, check_named_once,
        claim::{LeaseRequest, LeasedTaskView, LeasesView},
        extend::{ExtendRequest, ExtendedListView},
        returned::{ReturnRequest, ReturnedListView},
    },
    problem::{Code, Problem, Result, WITH_BODY},
};
use jobbers_common::{
    engine::{
        ClaimRequest, Error, ExtendAnswer, Parents, ParentsRequest, QueueClaim, Settlement, TaskFilter,
        parents::result_bytes,
    },
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId, WorkerId},
    outcome::settling::settle_unknown,
    queue::Config,
    task::ClaimedTask,
    worker::{
        ANY_TASK,
        task_kind::{TaskKind, unknown_delay},
    },
};

use crate::{
    api::lists::listing,
    app::App,
    doors::Reach,
    handlers::{
        extract::{Json, JsonBytes},
        problem::problems,
    },
    leases::{Undelivered, http_workers::Claimant},
    listening::server::Caller,
};

use self::ending::Returned;

mod ending;

problems!(LeaseProblems: WITH_BODY, [Code::UnknownQueue]);
problems!(ExtendProblems: WITH_BODY, [Code::BatchTooLarge, Code::UnknownTask]);
problems!(ReturnProblems: WITH_BODY, [Code::BatchTooLarge, Code::UnknownTask]);

/// The wait before the store is asked again without a wake-up: at least, and at most.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));
/// How often all callers that wait ask the store in a second, as far as [`LOOK_AGAIN`] allows.
const LOOKS_A_SECOND: u32 = 500;
/// How many tasks are claimed first.
const FIRST_CLAIM: usize = 32;
/// An answer ends once its tasks' parameters have so many bytes.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// How many bytes of predecessors' results a lease has at most, unless the first alone has more.
const PARENT_BYTES_A_LEASE: usize = 256 * 1024;
/// How many bytes of predecessors' results an answer has in all, and at most one result more.
const PARENT_BYTES_AN_ANSWER: usize = 4 * 1024 * 1024;
/// What the list of workers shows as the version of a program that does not say it. Its `User-Agent` is its HTTP library's.
const UNKNOWN_VERSION: &str = "unknown";
/// How long a lease lasts that leaves a checkpoint, until its return is stored.
const WHILE_RETURNED: Duration = Duration::from_secs(30);
/// How long a task waits of a kind that other workers know and that a claim can't refuse besides all others.
const HANDED_ON_DELAY: Duration = Duration::from_secs(10);

/// Lease tasks
///
/// For workers in any language. Each task is leased to `worker` until `expires_at`: extend the lease before that, and
/// return the task when it is done. A lease that expires counts as a crash of the worker, and the task is given to
/// another. With `wait` the answer comes when a task is available. A request whose client goes away leases nothing:
/// undelivered tasks go back to their places, and no attempt is counted.
#[utoipa::path(
    post, path = "/leases", tag = "leases", operation_id = "lease_tasks", request_body = LeaseRequest,
    security(("key" = ["tasks:lease"])),
    responses((status = 200, description = "The leased tasks, perhaps none", body = LeasesView), LeaseProblems)
)]
pub(crate) async fn lease(
    State(app): State<Arc<App>>,
    caller: Option<FromRequestExtension<Caller>>,
    reach: Option<FromRequestExtension<Reach>>,
    Json(request): Json<LeaseRequest>,
) -> Result<Response> {
    request.check()?;
    let (lease, until, tasks) = (request.lease()?, Instant::now() + request.wait()?, request.tasks()?);
    if let Some(FromRequestExtension(reach)) = &reach {
        reach.check_claim(&request.queues, tasks.as_ref().map(|tasks| tasks.iter().map(|task| &task.name)))?;
    }
    let LeaseRequest { worker, version, queues, limit, predecessors, .. } = request;
    let workers = &app.leases.workers;
    let (queues, unknown_queues) = known_queues(&app, &worker, queues).await?;
    let claimant = Claimant {
        host: caller.and_then(|caller| caller.0.peer).map(|peer| peer.to_string()).unwrap_or_default(),
        version: version.unwrap_or_else(|| UNKNOWN_VERSION.to_owned()),
        queues: queues.clone(),
        tasks: match &tasks {
            Some(tasks) => tasks.iter().map(TaskKind::to_string).collect(),
            None => vec![ANY_TASK.to_owned()],
        },
        limit,
        lease,
    };
    workers.asks(&worker, claimant);
    let tasks = tasks.map(|tasks| tasks.into_iter().collect());
    let claimer = Claimer { app: &app, worker, queues, unknown_queues, tasks, limit, lease, predecessors };
    let waiting = until.saturating_duration_since(Instant::now());
    let _waiting =
        if waiting.is_zero() { None } else { Some((app.wait_share()?, WaitingCaller::begin(&app.leases.waiting))) };
    loop {
        let config = app.live.current().await?;
        let draining = config.draining.contains_key(&claimer.worker);
        workers.register_now(&claimer.worker, draining).await;
        let claimed = if draining { Claimed::default() } else { claimer.claim_all(&config).await? };
        let left = until.saturating_duration_since(Instant::now());
        if !claimed.tasks.is_empty() || left.is_zero() || app.drain.is_cancelled() {
            return claimer.answer(claimed, draining).await;
        }
        let look_again = look_again(app.leases.waiting.load(Ordering::Relaxed));
        let pause = claimed.next_due.unwrap_or(look_again).clamp(Duration::from_millis(1), look_again).min(left);
        app.drain.run_until_cancelled(app.engine.wait(&claimer.worker, pause)).await;
        workers.waits(&claimer.worker);
    }
}

/// The queues of a claim that exist, and those that do not: one action of many that has no queue yet is no reason to refuse the
/// others.
///
/// # Errors
/// [`Code::UnknownQueue`] if none exists.
async fn known_queues(
    app: &App,
    worker: &WorkerId,
    queues: Vec<QueueName>,
) -> Result<(Vec<QueueName>, Vec<QueueName>)> {
    if app.leases.workers.claims_from(worker, &queues) {
        return Ok((queues, Vec::new()));
    }
    let (mut known, mut unknown, mut refusal) = (Vec::with_capacity(queues.len()), Vec::new(), None);
    for queue in queues {
        match app.live.check_queue(&queue).await {
            Ok(()) => known.push(queue),
            Err(Error::UnknownQueue(_)) => {
                refusal.get_or_insert(Error::UnknownQueue(queue.clone()));
                unknown.push(queue);
            }
            Err(error) => return Err(error.into()),
        }
    }
    match refusal {
        Some(error) if known.is_empty() => Err(error.into()),
        _ => Ok((known, unknown)),
    }
}

/// A caller that waits, while it is kept.
struct WaitingCaller<'a>(&'a AtomicUsize);

impl<'a> WaitingCaller<'a> {
    fn begin(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// After which time one of so many callers that wait looks at the store without a wake-up. No change is missed without
/// looking; it only finds sooner what has become due.
fn look_again(waiting: usize) -> Duration {
    let (least, most) = LOOK_AGAIN;
    (Duration::from_secs(1) / LOOKS_A_SECOND * u32::try_from(waiting).unwrap_or(u32::MAX)).clamp(least, most)
}

/// A request for tasks.
struct Claimer<'a> {
    app: &'a App,
    worker: WorkerId,
    queues: Vec<QueueName>,
    /// Queues it names that do not exist.
    unknown_queues: Vec<QueueName>,
    /// The kinds of tasks it knows, if it names them.
    tasks: Option<BTreeSet<TaskKind>>,
    limit: usize,
    lease: Duration,
    /// Whether it wants the results of predecessors.
    predecessors: bool,
}

/// The result of one call of the store.
#[derive(Default)]
struct Claimed {
    tasks: Vec<ClaimedTask>,
    undelivered: Option<Undelivered>,
    cancel_requested: Vec<TaskId>,
    next_due: Option<Duration>,
}

impl Claimed {
    fn add(&mut self, more: Self) {
        self.tasks.extend(more.tasks);
        self.cancel_requested.extend(more.cancel_requested);
        self.next_due = more.next_due;
        match (&self.undelivered, more.undelivered) {
            (Some(ours), Some(theirs)) => ours.absorb(&theirs),
            (_, theirs) => self.undelivered = theirs,
        }
    }
}

impl Claimer<'_> {
    /// Claims up to its limit, or until the answer is large enough. Few tasks are claimed first, which show how large they
    /// are, so that no claim brings much more than an answer may have.
    async fn claim_all(&self, config: &Config) -> Result<Claimed> {
        let mut asked = self.limit.min(FIRST_CLAIM);
        let mut all = self.claim(config, asked).await?;
        let mut is_full = all.tasks.len() == asked;
        while is_full && all.tasks.len() < self.limit {
            let bytes: usize = all.tasks.iter().map(|task| task.parameters.len()).sum();
            let each = (bytes / all.tasks.len()).max(1);
            asked = (ANSWER_BYTES.saturating_sub(bytes) / each).min(self.limit - all.tasks.len());
            if asked == 0 {
                break;
            }
            // What is claimed already is answered; the store's failure is met again by the next request.
            let Ok(more) = self.claim(config, asked).await else { break };
            is_full = more.tasks.len() == asked;
            all.add(more);
        }
        Ok(all)
    }

    async fn claim(&self, config: &Config, limit: usize) -> Result<Claimed> {
        let known = self.app.known.current_or_first().await;
        let mut refused = match (&self.tasks, &known) {
            (Some(tasks), Some(known)) => known.refusals(&self.queues, tasks),
            _ => Vec::new(),
        };
        if let Some(tasks) = &self.tasks {
            self.app.leases.resting.add_refusals(&self.queues, tasks, &mut refused, Instant::now());
        }
        let mut queues = Vec::with_capacity(self.queues.len());
        for queue in &self.queues {
            let room = self.room_in(queue, config, limit).await?;
            queues.push(QueueClaim { queue: queue.clone(), limit: room });
        }
        let claim = ClaimRequest { queues, refused, limit, lease: self.lease };
        let (reply, undelivered) = self.app.leases.claim(self.worker.clone(), claim).await?;
        self.app.meters.reclaimed(&reply.reclaimed);
        self.app.meters.expired(&reply.expired);
        let claimed = reply.claimed.len();
        let tasks = self.leave_unknown(reply.claimed, &undelivered, config).await?;
        // After those that it gave back there may be some that it knows.
        let next_due = if tasks.len() < claimed { Some(Duration::ZERO) } else { reply.next_due };
        let cancel_requested = reply.cancel_requested;
        Ok(Claimed { tasks, undelivered: Some(undelivered), cancel_requested, next_due })
    }

    /// How many tasks of a queue it may be given, by the queue's `max_per_worker`.
    async fn room_in(&self, queue: &QueueName, config: &Config, limit: usize) -> Result<usize> {
        let Some(most) = config.queues.get(queue).and_then(|queue| queue.max_per_worker) else { return Ok(limit) };
        let most = usize::try_from(most).unwrap_or(MAX_BATCH).min(MAX_BATCH);
        let (queue, worker) = (Some(queue.clone()), Some(self.worker.clone()));
        let filter = TaskFilter { statuses: vec![Status::Started], queue, worker, ..TaskFilter::default() };
        let running = listing::fill(&*self.app.engine, filter, most.max(1), None, |_| true).await?.tasks.len();
        Ok(most.saturating_sub(running).min(limit))
    }

    /// Gives back tasks that the worker does not know: at once to others that know them, or else for a while, until the
    /// queue's patience ends.
    async fn leave_unknown(
        &self,
        claimed: Vec<ClaimedTask>,
        undelivered: &Undelivered,
        config: &Config,
    ) -> Result<Vec<ClaimedTask>> {
        let Some(tasks) = &self.tasks else { return Ok(claimed) };
        let (ours, others): (Vec<_>, Vec<_>) = claimed.into_iter().partition(|task| tasks.contains(&kind_of(task)));
        if others.is_empty() {
            return Ok(ours);
        }
        // Read again: from now on, claims refuse the kinds that other workers know.
        let known = self.app.known.fresh().await?;
        let refused = known.refusals(&self.queues, tasks);
        let (resting, now) = (&self.app.leases.resting, Instant::now());
        let settle = |task: &ClaimedTask| {
            let outcome = known.hand_on(task, &refused, HANDED_ON_DELAY).unwrap_or_else(|| {
                resting.rest(&task.queue, kind_of(task), now);
                settle_unknown(task, unknown_delay(task), config.settings_of(&task.queue).patience)
            });
            Settlement::new(task.id.clone(), task.fence, outcome)
        };
        let settlements: Vec<Settlement> = others.iter().map(settle).collect();
        undelivered.leave_out(&settlements);
        self.app.leases.settle_detached(settlements).await;
        Ok(ours)
    }

    async fn answer(&self, claimed: Claimed, draining: bool) -> Result<Response> {
        let Claimed { tasks, undelivered, cancel_requested, .. } = claimed;
        let parents = if self.predecessors { self.parents_of(&tasks).await? } else { Vec::new() };
        self.app.leases.workers.holds(&self.worker, tasks.iter().map(|task| &task.id), self.lease);
        self.app.leases.counts.leased(&tasks, self.lease);
        let parents = parents.iter().map(Some).chain(std::iter::repeat(None));
        let leases =
            tasks.iter().zip(parents).map(|(task, parents)| LeasedTaskView::new(task, self.lease, parents)).collect();
        let view = LeasesView { leases, cancel_requested, draining, unknown_queues: self.unknown_queues.clone() };
        let mut response = JsonAnswer(view).into_response();
        if let Some(undelivered) = undelivered {
            response.extensions_mut().insert(undelivered);
        }
        Ok(response)
    }

    /// The predecessors of each task: the first ones, as far as the bounds on their results allow.
    async fn parents_of(&self, tasks: &[ClaimedTask]) -> Result<Vec<Parents>> {
        let (mut found, mut left) = (Vec::with_capacity(tasks.len()), PARENT_BYTES_AN_ANSWER);
        for task in tasks {
            let most = left.min(PARENT_BYTES_A_LEASE);
            let limit = if left == 0 { 1 } else { MAX_BATCH };
            let mut parents = self.app.engine.parents(ParentsRequest::all(task.id.clone(), limit, most)).await?;
            if left == 0 {
                parents.parents.clear();
            }
            let bytes: usize = parents.parents.iter().map(|parent| result_bytes(parent.result.as_ref())).sum();
            left = left.saturating_sub(bytes);
            found.push(parents);
        }
        Ok(found)
    }
}

fn kind_of(task: &ClaimedTask) -> TaskKind {
    TaskKind { name: task.name.clone(), version: task.version }
}

/// Extend leases
///
/// Several at once, with heartbeats, progress and checkpoints. Each is answered independently, in the order sent: one that
/// makes no sense is refused with a `code`, and the others are extended. An expired lease is extended too, unless the task
/// was given to another worker. The tokens stay the same.
#[utoipa::path(
    post, path = "/leases/extend", tag = "leases", operation_id = "extend_leases", request_body = ExtendRequest,
    security(("key" = ["tasks:lease"])),
    responses((status = 200, description = "The result for each", body = ExtendedListView), ExtendProblems)
)]
pub(crate) async fn extend(
    State(app): State<Arc<App>>,
    reach: Option<FromRequestExtension<Reach>>,
    request: JsonBytes,
) -> Result<Response> {
    let request_body: ExtendRequest<'_> = request.decode(&app).await?;
    let lease = request_body.lease()?;
    let ExtendRequest { worker, leases, .. } = request_body;
    check_count(leases.len())?;
    let (mut entries, mut extensions) = (Vec::with_capacity(leases.len()), Vec::with_capacity(leases.len()));
    let mut named = HashSet::with_capacity(leases.len());
    for entry in leases {
        entries.push(entry.read().and_then(|entry| {
            let id = entry.id.clone();
            check_named_once(named.insert(id.clone()))
                .and_then(|()| entry.extension(app.max_payload_bytes))
                .map(|extension| extensions.push(extension))
                .map_err(|problem| RefusedEntry::new(&id, problem))?;
            Ok(id)
        }));
    }
    if let Some(FromRequestExtension(reach)) = &reach {
        reach.check_leases(&*app.engine, entries.iter().flatten()).await?;
    }
    let ids: Vec<TaskId> = extensions.iter().map(|extension| extension.id.clone()).collect();
    let answers = match extensions.is_empty() {
        true => Vec::new(),
        false => app.leases.noted(app.engine.extend(&worker, lease, extensions).await).await?,
    };
    let lost = |answer: &ExtendAnswer| *answer == ExtendAnswer::LeaseLost;
    let of = |are_lost: bool| ids.iter().zip(&answers).filter(move |it| lost(it.1) == are_lost).map(|(id, _)| id);
    app.leases.workers.holds(&worker, of(false), lease);
    app.leases.counts.extended(of(false), lease);
    app.leases.workers.lets_go(&worker, of(true), 0);
    Ok(JsonAnswer(ExtendedListView::new(entries, &answers)).into_response())
}

/// Return tasks
///
/// Several at once, each with how its attempt ended, and each answered independently, in the order sent: one that makes no
/// sense is refused with a `code`, its task stays leased, and the others are settled. Sending this again is safe: a return
/// that ended its task and says the same gets the first answer again, any other one `lease_lost`.
#[utoipa::path(
    post, path = "/leases/return", tag = "leases", operation_id = "return_leases", request_body = ReturnRequest,
    security(("key" = ["tasks:lease"])),
    responses((status = 200, description = "The result for each", body = ReturnedListView), ReturnProblems)
)]
pub(crate) async fn give_back(
    State(app): State<Arc<App>>,
    reach: Option<FromRequestExtension<Reach>>,
    request: JsonBytes,
) -> Result<Response> {
    let ReturnRequest { worker, leases } = request.decode(&app).await?;
    check_count(leases.len())?;
    let Returned { entries, endings, checkpoints } = ending::read(leases, app.max_payload_bytes);
    if let Some(FromRequestExtension(reach)) = &reach {
        reach.check_leases(&*app.engine, entries.iter().flatten()).await?;
    }
    if !checkpoints.is_empty() {
        // Before the return, by which the lease is over. A lease that is lost already is answered below.
        app.engine.extend(&worker, WHILE_RETURNED, checkpoints).await?;
    }
    let settlements = ending::settlements(&app, endings).await?;
    let ids: Vec<TaskId> = settlements.iter().map(|settlement| settlement.id.clone()).collect();
    let answers = if settlements.is_empty() { Vec::new() } else { app.leases.settle(settlements.clone()).await? };
    app.leases.counts.settled(&*app.engine, &settlements, &answers).await;
    let view = ReturnedListView::new(entries, &answers);
    app.leases.workers.lets_go(&worker, &ids, view.accepted());
    Ok(JsonAnswer(view).into_response())
}

fn check_count(leases: usize) -> Result<()> {
    match leases {
        0 => Err(Problem::new(Code::InvalidRequest, "name at least one lease").at("/leases")),
        1..=MAX_BATCH => Ok(()),
        _ => {
            let detail = format!("a request names at most {MAX_BATCH} leases; send several");
            Err(Problem::new(Code::BatchTooLarge, detail).at("/leases"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_that_wait_look_at_the_store_only_so_often_together() {
        for waiting in [1, 10, 500, 501, 2_500] {
            let pause = look_again(waiting);
            assert!(pause >= LOOK_AGAIN.0 && pause <= LOOK_AGAIN.1);
            assert!(waiting as f64 / pause.as_secs_f64() <= f64::from(LOOKS_A_SECOND), "{waiting} callers");
        }
        assert_eq!(look_again(1), LOOK_AGAIN.0, "few are as quick as one");
        assert_eq!(look_again(usize::MAX), LOOK_AGAIN.1, "each looks before its worker counts as gone");
    }
}
