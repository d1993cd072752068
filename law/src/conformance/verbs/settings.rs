//! Queues, roles, routes, workers.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{DeleteRole, Deleted, Engine, Error, OnConflict, PutMode},
    limits::MAX_CATALOGUE_BYTES,
    name::{RoleName, TaskId, TaskName},
    policy::{CrashPolicy, DeadLetter, PolicyOverrides},
    queue::{
        Config, QueueConfig, QueueOrder, Retention, RoleConfig,
        routing::{ExplicitQueue, Route, RouteKey, RouteRule, Versions},
    },
    time::Clock,
    worker::{
        BlockingThreads, HeldThread, WorkerReport, WorkerState,
        registry::{Catalogue, TaskSpec},
    },
};

use crate::conformance::{DONE, Fixture, queue, seconds, task_in, worker};

fn role(name: &str, queues: &[&str]) -> RoleConfig {
    RoleConfig::new(RoleName::new(name).unwrap(), queues.iter().map(|name| queue(name)))
}

pub async fn a_new_store_has_a_default_queue_and_role(f: Fixture) {
    let config = f.engine.config().await.unwrap();
    let initial = Config::initial();
    assert_eq!((&config.queues, &config.roles, &config.routes), (&initial.queues, &initial.roles, &initial.routes));
}

pub async fn a_change_of_one_queue_copies_no_other(f: Fixture) {
    let put = async |name| f.engine.put_queue(QueueConfig::new(queue(name)), PutMode::Create).await.unwrap();
    put("a").await;
    let (before, after) = (put("b").await, put("c").await);
    assert!(Arc::ptr_eq(&before.queues[&queue("a")], &after.queues[&queue("a")]));
}

pub async fn a_queue_is_created_replaced_and_deleted(f: Fixture) {
    let plain = QueueConfig::new(queue("mail"));
    let full = QueueConfig {
        paused: true,
        max_per_worker: Some(3),
        retention: Retention { age: seconds(5), count: 7 },
        ..plain.clone()
    };
    assert_eq!(f.engine.put_queue(plain.clone(), PutMode::Replace).await, Err(Error::UnknownQueue(queue("mail"))));
    f.engine.put_queue(plain.clone(), PutMode::Create).await.unwrap();
    assert!(matches!(f.engine.put_queue(plain, PutMode::Create).await, Err(Error::Exists(_))));
    let config = f.engine.put_queue(full.clone(), PutMode::Replace).await.unwrap();
    assert_eq!(*config.queues[&queue("mail")], full);
    assert_eq!(*f.engine.config().await.unwrap(), *config);
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await, Ok(Deleted::Done));
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await, Err(Error::UnknownQueue(queue("mail"))));
    let refused = f.try_submit(vec![task_in("a", "mail")], OnConflict::Fail).await;
    assert_eq!(refused, Err(Error::UnknownQueue(queue("mail"))));
}

pub async fn putting_what_is_there_changes_nothing(f: Fixture) {
    let before = f.engine.config().await.unwrap();
    let after = f.engine.put_queue(QueueConfig::new(queue("default")), PutMode::Upsert).await.unwrap();
    assert_eq!(before, after);
    let after = f.engine.put_role(role("default", &["default"]), PutMode::Upsert).await.unwrap();
    assert_eq!(before, after);
}

pub async fn a_version_grows_with_each_change(f: Fixture) {
    let mut last = f.engine.config().await.unwrap().version;
    let key = RouteKey { name: TaskName::new("echo").unwrap(), versions: Versions::ALL };
    for step in 0..6 {
        let version = match step {
            0 => f.engine.put_queue(QueueConfig::new(queue("mail")), PutMode::Create).await.unwrap().version,
            1 => f.engine.put_role(role("mailer", &["mail"]), PutMode::Create).await.unwrap().version,
            2 => {
                let rule = Route::Single { queue: queue("mail") };
                f.engine.put_route(key.clone(), rule.into()).await.unwrap().version
            }
            3 => f.engine.delete_route(&key).await.unwrap().version,
            4 => f.engine.delete_role(&RoleName::new("mailer").unwrap(), DeleteRole::default()).await.unwrap().version,
            _ => {
                f.engine.delete_queue(&queue("mail"), None).await.unwrap();
                f.engine.config().await.unwrap().version
            }
        };
        assert!(version > last, "step {step}");
        last = version;
    }
}

pub async fn a_queue_in_use_is_not_deleted(f: Fixture) {
    assert!(matches!(f.engine.delete_queue(&queue("default"), None).await, Err(Error::InUse { .. })));
    f.create_queue("mail").await;
    let key = RouteKey { name: TaskName::new("echo").unwrap(), versions: Versions::one(2) };
    f.engine.put_route(key.clone(), Route::RoundRobin { queues: vec![queue("mail")] }.into()).await.unwrap();
    assert!(matches!(f.engine.delete_queue(&queue("mail"), None).await, Err(Error::InUse { .. })));
    f.engine.delete_route(&key).await.unwrap();
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await, Ok(Deleted::Done));
}

pub async fn a_queue_with_live_tasks_is_not_deleted(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task_in("a", "mail"), task_in("b", "mail")]).await;
    f.claim_from(&["mail"], 1).await;
    assert_eq!(
        f.engine.delete_queue(&queue("mail"), None).await,
        Err(Error::NotEmpty { queue: queue("mail"), live: 2 })
    );
    assert_eq!(f.get("b").await.queue, queue("mail"));
}

pub async fn a_deleted_queue_takes_its_finished_tasks_along(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task_in("a", "mail"), task_in("b", "mail")]).await;
    for claimed in f.claim_from(&["mail"], 2).await {
        f.settle(&claimed, DONE).await;
    }
    while f.engine.delete_queue(&queue("mail"), None).await.unwrap() == Deleted::More {}
    assert_eq!(f.engine.get(&crate::conformance::id("a")).await.unwrap(), None);
    f.create_queue("mail").await;
    let stats = f.stats("mail").await;
    assert_eq!((stats.accepted, stats.removed, stats.tasks.len()), (0, 0, 0), "it starts from nothing");
    f.submit(vec![task_in("a", "mail")]).await;
    f.assert_conserved().await;
}

pub async fn a_role_names_known_queues_only(f: Fixture) {
    assert_eq!(
        f.engine.put_role(role("mailer", &["default", "nowhere"]), PutMode::Create).await,
        Err(Error::UnknownQueue(queue("nowhere")))
    );
    for bad in [role("mailer", &[]), role("mailer", &["default", "default"])] {
        assert!(matches!(f.engine.put_role(bad, PutMode::Create).await, Err(Error::Invalid(_))));
    }
    assert_eq!(f.engine.config().await.unwrap().roles.len(), 1);
}

pub async fn a_role_is_created_replaced_and_deleted(f: Fixture) {
    f.create_queue("mail").await;
    let name = RoleName::new("mailer").unwrap();
    assert_eq!(f.engine.delete_role(&name, DeleteRole::default()).await, Err(Error::UnknownRole(name.clone())));
    assert_eq!(
        f.engine.put_role(role("mailer", &["mail"]), PutMode::Replace).await,
        Err(Error::UnknownRole(name.clone()))
    );
    f.engine.put_role(role("mailer", &["mail"]), PutMode::Create).await.unwrap();
    assert!(matches!(f.engine.put_role(role("mailer", &["mail"]), PutMode::Create).await, Err(Error::Exists(_))));
    let ordered = role("mailer", &["mail", "default"]);
    let config = f.engine.put_role(ordered.clone(), PutMode::Replace).await.unwrap();
    assert_eq!(config.roles.get(&name), Some(&ordered), "in the order given");
    assert_eq!(f.engine.delete_role(&name, DeleteRole::default()).await.unwrap().roles.get(&name), None);
}

pub async fn a_weighted_role_is_kept_as_given(f: Fixture) {
    f.create_queue("mail").await;
    let name = RoleName::new("mailer").unwrap();
    let weighted = RoleConfig {
        order: QueueOrder::Weighted,
        weights: [(queue("mail").into(), 3)].into(),
        refresh_tag: Some("01ARZ3NDEKTSV4RRFFQ69G5FAV".into()),
        ..role("mailer", &["mail", "default"])
    };
    f.engine.put_role(weighted.clone(), PutMode::Create).await.unwrap();
    assert_eq!(f.engine.config().await.unwrap().roles.get(&name), Some(&weighted));
    let bad = [
        RoleConfig { order: QueueOrder::Strict, ..weighted.clone() },
        RoleConfig { weights: [(queue("mail").into(), 0)].into(), ..weighted.clone() },
        RoleConfig { weights: [(queue("elsewhere").into(), 1)].into(), ..weighted.clone() },
    ];
    for bad in bad {
        assert!(matches!(f.engine.put_role(bad, PutMode::Upsert).await, Err(Error::Invalid(_))));
    }
    let strict = role("mailer", &["default"]);
    f.engine.put_role(strict.clone(), PutMode::Replace).await.unwrap();
    assert_eq!(f.engine.config().await.unwrap().roles.get(&name), Some(&strict));
}

pub async fn a_change_of_what_changed_meanwhile_is_refused(f: Fixture) {
    let read = QueueConfig::new(queue("default"));
    let limited = QueueConfig { max_per_worker: Some(3), ..read.clone() };
    let paused = QueueConfig { paused: true, ..read.clone() };
    f.engine.put_queue(limited.clone(), PutMode::Unchanged(read.clone())).await.unwrap();
    let late = f.engine.put_queue(paused, PutMode::Unchanged(read.clone())).await;
    assert_eq!(late, Err(Error::Changed("queue default".to_owned())));
    assert_eq!(
        f.engine.config().await.unwrap().queues[&queue("default")].as_ref(),
        &limited,
        "the first change stands"
    );
    let unknown = QueueConfig::new(queue("mail"));
    let refused = f.engine.put_queue(unknown.clone(), PutMode::Unchanged(unknown)).await;
    assert_eq!(refused, Err(Error::UnknownQueue(queue("mail"))));

    f.create_queue("mail").await;
    let (before, after) = (role("default", &["default"]), role("default", &["mail"]));
    f.engine.put_role(after, PutMode::Unchanged(before.clone())).await.unwrap();
    let late = f.engine.put_role(role("default", &["mail", "default"]), PutMode::Unchanged(before)).await;
    assert_eq!(late, Err(Error::Changed("role default".to_owned())));
}

pub async fn of_many_who_change_one_queue_none_is_overruled(f: Fixture) {
    let raise = async |engine: Arc<dyn Engine>| loop {
        let read = QueueConfig::clone(&engine.config().await.unwrap().queues[&queue("default")]);
        let raised = QueueConfig { max_per_worker: Some(read.max_per_worker.unwrap_or(0) + 1), ..read.clone() };
        match engine.put_queue(raised, PutMode::Unchanged(read)).await {
            Err(Error::Changed(_)) => {}
            done => break drop(done.unwrap()),
        }
    };
    let changers: Vec<_> = (0..8).map(|_| tokio::spawn(raise(Arc::clone(&f.engine)))).collect();
    for changer in changers {
        changer.await.unwrap();
    }
    assert_eq!(f.engine.config().await.unwrap().queues[&queue("default")].max_per_worker, Some(8));
}

pub async fn routes_are_kept(f: Fixture) {
    let key = RouteKey { name: TaskName::new("echo").unwrap(), versions: Versions::ALL };
    let rule: RouteRule = Route::Hash { parameter: "user «ü»".to_owned(), queues: vec![queue("default")] }.into();
    let config = f.engine.put_route(key.clone(), rule.clone()).await.unwrap();
    assert_eq!(config.routes.get(&key), Some(&rule));
    assert_eq!(f.engine.config().await.unwrap().routes.get(&key), Some(&rule));
    let unknown = Route::Single { queue: queue("nowhere") };
    assert_eq!(f.engine.put_route(key.clone(), unknown.into()).await, Err(Error::UnknownQueue(queue("nowhere"))));
    let none = Route::RoundRobin { queues: Vec::new() };
    assert!(matches!(f.engine.put_route(key.clone(), none.into()).await, Err(Error::Invalid(_))));
    assert!(f.engine.delete_route(&key).await.unwrap().routes.is_empty());
    assert!(f.engine.delete_route(&key).await.is_ok(), "no rule is no error");
}

fn versions(from: Option<u32>, to: Option<u32>) -> RouteKey {
    RouteKey { name: TaskName::new("echo").unwrap(), versions: Versions::range(from, to).unwrap() }
}

pub async fn rules_for_ranges_of_versions_stand_beside_each_other(f: Fixture) {
    let keys = [
        versions(None, None),
        versions(None, Some(9)),
        versions(Some(2), Some(5)),
        versions(Some(2), Some(2)),
        versions(Some(20), None),
        versions(Some(0), Some(0)),
        versions(Some(u32::MAX), None),
    ];
    let rule = |at: usize| RouteRule {
        route: Route::Hash { parameter: format!("p{at}"), queues: vec![queue("default")] },
        explicit_queue: if at.is_multiple_of(2) { ExplicitQueue::Allow } else { ExplicitQueue::Forbid },
    };
    for (at, key) in keys.iter().enumerate() {
        f.engine.put_route(key.clone(), rule(at)).await.unwrap();
    }
    let expected: std::collections::BTreeMap<_, _> =
        keys.iter().enumerate().map(|(at, key)| (key.clone(), rule(at))).collect();
    assert_eq!(f.engine.config().await.unwrap().routes, expected);
    f.engine.put_route(keys[2].clone(), rule(7)).await.unwrap();
    let config = f.engine.config().await.unwrap();
    assert_eq!((config.routes.len(), &config.routes[&keys[2]]), (7, &rule(7)), "one is replaced by its own range only");
    assert_eq!(f.engine.put_route(keys[2].clone(), rule(7)).await.unwrap(), config, "said already");
    for (gone, key) in keys.iter().enumerate() {
        let left = f.engine.delete_route(key).await.unwrap().routes.len();
        assert_eq!(left, keys.len() - gone - 1, "{key}: no other goes with it");
        assert_eq!(f.engine.delete_route(key).await.unwrap(), f.engine.config().await.unwrap(), "no rule is no error");
    }
}

pub async fn a_rule_that_would_overlap_another_is_refused(f: Fixture) {
    let rule = || RouteRule::from(Route::Single { queue: queue("default") });
    f.engine.put_route(versions(Some(2), Some(5)), rule()).await.unwrap();
    let before = f.engine.config().await.unwrap();
    for crossing in [versions(Some(4), None), versions(None, Some(2)), versions(Some(5), Some(6))] {
        let refused = f.engine.put_route(crossing.clone(), rule()).await;
        assert_eq!(refused, Err(Error::RulesOverlap { rule: crossing, other: versions(Some(2), Some(5)) }));
    }
    assert_eq!(f.engine.config().await.unwrap(), before);
    let other = RouteKey { name: TaskName::new("sleep").unwrap(), ..versions(Some(4), Some(9)) };
    f.engine.put_route(other, rule()).await.expect("of another task");
    f.engine.delete_route(&versions(Some(2), Some(5))).await.unwrap();
    f.engine.put_route(versions(Some(4), None), rule()).await.expect("what stood in its way is gone");
}

pub async fn of_two_rules_put_at_once_that_overlap_one_stands(f: Fixture) {
    for round in 0..8 {
        let put = |key: RouteKey| {
            let engine = Arc::clone(&f.engine);
            tokio::spawn(async move {
                let rule = Route::Single { queue: queue("default") };
                engine.put_route(key, rule.into()).await.map(drop)
            })
        };
        let (one, other) = (versions(Some(1), Some(5)), versions(Some(3), Some(9)));
        let (first, second) = (put(one.clone()), put(other.clone()));
        let answers = [first.await.unwrap(), second.await.unwrap()];
        assert_eq!(answers.iter().filter(|it| it.is_ok()).count(), 1, "round {round}: {answers:?}");
        assert_eq!(f.engine.config().await.unwrap().routes.len(), 1);
        f.engine.delete_route(&one).await.unwrap();
        f.engine.delete_route(&other).await.unwrap();
    }
}

pub async fn a_config_change_is_seen_by_the_next_cycle(f: Fixture) {
    let before = f.cycle_as("w1", &["default"], 1, Vec::new()).await.config_version;
    assert_eq!(before, f.engine.config().await.unwrap().version);
    f.create_queue("mail").await;
    let after = f.cycle_as("w1", &["default"], 1, Vec::new()).await.config_version;
    assert!(after > before);
    assert_eq!(after, f.engine.config().await.unwrap().version);
}

/// The report of a worker that serves `default`.
#[must_use]
pub fn report(name: &str) -> WorkerReport {
    WorkerReport {
        id: worker(name),
        host: "host.example".to_owned(),
        pid: 42,
        version: "1.2.3".to_owned(),
        role: RoleName::new("default").unwrap(),
        queues: vec![queue("default")],
        slots: 64,
        running: 3,
        state: WorkerState::Running,
        tasks: vec!["echo@1".to_owned()],
        settled: 9,
        catalogue: "00112233445566778899aabbccddeeff".parse().ok(),
        left: Vec::new(),
        draining_for: Some(seconds(7)),
        done_within: Some(seconds(90)),
        hung_threads: vec![held("hangs", 2)],
        blocking: Some(BlockingThreads {
            threads: 2,
            tasks: vec!["digest@1".to_owned()],
            busy: 1,
            waiting: 3,
            held: vec![held("runs", 1)],
        }),
    }
}

fn held(id: &str, attempt: u32) -> HeldThread {
    let (queue, name) = (queue("default"), TaskName::new("digest").unwrap());
    HeldThread { id: TaskId::new(id).unwrap(), queue, name, attempt, held_for: Duration::from_millis(61_500) }
}

pub async fn workers_come_and_go(f: Fixture) {
    let start = f.clock.now();
    let version = f.engine.register_worker(report("w2"), seconds(10)).await.unwrap();
    assert_eq!(version, f.engine.config().await.unwrap().version);
    f.engine.register_worker(report("w1"), seconds(10)).await.unwrap();
    f.advance(seconds(5));
    let draining = WorkerReport { state: WorkerState::Draining, running: 0, ..report("w2") };
    f.engine.register_worker(draining.clone(), seconds(10)).await.unwrap();
    let workers = f.engine.workers().await.unwrap();
    assert_eq!(workers.iter().map(|it| it.report.id.as_str()).collect::<Vec<_>>(), ["w1", "w2"]);
    assert_eq!((&workers[0].report, &workers[1].report), (&report("w1"), &draining));
    assert_eq!((workers[1].started_at, workers[1].seen_at), (start, start.after(seconds(5))));
    assert_eq!(workers[1].expires_at, start.after(seconds(15)));
    f.engine.deregister_worker(&worker("w1")).await.unwrap();
    f.engine.deregister_worker(&worker("nobody")).await.unwrap();
    assert_eq!(f.engine.workers().await.unwrap().len(), 1);
}

pub async fn a_worker_that_falls_silent_is_forgotten(f: Fixture) {
    f.engine.register_worker(report("w1"), seconds(10)).await.unwrap();
    f.advance(seconds(9));
    assert_eq!(f.engine.workers().await.unwrap().len(), 1);
    f.advance(seconds(1));
    assert!(f.engine.workers().await.unwrap().is_empty());
    f.engine.register_worker(report("w1"), seconds(10)).await.unwrap();
    assert_eq!(f.engine.workers().await.unwrap()[0].started_at, f.clock.now(), "it starts anew");
}

pub async fn a_drain_is_kept_until_it_is_taken_back_or_the_worker_leaves(f: Fixture) {
    let draining =
        async || f.engine.config().await.unwrap().draining.keys().map(ToString::to_string).collect::<Vec<_>>();
    let unknown = Err(Error::UnknownWorker(worker("w1")));
    assert_eq!(f.engine.set_draining(&worker("w1"), true).await, unknown, "nobody of that name is alive");
    f.engine.register_worker(report("w1"), seconds(10)).await.unwrap();
    f.engine.register_worker(report("w2"), seconds(10)).await.unwrap();
    let config = f.engine.set_draining(&worker("w1"), true).await.unwrap();
    assert_eq!(config.draining.get(&worker("w1")), Some(&f.clock.now()));
    f.advance(seconds(1));
    assert_eq!(f.engine.set_draining(&worker("w1"), true).await.unwrap(), config, "said already");
    assert_eq!(f.engine.config().await.unwrap(), config);
    f.engine.set_draining(&worker("w2"), true).await.unwrap();
    assert_eq!(draining().await, ["w1", "w2"]);
    let after = f.engine.set_draining(&worker("w1"), false).await.unwrap();
    assert_eq!((after.version, draining().await), (config.version + 2, vec!["w2".to_owned()]));
    f.advance(seconds(30));
    f.engine.register_worker(report("w2"), seconds(10)).await.unwrap();
    assert_eq!(draining().await, ["w2"], "it was cut off for a while, and still drains");
    f.engine.deregister_worker(&worker("w2")).await.unwrap();
    assert!(draining().await.is_empty(), "it left in good order");
    assert_eq!(f.engine.set_draining(&worker("w1"), false).await, unknown);
}

pub async fn a_drain_is_seen_by_the_next_cycle(f: Fixture) {
    f.engine.register_worker(report("w1"), seconds(10)).await.unwrap();
    let before = f.cycle_as("w1", &["default"], 1, Vec::new()).await.config_version;
    let told = f.engine.set_draining(&worker("w1"), true).await.unwrap();
    assert!(told.version > before);
    assert_eq!(f.cycle_as("w1", &["default"], 1, Vec::new()).await.config_version, told.version);
}

pub async fn a_catalogue_is_kept_for_its_time(f: Fixture) {
    let spec = |version| TaskSpec {
        name: TaskName::new("echo").unwrap(),
        version,
        parameters: Some(serde_json::json!({"type": "object", "maximum": 1e300, "title": "«ü»\u{0}"})),
        description: "says it again".to_owned(),
        on_crash: CrashPolicy { max_crashes: Some(version), dead_letter: Some(DeadLetter::Save) },
        policy: PolicyOverrides { max_retries: Some(7), ..PolicyOverrides::default() },
        sensitive: version == 2,
    };
    let (one, two) = (Catalogue { tasks: vec![spec(1)] }, Catalogue { tasks: vec![spec(1), spec(2)] });
    let id = f.engine.keep_catalogue(&one, seconds(10)).await.unwrap();
    assert_eq!(f.engine.catalogue(id).await.unwrap().as_ref(), Some(&one));
    f.advance(seconds(5));
    assert_eq!(f.engine.keep_catalogue(&one, seconds(10)).await.unwrap(), id);
    let other = f.engine.keep_catalogue(&two, seconds(1)).await.unwrap();
    assert_ne!(id, other);
    f.advance(seconds(9));
    assert_eq!(f.engine.catalogue(other).await.unwrap(), None, "its time is over");
    assert_eq!(f.engine.catalogue(id).await.unwrap(), Some(one), "keeping it again prolonged its time");
    f.advance(seconds(1));
    assert_eq!(f.engine.catalogue(id).await.unwrap(), None);
    let large = TaskSpec { description: "x".repeat(MAX_CATALOGUE_BYTES), ..spec(1) };
    let refused = f.engine.keep_catalogue(&Catalogue { tasks: vec![large] }, seconds(1)).await;
    assert!(matches!(refused, Err(Error::Invalid(_))));
}
