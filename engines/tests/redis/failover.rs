//! Stores whose primary moves: behind Sentinels, and in a Cluster.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Error, SettleAnswer},
    lifecycle::Status,
};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::{DONE, Fixture, id, ids, task, worker};
use jobbers_test_support::{
    redis_fleet::{FleetKind, FleetSize, NAME, RedisFleet, SLOT, ask_sentinel},
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};

use super::{connect, open_at, submit};

const A_WHILE: Duration = Duration::from_secs(60);
const KINDS: [FleetKind; 2] = [FleetKind::Sentinels, FleetKind::Cluster];

/// The smallest fleet that can stand: its primary never moves.
async fn smallest(kind: FleetKind) -> RedisFleet {
    let size = FleetSize { primaries: 1, replicas: 0, sentinels: 1 };
    RedisFleet::start_with(kind, size, &RedisOptions::default()).await
}

/// A store in a fleet, by the fixture's clock.
async fn open_in(kind: FleetKind) -> Fixture {
    let fleet = smallest(kind).await;
    let f = open_at(&fleet.url()).await;
    Fixture { guard: Box::new(fleet), ..f }
}

/// The law behind Sentinels.
mod sentinels {
    use super::{Fixture, FleetKind, open_in};

    async fn open() -> Fixture {
        open_in(FleetKind::Sentinels).await
    }

    jobbers_law::conformance_suite!(open, #[ignore = "long: the law once more, behind Sentinels"]);
}

/// The law in a Cluster.
mod cluster {
    use super::{Fixture, FleetKind, open_in};

    async fn open() -> Fixture {
        open_in(FleetKind::Cluster).await
    }

    jobbers_law::conformance_suite!(open, #[ignore = "long: the law once more, in a Cluster"]);
}

/// Cases with every kind of script: none may need a key outside the slot.
mod part_of_the_law {
    use super::{Fixture, FleetKind, open_in};

    async fn open() -> Fixture {
        open_in(FleetKind::Cluster).await
    }

    jobbers_law::conformance_group!(open, submit: a_batch_is_answered_in_order a_delayed_task_is_scheduled);
    jobbers_law::conformance_group!(open, settle: every_outcome_moves_a_task_as_the_table_says);
    jobbers_law::conformance_group!(open, audit: an_audit_of_a_sound_store_finds_nothing);
}

/// Submits a task again and again until it is accepted.
async fn until_accepted(f: &Fixture, name: &str) {
    until(A_WHILE, "tasks are accepted", async || submit(&*f.engine, vec![task(name)]).await.ok()).await;
}

/// Why a store can't be opened.
pub(super) async fn refusal(url: &str) -> Error {
    match RedisEngine::open(url, OpenOptions::default()).await {
        Ok(_) => panic!("{url} should not open"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_waiting_caller_and_a_worker_follow_a_planned_failover() {
    for kind in KINDS {
        let fleet = RedisFleet::start(kind, &RedisOptions::default()).await;
        let f = connect(&fleet.url()).await;
        f.submit_ids(&["held", "waiting"]).await;
        let held = f.claim_one().await;
        let engine = Arc::clone(&f.engine);
        let awaiting = tokio::spawn(async move { engine.await_finished(&id("held"), A_WHILE).await });
        let before = fleet.primary().unwrap();
        until(A_WHILE, "the caller waits", async || {
            let awaited = fleet.server(before).command("HEXISTS jobbers:{0}:awaited held");
            awaited.starts_with(":1").then_some(())
        })
        .await;
        fleet.followed().await;
        fleet.fail_over().await;
        let after = fleet.primary_other_than(before).await;
        // A primary that the Sentinels have replaced accepts tasks for a moment more, and these are lost.
        let arrives = until(Duration::from_secs(5), "tasks are accepted by the new primary", async || {
            submit(&*f.engine, vec![task("after")]).await.ok()?;
            fleet.server(after).command("HEXISTS jobbers:{0}:t after").starts_with(":1").then_some(())
        });
        arrives.await;
        assert_eq!(f.settle(&held, DONE).await, SettleAnswer::Accepted(Status::Completed), "{kind:?}");
        assert_eq!(awaiting.await.unwrap().unwrap().unwrap().status, Status::Completed, "{kind:?}");
        until(A_WHILE, "it listens at the new primary", async || {
            f.engine.wait(&worker("w1"), Duration::ZERO).await;
            fleet.server(after).command("PUBSUB NUMSUB jobbers:{0}:all").ends_with(":1\r\n").then_some(())
        })
        .await;
        assert_eq!(ids(&f.claim(10).await), ["waiting", "after"], "{kind:?}");
    }
}

#[tokio::test]
async fn an_idle_process_follows_when_its_primary_dies() {
    for kind in KINDS {
        let mut fleet = RedisFleet::start(kind, &RedisOptions::default()).await;
        let f = connect(&fleet.url()).await;
        f.submit_ids(&["a"]).await;
        let before = fleet.primary().unwrap();
        fleet.followed().await;
        fleet.kill_9(before);
        let after = fleet.primary_other_than(before).await;
        // No call is made meanwhile.
        until(A_WHILE, "it listens at the new primary", async || {
            fleet.server(after).command("PUBSUB NUMSUB jobbers:{0}:all").ends_with(":1\r\n").then_some(())
        })
        .await;
        assert_eq!(ids(&f.claim(10).await), ["a"], "{kind:?}");
    }
}

#[tokio::test]
async fn a_call_to_a_frozen_primary_is_answered_by_the_new_one() {
    for kind in KINDS {
        let mut fleet = RedisFleet::start(kind, &RedisOptions::default()).await;
        let f = connect(&fleet.url()).await;
        f.submit_ids(&["a"]).await;
        let before = fleet.primary().unwrap();
        fleet.followed().await;
        fleet.freeze(before);
        let answered = submit(&*f.engine, vec![task("b")]).await;
        let after = fleet.primary_other_than(before).await;
        if answered.is_err() {
            // The others took longer than a call is tried to choose one.
            until(Duration::from_secs(5), "tasks are accepted", async || {
                submit(&*f.engine, vec![task("b")]).await.ok()
            })
            .await;
        }
        assert!(fleet.server(after).command("HEXISTS jobbers:{0}:t b").starts_with(":1"), "{kind:?}");
        fleet.thaw(before);
    }
}

#[tokio::test]
async fn a_slot_in_migration_is_waited_for_and_never_read_by_halves() {
    let size = FleetSize { primaries: 2, replicas: 0, sentinels: 0 };
    let fleet = RedisFleet::start_with(FleetKind::Cluster, size, &RedisOptions::default()).await;
    let f = connect(&fleet.url()).await;
    f.submit_ids(&["a"]).await;
    let from = fleet.primary().unwrap();
    let (from, to) = (fleet.server(from), fleet.server(1 - from));
    let id_of = |server: &RedisServer| server.command("CLUSTER MYID").lines().nth(1).unwrap().to_owned();
    assert_eq!(to.command(&format!("CLUSTER SETSLOT {SLOT} IMPORTING {}", id_of(from))), "+OK\r\n");
    assert_eq!(from.command(&format!("CLUSTER SETSLOT {SLOT} MIGRATING {}", id_of(to))), "+OK\r\n");
    let start = Instant::now();
    let refused = submit(&*f.engine, vec![task("b")]).await;
    assert!(matches!(&refused, Err(Error::Unavailable { reason, .. }) if reason.contains("moving")), "{refused:?}");
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(to.command("DBSIZE"), ":0\r\n", "nothing was written where the slot is imported");
    let keys = from.command(&format!("CLUSTER GETKEYSINSLOT {SLOT} 1000"));
    let keys: Vec<&str> = keys.lines().filter(|line| line.starts_with("jobbers")).collect();
    let (port, keys) = (to.address().port(), keys.join(" "));
    let migrate = async {
        assert_eq!(from.command(&format!("MIGRATE 127.0.0.1 {port} \"\" 0 5000 KEYS {keys}")), "+OK\r\n");
        for node in [to, from] {
            assert_eq!(node.command(&format!("CLUSTER SETSLOT {SLOT} NODE {}", id_of(to))), "+OK\r\n");
        }
    };
    tokio::join!(until_accepted(&f, "b"), migrate);
    assert_eq!(ids(&f.claim(10).await), ["a", "b"]);
    assert!(to.command("HEXISTS jobbers:{0}:t b").starts_with(":1"));
}

#[tokio::test]
async fn a_primary_without_enough_replicas_is_waited_for() {
    let arguments = ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"].map(str::to_owned).to_vec();
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    assert_eq!(server.command("CONFIG SET min-replicas-to-write 1"), "+OK\r\n");
    let refused = submit(&*f.engine, vec![task("a")]).await;
    assert!(matches!(&refused, Err(Error::Unavailable { reason, .. }) if reason.contains("NOREPLICAS")), "{refused:?}");
    let replica = RedisServer::start(RedisOptions { arguments, ..RedisOptions::default() });
    let follow = format!("REPLICAOF 127.0.0.1 {}", server.address().port());
    tokio::join!(until_accepted(&f, "a"), async { assert_eq!(replica.command(&follow), "+OK\r\n") });
    assert_eq!(ids(&f.claim(10).await), ["a"]);
}

#[tokio::test]
async fn the_address_to_write_is_named() {
    let (watched, cluster) = (smallest(FleetKind::Sentinels).await, smallest(FleetKind::Cluster).await);
    let (sentinel, single, node) = (watched.sentinel(0), watched.server(0).address(), cluster.server(0).address());
    for (url, told) in [
        (format!("redis://{sentinel}"), format!("redis+sentinel://{sentinel}/{NAME}")),
        (format!("redis://{sentinel}/1"), format!("redis+sentinel://{sentinel}/{NAME}")),
        (format!("redis://me:secret@{sentinel}"), format!("redis+sentinel://{sentinel}/{NAME}")),
        (format!("redis+cluster://{sentinel}"), format!("redis+sentinel://{sentinel}/NAME")),
        (format!("redis://{node}"), format!("redis+cluster://{node}")),
        (format!("redis://{node}/1"), format!("redis+cluster://{node}")),
        (format!("redis+cluster://{single}"), format!("redis://{single}")),
        (format!("redis+sentinel://{single}/{NAME}"), "is no Sentinel".to_owned()),
        (format!("redis+sentinel://{sentinel}/other"), format!("those that it knows: {NAME}")),
        (format!("redis+cluster://{node}/1"), "one database".to_owned()),
    ] {
        let error = refusal(&url).await;
        assert!(
            matches!(&error, Error::Config(why) if why.contains(&told) && !why.contains("secret")),
            "{url}: {error}"
        );
    }
    let replica = RedisServer::start(RedisOptions::default());
    assert_eq!(replica.command(&format!("REPLICAOF 127.0.0.1 {}", single.port())), "+OK\r\n");
    let ask = |words: &str| ask_sentinel(sentinel, words);
    let port = replica.address().port();
    assert_eq!(ask(&format!("SENTINEL MONITOR mistaken 127.0.0.1 {port} 2")), "+OK\r\n");
    let error = refusal(&format!("redis+sentinel://{sentinel}/mistaken")).await;
    assert!(matches!(&error, Error::Unavailable { reason, .. } if reason.contains("replica now")), "{error}");
}

#[tokio::test]
async fn half_of_the_sentinels_may_be_gone_and_passwords_differ() {
    let protected = RedisServer::start(RedisOptions::default());
    assert_eq!(protected.command("CONFIG SET requirepass secret"), "+OK\r\n");
    let size = FleetSize { primaries: 1, replicas: 0, sentinels: 3 };
    let fleet = RedisFleet::start_with(FleetKind::Sentinels, size, &RedisOptions::default()).await;
    fleet.freeze_sentinel(2);
    let start = Instant::now();
    connect(&fleet.url()).await.submit_ids(&["a"]).await;
    assert!(start.elapsed() < Duration::from_secs(2), "it waits for the last Sentinel: {:?}", start.elapsed());
    let ask = |words: &str| ask_sentinel(fleet.sentinel(0), words);
    let port = protected.address().port();
    assert_eq!(ask(&format!("SENTINEL MONITOR protected 127.0.0.1 {port} 2")), "+OK\r\n");
    let url = |login: &str| format!("redis+sentinel://{login}{}/protected", fleet.sentinel(0));
    assert!(matches!(refusal(&url("")).await, Error::Config(why) if why.contains("login")));
    connect(&url(":secret@")).await.submit_ids(&["a"]).await;
}

#[tokio::test]
async fn a_call_under_way_on_a_connection_that_is_left_is_sent_again_at_once() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = jobbers_test_support::fault_proxy::FaultProxy::start(server.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.submit_ids(&["a"]).await;
    proxy.fall_silent();
    let (patient, engine) = (Instant::now(), Arc::clone(&f.engine));
    let waiting = tokio::spawn(async move { engine.get(&id("a")).await });
    // A caller that gives up early finds that the connection is dead.
    until(A_WHILE, "another call is answered", async || {
        tokio::time::timeout(Duration::from_millis(300), f.engine.get(&id("a"))).await.ok()?.ok()
    })
    .await;
    assert!(waiting.await.unwrap().unwrap().is_some());
    assert!(patient.elapsed() < Duration::from_secs(4), "it was answered after {:?}", patient.elapsed());
}
