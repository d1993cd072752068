//! Many tasks, in bounded calls.

use std::{collections::HashSet, time::Duration};

use jobbers_common::{
    engine::{ListRequest, Page, PruneRequest, PruneScope, PutMode, Settlement, TaskFilter},
    lifecycle::Status,
    limits::MAX_BATCH,
    name::TaskName,
    queue::{QueueConfig, Retention},
    task::{ClaimedTask, NewTask, Priority, Start},
};
use jobbers_law::conformance::{DONE, Fixture, failed, id, queue, task, task_in};
use jobbers_test_support::redis_server::{RedisOptions, RedisServer};

use super::connect;

/// Completes tasks `<name>0` to `<name><count - 1>`, in this order.
async fn complete(f: &Fixture, name: &str, count: usize) {
    for first in (0..count).step_by(MAX_BATCH) {
        f.submit((first..count.min(first + MAX_BATCH)).map(|n| task(&format!("{name}{n}"))).collect()).await;
        let claimed = f.claim(MAX_BATCH).await;
        let done = claimed.into_iter().map(|task| Settlement::new(task.id, task.fence, DONE)).collect();
        f.cycle_as("w1", &["default"], 0, done).await;
    }
}

async fn keep(f: &Fixture, count: u64) {
    let retention = Retention { count, ..Retention::default() };
    let config = QueueConfig { retention, ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(config, PutMode::Upsert).await.unwrap();
}

/// Prunes to the end.
async fn prune_all(f: &Fixture, scope: PruneScope) -> u64 {
    let mut request = PruneRequest { scope, limit: MAX_BATCH, dry_run: false, cursor: None };
    let mut removed = 0;
    loop {
        let pruned = f.engine.prune(request.clone()).await.unwrap();
        removed += pruned.removed;
        request.cursor = pruned.next;
        if request.cursor.is_none() {
            return removed;
        }
    }
}

#[tokio::test]
async fn tasks_that_failed_are_found_behind_many_that_completed() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a", "b", "c"]).await;
    for claimed in f.claim(3).await {
        f.settle(&claimed, failed(false)).await;
    }
    complete(&f, "t", 2_000).await;
    let filter = TaskFilter { statuses: vec![Status::Failed, Status::Stalled], ..TaskFilter::default() };
    let request = |limit, cursor| ListRequest { filter: filter.clone(), limit, cursor };
    let page = f.engine.list(request(2, None)).await.unwrap();
    let ids = |page: &Page| page.tasks.iter().map(|task| task.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&page), ["c", "b"]);
    let rest = f.engine.list(request(2, page.next)).await.unwrap();
    assert_eq!((ids(&rest), rest.next), (vec!["a".to_owned()], None));
}

#[tokio::test]
async fn entries_of_deleted_tasks_are_ghosts_that_retention_does_not_count_and_trims() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    complete(&f, "t", 3_000).await;
    let listed = || server.command("LLEN jobbers:{0}:q:default:f");
    let ghosts = || server.command("HGET jobbers:{0}:q:default:n ghosts");
    f.submit(vec![NewTask { name: TaskName::new("resize").unwrap(), ..task("resized") }]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    let named = TaskFilter { name: Some(TaskName::new("resize").unwrap()), ..TaskFilter::default() };
    complete(&f, "more", 100).await;
    let scope = PruneScope::Matching { filter: named, finished_before: None, larger_than: None };
    assert_eq!(prune_all(&f, scope).await, 1);
    assert_eq!((listed(), ghosts()), (":3101\r\n".to_owned(), "$1\r\n1\r\n".to_owned()), "its entry stays");
    assert_eq!(f.list(TaskFilter::default(), MAX_BATCH).await.len(), 3_100);
    f.assert_conserved().await;
    keep(&f, 101).await;
    assert_eq!(prune_all(&f, PruneScope::Retention).await, 2_999);
    assert_eq!(listed(), ":102\r\n", "101 tasks and the ghost between them");
    keep(&f, 50).await;
    assert_eq!(prune_all(&f, PruneScope::Retention).await, 51);
    assert_eq!((listed(), ghosts()), (":50\r\n".to_owned(), "$1\r\n0\r\n".to_owned()));
    let kept = f.list(TaskFilter::default(), 100).await;
    assert_eq!((kept.len(), kept[49].id.as_str()), (50, "more50"));
    f.assert_conserved().await;
}

#[tokio::test]
async fn twenty_thousand_due_tasks_are_promoted_a_thousand_a_call() {
    let f = super::open().await;
    for batch in 0..20 {
        let later = |n| NewTask { start: Start::After(Duration::from_secs(1)), ..task(&format!("t{batch}-{n}")) };
        f.submit((0..MAX_BATCH).map(later).collect()).await;
    }
    f.advance(Duration::from_secs(1));
    for _ in 0..20 {
        assert_eq!(f.engine.promote_due(MAX_BATCH).await.unwrap(), 1_000);
    }
    assert_eq!(f.engine.promote_due(MAX_BATCH).await.unwrap(), 0);
    assert_eq!(f.count(Status::Submitted).await, 20_000);
}

#[tokio::test]
async fn thousands_are_claimed_settled_listed_and_pruned_each_once() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    for batch in 0..5 {
        f.submit((0..MAX_BATCH).map(|n| task(&format!("t{batch}-{n}"))).collect()).await;
    }
    let mut settlements = Vec::new();
    let mut seen = HashSet::new();
    loop {
        let reply = f.cycle_as("w1", &["default"], MAX_BATCH, settlements).await;
        if reply.claimed.is_empty() {
            break;
        }
        assert!(reply.claimed.iter().all(|task| seen.insert(task.id.clone())));
        let done = |task: ClaimedTask| Settlement::new(task.id, task.fence, DONE);
        settlements = reply.claimed.into_iter().map(done).collect();
    }
    assert_eq!((seen.len(), f.count(Status::Completed).await), (5_000, 5_000));
    let listed = f.list(TaskFilter::default(), MAX_BATCH).await;
    assert!(listed.is_sorted_by(|a, b| a.revision > b.revision), "the latest first");
    assert_eq!(listed.len(), 5_000);
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    assert_eq!(prune_all(&f, scope).await, 5_000);
    assert_eq!(server.command("HLEN jobbers:{0}:t"), ":0\r\n", "nothing is left of them");
    f.assert_conserved().await;
}

/// Creates this many queues, `q000` and so on.
async fn create_queues(f: &Fixture, count: usize) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|n| format!("q{n:03}")).collect();
    for name in &names {
        f.create_queue(name).await;
    }
    names
}

#[tokio::test]
async fn finished_tasks_of_many_queues_are_listed_latest_first_in_bounded_steps() {
    let f = super::open().await;
    let names = create_queues(&f, 450).await;
    f.submit_to_many(names.iter().rev().map(|name| task_in(&format!("of-{name}"), name)).collect()).await;
    f.engine.cancel(&names.iter().rev().map(|name| id(&format!("of-{name}"))).collect::<Vec<_>>()).await.unwrap();
    for limit in [7, 100, MAX_BATCH] {
        let listed = f.list(TaskFilter::default(), limit).await;
        let expected: Vec<String> = names.iter().map(|name| format!("of-{name}")).collect();
        assert_eq!(listed.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), expected, "by pages of {limit}");
    }
}

#[tokio::test]
async fn tasks_that_run_in_many_queues_are_listed_once_each() {
    let f = super::open().await;
    let names = create_queues(&f, 250).await;
    f.submit_to_many(names.iter().map(|name| task_in(&format!("of-{name}"), name)).collect()).await;
    f.submit((0..900).map(|n| task(&format!("t{n:03}"))).collect()).await;
    for some in names.chunks(125) {
        let queues: Vec<&str> = some.iter().map(String::as_str).chain(["default"]).collect();
        f.claim_from(&queues, MAX_BATCH).await;
    }
    let started = TaskFilter { statuses: vec![Status::Started], ..TaskFilter::default() };
    for limit in [70, MAX_BATCH] {
        let listed = f.list(started.clone(), limit).await;
        let distinct: HashSet<_> = listed.iter().map(|task| task.id.clone()).collect();
        assert_eq!((listed.len(), distinct.len()), (1_150, 1_150), "by pages of {limit}");
        assert!(listed.is_sorted_by_key(|task| (task.queue.clone(), task.revision)), "queue by queue, by fences");
    }
}

/// How often the server ran a command since its statistics were reset.
pub(super) fn calls(server: &RedisServer, command: &str) -> u64 {
    let stats = server.command("INFO commandstats");
    let begin = format!("cmdstat_{command}:calls=");
    let line = stats.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or("0");
    line.split(',').next().unwrap_or_default().parse().unwrap()
}

#[tokio::test]
async fn an_audit_passes_queues_without_tasks_by_the_thousand() {
    let server = RedisServer::start(RedisOptions::default());
    let f = super::open_at(&server.url()).await;
    let names = create_queues(&f, 500).await;
    f.submit(vec![task_in("ready", &names[499])]).await;
    let _ = server.command("CONFIG RESETSTAT");
    assert!(super::mending::audit(&*f.engine, false).await.is_empty());
    let scripts = calls(&server, "evalsha");
    // Two for the counts of each, and two for the sentinel of its leases; they have eight other parts.
    assert!(scripts < 500 * 4 + 200, "{scripts} scripts for 500 queues");
}

#[tokio::test]
async fn a_tick_looks_only_at_queues_with_something_to_do() {
    let server = RedisServer::start(RedisOptions::default());
    let f = super::open_at(&server.url()).await;
    let names = create_queues(&f, 300).await;
    let later =
        |name: &str| NewTask { start: Start::After(Duration::from_secs(5)), ..task_in(&format!("of-{name}"), name) };
    f.submit(vec![later(&names[17]), later(&names[170])]).await;
    f.submit(vec![task_in("runs", &names[250])]).await;
    f.claim_from(&[&names[250]], 1).await;
    let looks = || calls(&server, "zrangebyscore") + calls(&server, "zrange");
    let _ = server.command("CONFIG RESETSTAT");
    assert_eq!(f.engine.promote_due(100).await.unwrap(), 0);
    assert_eq!(f.engine.reclaim_expired(100).await.unwrap().total(), 0);
    assert_eq!(looks(), 2, "one look each at the queues that are due");
    f.advance(Duration::from_secs(60));
    let _ = server.command("CONFIG RESETSTAT");
    assert_eq!(f.engine.promote_due(100).await.unwrap(), 2);
    assert_eq!(f.engine.reclaim_expired(100).await.unwrap().requeued, 1);
    assert!(looks() <= 11, "{}", looks());
    let _ = server.command("CONFIG RESETSTAT");
    assert_eq!(f.engine.promote_due(100).await.unwrap(), 0);
    assert_eq!(looks(), 1, "nothing is due any more");
    f.assert_conserved().await;
}

#[tokio::test]
async fn a_worker_is_not_woken_for_kinds_that_it_refuses() {
    let server = RedisServer::start(RedisOptions::default());
    let f = super::open_at(&server.url()).await;
    let names = |names: &[(&str, &str)]| -> Vec<NewTask> {
        names.iter().map(|(id, name)| NewTask { name: TaskName::new(name).unwrap(), ..task(id) }).collect()
    };
    let woken = async |tasks: Vec<NewTask>| {
        for name in ["stock", "knows"] {
            // It waits from here on. What came before is none of its kind.
            assert!(f.cycle_refusing(name, &["mine"], 1, Vec::new()).await.claimed.is_empty(), "{name}");
        }
        let _ = server.command("CONFIG RESETSTAT");
        f.submit(tasks).await;
        let woken = calls(&server, "publish");
        for task in f.claim(10).await {
            f.settle(&task, DONE).await;
        }
        woken
    };
    assert_eq!(woken(names(&[("a", "mine")])).await, 0, "a plain task");
    assert_eq!(woken(names(&[("b", "mine"), ("c", "mine")])).await, 0, "plain tasks");
    let urgent = NewTask { priority: Priority::new(7).unwrap(), ..names(&[("d", "mine")]).remove(0) };
    assert_eq!(woken(vec![urgent]).await, 0, "one that is not plain");
    assert_eq!(woken(names(&[("e", "echo")])).await, 1, "another kind");
    assert_eq!(woken(names(&[("g", "mine"), ("h", "echo")])).await, 2, "one of two is another kind");
}
