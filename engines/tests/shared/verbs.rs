//! Every verb whose cost could grow with the store, asked in a crowded one.

use std::time::Duration;

use jobbers_common::{
    dependency::{Dependency, DependencyPolicy},
    engine::{
        AuditRequest, Cancelled, Deleted, ListRequest, OnConflict, PruneRequest, PruneScope, PutMode, QueueListRequest,
        Resubmit, Settlement, TaskFilter, dependencies::NewDependency,
    },
    lifecycle::Status,
    limits::{
        MAX_ADDED_DEPENDENCIES, MAX_BATCH, MAX_DEPENDENCIES, MAX_QUEUES_PER_BATCH, MAX_QUEUES_PER_CLAIM, SIGNALS_A_STEP,
    },
    name::QueueName,
    payload::Payload,
    queue::{QueueConfig, Retention, rate::RateLimit},
    task::{ClaimedTask, Start},
};
use jobbers_law::conformance::{DONE, Fixture, id, queue, seconds, worker};

use super::{
    DOOMED, LARGE, Size, batch, claim,
    costs::{Cost, Costs, Meter, TIMES},
    empty, idle, other,
};

/// How many tasks a worker with defaults settles and claims at once.
const OF_A_WORKER: usize = 128;
/// How many a page of `GET /tasks` has.
const PAGE: usize = 100;

/// What each verb costs in a store filled to this size.
pub(crate) async fn measure(f: &Fixture, size: Size, meter: &mut impl Meter) -> Costs {
    let mut costs = Costs::default();
    look(f, size, meter, &mut costs).await;
    work(f, meter, &mut costs).await;
    steer(f, meter, &mut costs).await;
    arrange(f, meter, &mut costs).await;
    keep(f, meter, &mut costs).await;
    pass_time(f, size, meter, &mut costs).await;
    audit(f, meter, &mut costs).await;
    submit_more(f, meter, &mut costs).await;
    depend(f, meter, &mut costs).await;
    wait_for_many(f, meter, &mut costs).await;
    costs
}

async fn page(f: &Fixture, filter: TaskFilter, cursor: Option<String>) -> Option<String> {
    f.engine.list(ListRequest { filter, limit: PAGE, cursor }).await.unwrap().next
}

async fn look(f: &Fixture, size: Size, meter: &mut impl Meter, costs: &mut Costs) {
    costs.measure(meter, "list", async |_| drop(page(f, TaskFilter::default(), None).await)).await;
    let statuses = [
        ("list started", Status::Started),
        ("list submitted", Status::Submitted),
        ("list scheduled", Status::Scheduled),
        ("list completed", Status::Completed),
        ("list failed", Status::Failed),
        ("list stalled (none)", Status::Stalled),
    ];
    for (verb, status) in statuses {
        let filter = TaskFilter { statuses: vec![status], ..TaskFilter::default() };
        let mut next = None;
        let call = async |_| next = page(f, filter.clone(), next.take()).await;
        costs.measure(meter, verb, call).await;
    }
    let of_worker = TaskFilter { worker: Some(worker("w07")), ..TaskFilter::default() };
    costs.measure(meter, "list by worker", async |_| drop(page(f, of_worker.clone(), None).await)).await;
    let started = TaskFilter { statuses: vec![Status::Started], ..of_worker };
    costs.measure(meter, "list started by worker", async |_| drop(page(f, started.clone(), None).await)).await;
    let in_queue = TaskFilter { queue: Some(queue(LARGE)), ..TaskFilter::default() };
    costs.measure(meter, "list a queue", async |_| drop(page(f, in_queue.clone(), None).await)).await;
    let some = QueueListRequest { after: None, limit: 1_000 };
    costs
        .measure(meter, "stats of 1000 queues", async |_| drop(f.engine.list_queues(some.clone()).await.unwrap()))
        .await;
    costs.measure(meter, "stats of a queue", async |_| drop(f.stats(LARGE).await)).await;
    // The large queue's last batch that waits, and its last task that is due.
    let last = (size.queued / MAX_BATCH - 1) / 2 * 2 * MAX_BATCH + MAX_BATCH * 9 / 10 - 1;
    let last = id(&format!("r{last}"));
    let place = async |_| assert!(f.engine.place(&last).await.unwrap().is_some());
    costs.measure(meter, "place", place).await;
    costs.measure(meter, "health", async |_| drop(f.engine.health().await.unwrap())).await;
}

async fn work(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    let queues: Vec<String> = (0..MAX_QUEUES_PER_CLAIM).map(idle).collect();
    let call = async |_| assert!(claim(f, 1, &queues, OF_A_WORKER, Vec::new()).await.is_empty());
    costs.measure(meter, "claim, 1024 idle queues", call).await;
    let large = [LARGE.to_owned()];
    let call = async |n| drop(f.submit(batch(&format!("s{n}-"), 0, MAX_BATCH, &large)).await);
    costs.measure(meter, "submit 1000", call).await;
    let many: Vec<String> = (0..MAX_QUEUES_PER_BATCH).map(empty).collect();
    let call = async |n| drop(f.submit(batch(&format!("t{n}-"), 0, MAX_BATCH, &many)).await);
    costs.measure(meter, "submit 1000 to 100 queues", call).await;
    let mut held: Vec<ClaimedTask> = Vec::new();
    let call = async |_| {
        let settlements = held.drain(..).map(|task| Settlement::new(task.id, task.fence, DONE)).collect();
        held = claim(f, 1, &large, OF_A_WORKER, settlements).await;
    };
    costs.measure(meter, "settle and claim 128", call).await;
    costs
        .measure(meter, "promote, nothing due", async |_| assert_eq!(f.engine.promote_due(MAX_BATCH).await, Ok(0)))
        .await;
    let call = async |_| assert_eq!(f.engine.reclaim_expired(MAX_BATCH).await.unwrap().total(), 0);
    costs.measure(meter, "reclaim, nothing expired", call).await;
}

async fn steer(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    let ids = |prefix: &str, first: usize, step: usize| {
        (0..MAX_BATCH).map(|n| id(&format!("{prefix}{}", first + n * step))).collect::<Vec<_>>()
    };
    // Those of the middle of the large queue.
    let call = async |n: usize| drop(f.engine.cancel(&ids(&format!("s{n}-"), 0, 1)).await.unwrap());
    costs.measure(meter, "cancel 1000", call).await;
    // Every twentieth of the finished has failed.
    let call = async |n: usize| {
        let failed = ids("f", n * 20 * MAX_BATCH, 20).into_iter().map(Resubmit::of_store).collect();
        f.engine.resubmit(failed).await.unwrap();
    };
    costs.measure(meter, "resubmit 1000", call).await;
    let large = [LARGE.to_owned()];
    let call = async |n: usize| {
        let mut tasks = batch("f", 2 * n * MAX_BATCH, MAX_BATCH, &large);
        // The even ones have completed, and get another body.
        tasks.retain(|task| !task.id.as_str().ends_with('0'));
        tasks.iter_mut().for_each(|task| task.parameters = Payload::json(&b"{\"n\":2}"[..]));
        f.try_submit(tasks, OnConflict::Replace).await.unwrap();
    };
    costs.measure(meter, "replace 900 finished", call).await;
}

async fn put(f: &Fixture, config: QueueConfig) {
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
}

async fn arrange(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    let plain = QueueConfig::new(queue(LARGE));
    let most = |n: usize| u32::try_from(n).ok().map(|n| 100_000 + n);
    let call = async |n| put(f, QueueConfig { max_concurrent: most(n), ..plain.clone() }).await;
    costs.measure(meter, "put max_concurrent", call).await;
    let call = async |n| put(f, QueueConfig { max_length: Some(1_000_000 + n as u64), ..plain.clone() }).await;
    costs.measure(meter, "put max_length", call).await;
    let call = async |n| put(f, QueueConfig { max_concurrent_per_key: most(n), ..plain.clone() }).await;
    costs.measure(meter, "put max_concurrent_per_key", call).await;
    let call = async |n| put(f, QueueConfig { max_bytes: Some(1 << 40 | n as u64), ..plain.clone() }).await;
    costs.measure(meter, "put max_bytes", call).await;
    costs
        .measure(meter, "promote, counting bytes", async |_| assert!(f.engine.promote_due(MAX_BATCH).await.is_ok()))
        .await;
    costs.measure(meter, "put no limit", async |_| put(f, plain.clone()).await).await;
    let doomed = queue(DOOMED);
    let call = async |_| {
        let deleted = f.engine.delete_queue(&doomed, None).await.unwrap();
        assert!(matches!(deleted, Deleted::More | Deleted::Done));
    };
    costs.measure(meter, "delete a queue", call).await;
}

async fn prune(f: &Fixture, scope: &PruneScope, cursor: Option<String>) -> Option<String> {
    let request = PruneRequest { scope: scope.clone(), limit: MAX_BATCH, dry_run: false, cursor };
    f.engine.prune(request).await.unwrap().next
}

async fn keep(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    let (large, to): (QueueName, QueueName) = (queue(LARGE), queue(&other(0)));
    let call = async |_| assert_eq!(f.engine.move_tasks(&large, &to, MAX_BATCH).await, Ok(MAX_BATCH as u64));
    costs.measure(meter, "move 1000", call).await;
    costs.measure(meter, "purge 1000", async |_| assert!(f.engine.purge_queue(&large, MAX_BATCH).await.is_ok())).await;
    let mut next = None;
    let retention = PruneScope::Retention;
    // A walk over queues in which all is within its retention, but for one.
    costs.measure(meter, "prune by retention", async |_| next = prune(f, &retention, next.take()).await).await;
    let matching = |filter| PruneScope::Matching { filter, finished_before: None, larger_than: None };
    let failed = matching(TaskFilter { statuses: vec![Status::Failed], ..TaskFilter::default() });
    let mut next = None;
    costs.measure(meter, "prune the failed", async |_| next = prune(f, &failed, next.take()).await).await;
    let of_queue = matching(TaskFilter { queue: Some(large.clone()), ..TaskFilter::default() });
    costs.measure(meter, "prune a queue", async |_| drop(prune(f, &of_queue, None).await)).await;
    let settings = QueueConfig::new(large.clone());
    let retention = Retention { count: 0, ..settings.retention.clone() };
    put(f, QueueConfig { retention, ..settings.clone() }).await;
    let mut next = None;
    let scope = PruneScope::Retention;
    costs.measure(meter, "prune, nothing is to be kept", async |_| next = prune(f, &scope, next.take()).await).await;
    put(f, settings).await;
}

/// What time brings: leases end, and what was for later is due.
async fn pass_time(f: &Fixture, size: Size, meter: &mut impl Meter, costs: &mut Costs) {
    f.advance(seconds(61));
    let share = MAX_BATCH.min(size.leases / TIMES);
    let call = async |_| assert!(f.engine.reclaim_expired(share).await.unwrap().total() > 0);
    costs.measure(meter, "reclaim", call).await;
    f.advance(seconds(7_200));
    // Some of what was for later has been moved or purged.
    let share = MAX_BATCH.min(size.queued / 10 / TIMES / 2);
    costs.measure(meter, "promote", async |_| assert!(f.engine.promote_due(share).await.unwrap() > 0)).await;
}

/// Submissions of which each task has a time of its own, and to queues each of which has limits of its own.
async fn submit_more(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    let call = async |n: usize| {
        let mut tasks = batch(&format!("u{n}-"), 0, MAX_BATCH, &[LARGE.to_owned()]);
        for (n, task) in tasks.iter_mut().enumerate() {
            task.start = Start::After(seconds(3_600) + Duration::from_millis(n as u64));
        }
        f.submit(tasks).await;
    };
    costs.measure(meter, "submit 1000 for as many times", call).await;
    let queues: Vec<String> = (MAX_QUEUES_PER_BATCH..2 * MAX_QUEUES_PER_BATCH).map(empty).collect();
    let rate = RateLimit { tasks: 10_000, per: seconds(1), burst: None };
    for name in &queues {
        let limits = QueueConfig::new(queue(name));
        put(f, QueueConfig { max_length: Some(1_000_000), submit_rate_limit: Some(rate), ..limits }).await;
    }
    let call = async |n| drop(f.submit(batch(&format!("v{n}-"), 0, MAX_BATCH, &queues)).await);
    costs.measure(meter, "submit 1000 to 100 limited queues", call).await;
}

/// As many edges as one call adds, and the longest search for a circle.
async fn depend(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    let edge =
        |run: String, after: String| NewDependency { run: id(&run), after: id(&after), policy: Default::default() };
    for n in 0..TIMES {
        f.submit(batch(&format!("e{n}-"), 0, 2 * MAX_ADDED_DEPENDENCIES, &[LARGE.to_owned()])).await;
    }
    let call = async |n: usize| {
        let name = |k: usize| format!("e{n}-{k}");
        let edges = (0..MAX_ADDED_DEPENDENCIES).map(|k| edge(name(k), name(MAX_ADDED_DEPENDENCIES + k)));
        f.engine.add_dependencies(&edges.collect::<Vec<_>>()).await.unwrap();
    };
    costs.measure(meter, "add 100 dependencies", call).await;
    let length = 2 * MAX_BATCH;
    for chain in ["c-", "d-"] {
        let mut tasks = batch(chain, 0, length, &[LARGE.to_owned()]);
        for (n, task) in tasks.iter_mut().enumerate().skip(1) {
            task.depends_on = vec![Dependency { on: id(&format!("{chain}{}", n - 1)), policy: Default::default() }];
        }
        while !tasks.is_empty() {
            f.submit(tasks.drain(..MAX_BATCH).collect()).await;
        }
    }
    let call = async |_| {
        let refused = f.engine.add_dependencies(&[edge("c-0".to_owned(), format!("d-{}", length - 1))]).await;
        assert_eq!(refused.map_err(|error| error.kind()), Err("too_many_to_check"));
    };
    costs.measure(meter, "check 800 edges for a circle", call).await;
}

/// Tasks that wait for as many others as one may: the step that stores such a task and those that link it, its cancel with the
/// steps that delete its edges, and its end with those that let go of its predecessors.
async fn wait_for_many(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    const FAN_IN: &str = "fan-in";
    f.create_queue(FAN_IN).await;
    let mut many = batch("wide-", 0, MAX_DEPENDENCIES, &[LARGE.to_owned()]);
    let on = |policy| {
        let edge = |n: usize| Dependency { on: id(&format!("wide-{n}")), policy };
        (0..MAX_DEPENDENCIES).map(edge).collect::<Vec<_>>()
    };
    let fan_in = |prefix: &str, policy| {
        let mut tasks = batch(prefix, 0, 1, &[FAN_IN.to_owned()]);
        tasks[0].depends_on = on(policy);
        tasks
    };
    many.iter_mut().for_each(|task| task.start = Start::After(seconds(864_000)));
    for tasks in many.chunks(MAX_BATCH) {
        f.submit(tasks.to_vec()).await;
    }
    let name = |n: usize| format!("all{n}-");
    let call = async |n| drop(f.submit(fan_in(&name(n), DependencyPolicy::AbortSuccessors)).await);
    costs.measure(meter, "submit a task that waits for 10000", call).await;
    let ticks = async || {
        for _ in 0..3 * MAX_DEPENDENCIES / SIGNALS_A_STEP {
            f.engine.promote_due(MAX_BATCH).await.unwrap();
        }
    };
    let call = async |n| {
        assert_eq!(f.engine.cancel(&[id(&format!("{}0", name(n)))]).await, Ok(vec![Cancelled::Done]));
        ticks().await;
    };
    costs.measure(meter, "cancel a task that waits for 10000", call).await;
    let purged = |n| queue(&format!("purged-{n}"));
    for n in 0..TIMES {
        f.create_queue(purged(n).as_str()).await;
        for place in 0..2 {
            let mut task = fan_in(&format!("purged{n}-{place}-"), DependencyPolicy::AbortSuccessors);
            task[0].queue = purged(n);
            f.submit(task).await;
        }
    }
    let call = async |n| {
        while f.engine.purge_queue(&purged(n), MAX_BATCH).await.unwrap() > 0 {}
        ticks().await;
    };
    costs.measure(meter, "purge two tasks that wait for 10000", call).await;
    let ids: Vec<_> = many.iter().map(|task| task.id.clone()).collect();
    for ids in ids.chunks(MAX_BATCH) {
        f.engine.cancel(ids).await.unwrap();
    }
    for n in 0..TIMES {
        f.submit(fan_in(&format!("after{n}-"), DependencyPolicy::RunWithFailures)).await;
    }
    let call = async |_| {
        let claimed = claim(f, 1, &[FAN_IN.to_owned()], 1, Vec::new()).await;
        assert_eq!(claimed.len(), 1);
        let settlements = claimed.into_iter().map(|task| Settlement::new(task.id, task.fence, DONE)).collect();
        claim(f, 1, &[FAN_IN.to_owned()], 0, settlements).await;
        ticks().await;
    };
    costs.measure(meter, "end a task that waited for 10000", call).await;
}

/// Asks for some pieces of the audit; answers where the next one begins.
async fn audit_pieces(f: &Fixture, meter: &mut impl Meter, mut cursor: Option<String>) -> (Cost, Option<String>) {
    meter.begin().await;
    for _ in 0..meter.pieces_at_once() {
        let audited = f.engine.audit(AuditRequest { limit: MAX_BATCH, repair: false, cursor }).await.unwrap();
        assert_eq!(audited.findings, []);
        cursor = audited.next;
        if cursor.is_none() {
            break;
        }
    }
    (meter.cost().await, cursor)
}

/// The whole walk; of its pieces the one that costs most. Those that seem to are asked again, as other verbs are.
async fn audit(f: &Fixture, meter: &mut impl Meter, costs: &mut Costs) {
    let (mut worst, mut cursor) = (Vec::new(), None);
    loop {
        let (cost, next) = audit_pieces(f, meter, cursor.clone()).await;
        if !meter.is_beside(cursor.as_deref()) && worst.get(1).is_none_or(|worst| cost > *worst) {
            let mut again = vec![cost];
            while again.len() < TIMES {
                again.push(audit_pieces(f, meter, cursor.clone()).await.0);
            }
            again.sort_unstable();
            worst = std::cmp::max_by_key(worst, again, |costs| costs.get(1).copied());
        }
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    costs.0.push(("audit", worst));
}
