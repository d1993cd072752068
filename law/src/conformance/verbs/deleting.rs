//! Deleting queues and roles: on the condition that they have not changed, and that no worker serves them.

use std::sync::Arc;

use jobbers_common::{
    engine::{DeleteRole, Deleted, Error, PutMode},
    limits::MAX_BATCH,
    name::RoleName,
    queue::{QueueConfig, RoleConfig},
    worker::{WorkerReport, WorkerState},
};

use crate::conformance::{DONE, Fixture, queue, seconds, settings::report, task_in, worker};

fn mailer() -> RoleConfig {
    RoleConfig::new(RoleName::new("mailer").unwrap(), vec![queue("default")])
}

fn serving(name: &str, role: &RoleConfig) -> WorkerReport {
    WorkerReport { role: role.name.clone(), ..report(name) }
}

pub async fn a_queue_that_changed_meanwhile_is_not_deleted(f: Fixture) {
    let read = QueueConfig::new(queue("mail"));
    let absent = f.engine.delete_queue(&read.name, Some(read.clone())).await;
    assert_eq!(absent, Err(Error::UnknownQueue(queue("mail"))));
    f.engine.put_queue(read.clone(), PutMode::Create).await.unwrap();
    f.submit(vec![task_in("a", "mail")]).await;
    let paused = QueueConfig { paused: true, ..read.clone() };
    f.engine.put_queue(paused.clone(), PutMode::Upsert).await.unwrap();
    // The change is reported before the tasks that it holds, which the caller may be about to delete.
    let refused = f.engine.delete_queue(&read.name, Some(read.clone())).await;
    assert!(matches!(refused, Err(Error::Changed(_))), "{refused:?}");
    let refused = f.engine.delete_queue(&read.name, Some(paused.clone())).await;
    assert_eq!(refused, Err(Error::NotEmpty { queue: queue("mail"), live: 1 }));
    assert_eq!(f.engine.purge_queue(&read.name, 1).await, Ok(1));
    assert_eq!(*f.engine.config().await.unwrap().queues[&read.name], paused);
    assert_eq!(f.engine.delete_queue(&read.name, Some(paused)).await, Ok(Deleted::Done));
}

pub async fn a_change_between_two_calls_of_a_deletion_stops_it(f: Fixture) {
    let read = QueueConfig::new(queue("mail"));
    f.engine.put_queue(read.clone(), PutMode::Create).await.unwrap();
    let (more, names) = (MAX_BATCH + 1, |range: std::ops::Range<usize>| range.map(|n| task_in(&n.to_string(), "mail")));
    f.submit(names(0..MAX_BATCH).collect()).await;
    f.submit(names(MAX_BATCH..more).collect()).await;
    for limit in [MAX_BATCH, 1] {
        for claimed in f.claim_from(&["mail"], limit).await {
            f.settle(&claimed, DONE).await;
        }
    }
    assert_eq!(f.engine.delete_queue(&read.name, Some(read.clone())).await, Ok(Deleted::More));
    f.engine.put_queue(QueueConfig { paused: true, ..read.clone() }, PutMode::Upsert).await.unwrap();
    let refused = f.engine.delete_queue(&read.name, Some(read.clone())).await;
    assert!(matches!(refused, Err(Error::Changed(_))), "{refused:?}");
    assert_eq!(f.stats("mail").await.tasks.values().sum::<u64>(), 1, "what was left is left");
    f.assert_conserved().await;
}

pub async fn of_a_change_and_a_deletion_at_once_one_is_refused(f: Fixture) {
    for round in 0..10 {
        let read = QueueConfig::new(queue("mail"));
        f.engine.put_queue(read.clone(), PutMode::Create).await.unwrap();
        let changed = QueueConfig { max_per_worker: Some(round + 1), ..read.clone() };
        let (put, deleted) = tokio::join!(
            f.engine.put_queue(changed.clone(), PutMode::Unchanged(read.clone())),
            f.engine.delete_queue(&read.name, Some(read.clone())),
        );
        let stands = f.engine.config().await.unwrap().queues.get(&read.name).cloned();
        match (put, deleted) {
            (Ok(_), Err(Error::Changed(_))) => {
                assert_eq!(stands, Some(Arc::new(changed)), "the change stands");
                f.engine.delete_queue(&read.name, None).await.unwrap();
            }
            (Err(Error::UnknownQueue(_)), Ok(Deleted::Done)) => assert_eq!(stands, None),
            other => panic!("{other:?}"),
        }
    }
}

pub async fn a_role_that_changed_meanwhile_is_not_deleted(f: Fixture) {
    let read = mailer();
    let on = |expected: &RoleConfig| DeleteRole { expected: Some(expected.clone()), force: true };
    let absent = f.engine.delete_role(&read.name, on(&read)).await;
    assert_eq!(absent, Err(Error::UnknownRole(read.name.clone())));
    f.engine.put_role(read.clone(), PutMode::Create).await.unwrap();
    let changed = RoleConfig { refresh_tag: Some("other".into()), ..read.clone() };
    f.engine.put_role(changed.clone(), PutMode::Upsert).await.unwrap();
    let refused = f.engine.delete_role(&read.name, on(&read)).await;
    assert!(matches!(refused, Err(Error::Changed(_))), "force is for workers, not for who changed it: {refused:?}");
    assert_eq!(f.engine.config().await.unwrap().roles.get(&read.name), Some(&changed));
    assert_eq!(f.engine.delete_role(&read.name, on(&changed)).await.unwrap().roles.get(&read.name), None);
}

pub async fn a_role_that_workers_serve_is_deleted_by_force_only(f: Fixture) {
    let role = mailer();
    f.engine.put_role(role.clone(), PutMode::Create).await.unwrap();
    f.engine.register_worker(report("elsewhere"), seconds(10)).await.unwrap();
    f.engine.register_worker(serving("w1", &role), seconds(10)).await.unwrap();
    let draining = WorkerReport { state: WorkerState::Draining, ..serving("w2", &role) };
    f.engine.register_worker(draining, seconds(5)).await.unwrap();
    let before = f.engine.config().await.unwrap();
    let refused = |workers| Err(Error::RoleInUse { role: role.name.clone(), workers });
    assert_eq!(f.engine.delete_role(&role.name, DeleteRole::default()).await, refused(2));
    assert_eq!(f.engine.config().await.unwrap(), before);
    f.advance(seconds(5));
    assert_eq!(f.engine.delete_role(&role.name, DeleteRole::default()).await, refused(1), "one fell silent");
    let forced = f.engine.delete_role(&role.name, DeleteRole { force: true, ..DeleteRole::default() }).await.unwrap();
    assert_eq!((forced.roles.get(&role.name), forced.version), (None, before.version + 1));
    // They live on, and serve it again when it is there again.
    assert_eq!(f.engine.workers().await.unwrap().len(), 2);
    assert_eq!(f.engine.register_worker(serving("w1", &role), seconds(10)).await.unwrap(), forced.version);
    f.engine.put_role(role.clone(), PutMode::Create).await.unwrap();
    f.engine.deregister_worker(&worker("w1")).await.unwrap();
    f.engine.delete_role(&role.name, DeleteRole::default()).await.unwrap();
}

/// The first of the two wins: a worker that got a configuration with the role keeps the role.
pub async fn of_a_worker_that_comes_and_a_deletion_at_once_one_is_first(f: Fixture) {
    let role = mailer();
    f.engine.register_worker(report("elsewhere"), seconds(10)).await.unwrap();
    for _ in 0..10 {
        let before = f.engine.put_role(role.clone(), PutMode::Create).await.unwrap().version;
        let (told, deleted) = tokio::join!(
            f.engine.register_worker(serving("w1", &role), seconds(10)),
            f.engine.delete_role(&role.name, DeleteRole::default()),
        );
        match deleted {
            Ok(config) => assert_eq!(told.unwrap(), config.version, "it came to a role that was gone"),
            Err(error) => {
                assert_eq!(error, Error::RoleInUse { role: role.name.clone(), workers: 1 });
                assert_eq!(told.unwrap(), before);
                f.engine.delete_role(&role.name, DeleteRole { force: true, ..DeleteRole::default() }).await.unwrap();
            }
        }
        f.engine.deregister_worker(&worker("w1")).await.unwrap();
    }
}
