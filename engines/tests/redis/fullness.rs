//! A server that takes nothing more, or only reads.

use jobbers_common::{
    engine::{Cancelled, Error, Extension, PruneRequest, PruneScope, SettleAnswer, TaskFilter, Trouble},
    lifecycle::Status,
    time::Clock,
    worker::registry::Catalogue,
};
use jobbers_law::conformance::{DONE, LEASE, id, seconds, task, worker};
use jobbers_test_support::redis_server::{Persistence, RedisOptions, RedisServer};

use super::{connect, open_at, submit};

#[tokio::test]
async fn a_full_server_refuses_submissions_and_can_be_drained() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a", "b", "c"]).await;
    let held = f.claim_one().await;
    assert_eq!(server.command("CONFIG SET maxmemory 1mb"), "+OK\r\n");
    let refused = submit(&*f.engine, vec![task("d"), task("e")]).await;
    assert!(matches!(refused, Err(Error::Full(_))), "{refused:?}");
    assert_eq!(f.engine.get(&id("d")).await.unwrap(), None, "nothing of it was stored");
    let extension = Extension { id: held.id.clone(), fence: held.fence, heartbeat: None };
    assert!(f.engine.extend(&worker("w1"), LEASE, vec![extension]).await.is_ok());
    assert_eq!(f.settle(&held, DONE).await, SettleAnswer::Accepted(Status::Completed));
    assert_eq!(f.engine.cancel(&[id("c")]).await.unwrap(), [Cancelled::Done]);
    let claimed = f.claim_one().await;
    assert_eq!(f.settle(&claimed, DONE).await, SettleAnswer::Accepted(Status::Completed));
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    let pruned = f.engine.prune(PruneRequest { scope, limit: 100, dry_run: false, cursor: None }).await.unwrap();
    assert_eq!(pruned.removed, 3);
    let health = f.engine.health().await.unwrap();
    assert!(health.warnings.iter().any(|warning| warning.contains("maxmemory")), "{health:?}");
    assert_eq!(health.troubles, [Trouble::Full]);
    // A process that starts now must help with draining.
    let other = connect(&server.url()).await;
    let catalogue = Catalogue { tasks: Vec::new() };
    other.engine.keep_catalogue(&catalogue, LEASE).await.unwrap();
    f.assert_conserved().await;
    assert_eq!(server.command("CONFIG SET maxmemory 0"), "+OK\r\n");
    assert!(submit(&*f.engine, vec![task("d")]).await.is_ok());
}

#[tokio::test]
async fn a_replica_is_read_only_and_can_be_read() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    assert_eq!(server.command("REPLICAOF 127.0.0.1 1"), "+OK\r\n");
    let refused = submit(&*f.engine, vec![task("b")]).await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
    assert_eq!(f.status("a").await, Status::Submitted);
    assert_eq!(f.list(TaskFilter::default(), 10).await.len(), 1);
}

#[tokio::test]
async fn health_warns_of_a_clock_that_was_set_back() {
    let server = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    let f = open_at(&server.url()).await;
    f.submit_ids(&["a"]).await;
    f.claim_one().await;
    let before = f.clock.now();
    f.clock.set(before.before(seconds(600)));
    let warnings = f.engine.health().await.unwrap().warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("600 s behind"), "{warnings:?}");
    f.clock.set(before);
    assert_eq!(f.engine.health().await.unwrap().warnings, [""; 0]);
}

#[tokio::test]
async fn health_warns_of_a_server_that_forgets() {
    let forgetful = RedisServer::start(RedisOptions {
        arguments: ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"].map(str::to_owned).to_vec(),
        ..RedisOptions::default()
    });
    let health = connect(&forgetful.url()).await.engine.health().await.unwrap();
    assert!(health.warnings.iter().any(|warning| warning.contains("append-only")), "{health:?}");
    assert!(health.warnings.iter().any(|warning| warning.contains("allkeys-lru")), "{health:?}");
    let careful = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    let health = connect(&careful.url()).await.engine.health().await.unwrap();
    assert_eq!((health.engine, health.durability.as_str()), ("redis", "appendonly, appendfsync always"));
    assert!(health.warnings.is_empty(), "{health:?}");
}
