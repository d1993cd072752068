//! Queues that exist without being configuration, and the list of all queues.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Deleted, Error, OnConflict, PruneRequest, PruneScope, PutMode, QueueListRequest, TaskFilter},
    limits::MAX_BATCH,
    name::{QueueName, RoleName, TaskName},
    queue::{
        QueueConfig, Retention, RoleConfig,
        routing::{Route, RouteKey, Versions},
    },
};

use crate::conformance::{DONE, Fixture, audit::assert_sound, id, ids, queue, seconds, task, task_in, worker};

async fn create(f: &Fixture, names: &[&str]) {
    let names: Vec<QueueName> = names.iter().map(|name| queue(name)).collect();
    f.engine.create_queues(&names).await.unwrap();
}

/// Runs a task of this queue to its end.
async fn complete(f: &Fixture, id: &str, name: &str) {
    f.submit(vec![task_in(id, name)]).await;
    let claimed = f.claim_from(&[name], 1).await;
    f.settle(&claimed[0], DONE).await;
}

/// Deletes what is past its retention. Returns how many tasks.
async fn prune(f: &Fixture) -> u64 {
    let request = PruneRequest { scope: PruneScope::Retention, limit: MAX_BATCH, dry_run: false, cursor: None };
    f.engine.prune(request).await.unwrap().removed
}

pub async fn a_created_queue_works_with_the_default_settings(f: Fixture) {
    create(&f, &["mail"]).await;
    f.submit(vec![task_in("a", "mail"), task_in("b", "mail")]).await;
    assert_eq!(ids(&f.claim_from(&["mail"], 1).await), ["a"]);
    let stats = f.stats("mail").await;
    assert_eq!((stats.accepted, stats.removed, stats.waiting_bytes), (2, 0, None));
    let config = f.engine.config().await.unwrap();
    assert_eq!(*config.settings_of(&queue("mail")), QueueConfig::new(queue("mail")));
    assert_eq!(f.engine.purge_queue(&queue("mail"), 10).await, Ok(1));
    f.assert_conserved().await;
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn a_queue_created_twice_is_one_queue(f: Fixture) {
    create(&f, &["mail", "mail"]).await;
    let paused = QueueConfig { paused: true, ..QueueConfig::new(queue("mail")) };
    f.engine.put_queue(paused.clone(), PutMode::Replace).await.unwrap();
    f.submit(vec![task_in("a", "mail")]).await;
    create(&f, &["mail", "default", "new"]).await;
    assert_eq!(*f.engine.config().await.unwrap().queues[&queue("mail")], paused, "its settings stay");
    assert!(f.claim_from(&["mail"], 1).await.is_empty());
    assert_eq!(f.stats("mail").await.accepted, 1, "its tasks stay");
    let names: Vec<QueueName> = f.all_stats().await.into_iter().map(|stats| stats.queue).collect();
    assert_eq!(names, ["default", "mail", "new"].map(queue));
}

pub async fn created_queues_are_no_configuration(f: Fixture) {
    let before = f.engine.config().await.unwrap();
    create(&f, &["a", "b"]).await;
    assert_eq!(f.engine.config().await.unwrap(), before);
    let seen = f.cycle_as("w1", &["a"], 1, Vec::new()).await.config_version;
    assert_eq!(seen, before.version);
}

pub async fn a_creation_wakes_no_worker(f: Fixture) {
    assert!(f.claim(1).await.is_empty());
    // A wake-up left over from before may end one wait early.
    f.engine.wait(&worker("w1"), Duration::from_millis(50)).await;
    assert!(f.claim(1).await.is_empty());
    let engine = Arc::clone(&f.engine);
    let mut waiting = tokio::spawn(async move { engine.wait(&worker("w1"), seconds(30)).await });
    create(&f, &["mail"]).await;
    let woken = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
    assert!(woken.is_err(), "a new queue concerns no worker yet");
    f.submit_ids(&["a"]).await;
    waiting.await.unwrap();
}

pub async fn a_creation_past_its_bounds_is_refused(f: Fixture) {
    let names: Vec<QueueName> = (0..=MAX_BATCH).map(|n| queue(&format!("q{n:04}"))).collect();
    assert!(matches!(f.engine.create_queues(&names).await, Err(Error::Invalid(_))));
    assert_eq!(f.all_stats().await.len(), 1, "none is created");
    f.engine.create_queues(&names[..MAX_BATCH]).await.unwrap();
    f.engine.create_queues(&[]).await.unwrap();
    assert_eq!(f.all_stats().await.len(), MAX_BATCH + 1);
}

pub async fn a_created_queue_takes_settings_as_if_the_defaults_were_put(f: Fixture) {
    create(&f, &["mail"]).await;
    let (version, plain) = (f.engine.config().await.unwrap().version, QueueConfig::new(queue("mail")));
    assert!(matches!(f.engine.put_queue(plain.clone(), PutMode::Create).await, Err(Error::Exists(_))));
    let same = f.engine.put_queue(plain.clone(), PutMode::Upsert).await.unwrap();
    assert_eq!(same.version, version, "it has the defaults already");
    let limited = QueueConfig { max_concurrent: Some(1), ..plain.clone() };
    let late = f.engine.put_queue(plain.clone(), PutMode::Unchanged(limited.clone())).await;
    assert_eq!(late, Err(Error::Changed("queue mail".to_owned())));
    let config = f.engine.put_queue(limited.clone(), PutMode::Unchanged(plain)).await.unwrap();
    assert!(config.version > version);
    assert_eq!(*config.settings_of(&queue("mail")), limited);
    f.submit(vec![task_in("a", "mail"), task_in("b", "mail")]).await;
    assert_eq!(ids(&f.claim_from(&["mail"], 2).await), ["a"], "the limit holds");
}

pub async fn a_created_queue_is_deleted_like_any_other(f: Fixture) {
    create(&f, &["mail"]).await;
    let version = f.engine.config().await.unwrap().version;
    f.submit(vec![task_in("a", "mail")]).await;
    let refused = f.engine.delete_queue(&queue("mail"), None).await;
    assert_eq!(refused, Err(Error::NotEmpty { queue: queue("mail"), live: 1 }));
    let claimed = f.claim_from(&["mail"], 1).await;
    f.settle(&claimed[0], DONE).await;
    let paused = QueueConfig { paused: true, ..QueueConfig::new(queue("mail")) };
    let refused = f.engine.delete_queue(&queue("mail"), Some(paused)).await;
    assert_eq!(refused, Err(Error::Changed("queue mail".to_owned())));
    let defaults = QueueConfig::new(queue("mail"));
    assert_eq!(f.engine.delete_queue(&queue("mail"), Some(defaults)).await, Ok(Deleted::Done));
    assert!(f.engine.config().await.unwrap().version > version);
    let refused = f.try_submit(vec![task_in("b", "mail")], OnConflict::Fail).await;
    assert_eq!(refused, Err(Error::UnknownQueue(queue("mail"))));
    create(&f, &["mail"]).await;
    assert_eq!(f.stats("mail").await.accepted, 0, "it starts from nothing");
}

pub async fn a_role_and_a_rule_may_name_a_created_queue(f: Fixture) {
    create(&f, &["mail"]).await;
    let role = RoleConfig::new(RoleName::new("mailer").unwrap(), vec![queue("mail")]);
    f.engine.put_role(role, PutMode::Create).await.unwrap();
    let key = RouteKey { name: TaskName::new("echo").unwrap(), versions: Versions::ALL };
    f.engine.put_route(key, Route::Single { queue: queue("mail") }.into()).await.unwrap();
    assert!(matches!(f.engine.delete_queue(&queue("mail"), None).await, Err(Error::InUse { .. })));
    f.submit(vec![task("a")]).await;
    assert_eq!(f.engine.move_tasks(&queue("default"), &queue("mail"), 10).await, Ok(1));
}

pub async fn finished_tasks_of_a_created_queue_are_pruned_by_the_default_retention(f: Fixture) {
    create(&f, &["mail", "empty"]).await;
    complete(&f, "a", "mail").await;
    let age = Retention::default().age;
    f.advance(age - seconds(1));
    assert_eq!(prune(&f).await, 0);
    f.advance(seconds(1));
    assert_eq!(prune(&f).await, 1);
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn settings_put_on_a_queue_with_finished_tasks_hold_for_these(f: Fixture) {
    create(&f, &["mail"]).await;
    for id in ["a", "b", "c"] {
        complete(&f, id, "mail").await;
    }
    assert_eq!(prune(&f).await, 0);
    let retention = Retention { count: 1, ..Retention::default() };
    f.engine.put_queue(QueueConfig { retention, ..QueueConfig::new(queue("mail")) }, PutMode::Replace).await.unwrap();
    assert_eq!(prune(&f).await, 2);
    assert!(f.engine.get(&id("c")).await.unwrap().is_some(), "the newest stays");
    complete(&f, "d", "mail").await;
    assert_eq!(prune(&f).await, 1);
    assert_sound(&f, MAX_BATCH, false).await;
}

pub async fn queues_are_listed_page_by_page(f: Fixture) {
    create(&f, &["c", "a", "d", "b"]).await;
    f.submit(vec![task_in("t", "d")]).await;
    let (mut walked, mut after) = (Vec::new(), None);
    for expected in [2, 2, 1] {
        let page = f.engine.list_queues(QueueListRequest { after, limit: 2 }).await.unwrap();
        assert_eq!(page.queues.len(), expected);
        walked.extend(page.queues);
        after = page.next;
    }
    assert_eq!(after, None);
    let names: Vec<&str> = walked.iter().map(|stats| stats.queue.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "default"]);
    assert_eq!(walked[3], f.stats("d").await);
    let whole = f.engine.list_queues(QueueListRequest { after: None, limit: 5 }).await.unwrap();
    assert_eq!((whole.queues.len(), whole.next), (5, None), "a full last page is the last");
    for limit in [0, MAX_BATCH + 1] {
        assert!(matches!(f.engine.list_queues(QueueListRequest { after: None, limit }).await, Err(Error::Invalid(_))));
    }
}

pub async fn a_page_goes_on_after_a_queue_that_was_deleted(f: Fixture) {
    create(&f, &["a", "b", "c"]).await;
    let first = f.engine.list_queues(QueueListRequest { after: None, limit: 1 }).await.unwrap();
    assert_eq!(first.next, Some(queue("a")));
    assert_eq!(f.engine.delete_queue(&queue("a"), None).await, Ok(Deleted::Done));
    let second = f.engine.list_queues(QueueListRequest { after: first.next, limit: 1 }).await.unwrap();
    assert_eq!(second.queues[0].queue, queue("b"));
}

pub async fn a_created_queue_is_in_every_walk(f: Fixture) {
    create(&f, &["a", "z"]).await;
    complete(&f, "over", "z").await;
    f.submit(vec![task_in("first", "a"), task_in("last", "z"), task("middle")]).await;
    let listed: Vec<String> = f.list(TaskFilter::default(), 1).await.iter().map(|task| task.id.to_string()).collect();
    assert_eq!(listed, ["first", "middle", "last", "over"]);
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let request = PruneRequest { scope, limit: MAX_BATCH, dry_run: false, cursor: None };
    assert_eq!(f.engine.prune(request).await.unwrap().removed, 1);
    assert_sound(&f, MAX_BATCH, false).await;
}
