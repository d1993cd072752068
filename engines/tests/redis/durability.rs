//! What an address promises of durability: refused, reported, or kept.

use std::time::{Duration, Instant};

use jobbers_common::engine::{Error, SubmittedHow, Trouble};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::{Fixture, ids, task};
use jobbers_test_support::{
    redis_server::{Persistence, RedisOptions, RedisServer},
    wait::until,
};

use super::{connect, submit};

const A_WHILE: Duration = Duration::from_secs(60);

fn server(persistence: Persistence) -> RedisServer {
    RedisServer::start(RedisOptions { persistence, ..RedisOptions::default() })
}

/// Why the store can't be opened with this promise; `None` if it can.
async fn refusal(server: &RedisServer, promise: &str) -> Option<Error> {
    let url = format!("{}?durability={promise}", server.url());
    RedisEngine::open(&url, OpenOptions::default()).await.err()
}

fn follow(replica: &RedisServer, primary: &RedisServer) {
    let place = format!("REPLICAOF 127.0.0.1 {}", primary.address().port());
    assert_eq!(replica.command("CONFIG SET repl-diskless-sync-delay 0"), "+OK\r\n");
    assert_eq!(primary.command("CONFIG SET repl-diskless-sync-delay 0"), "+OK\r\n");
    assert_eq!(replica.command(&place), "+OK\r\n");
}

async fn until_followed(primary: &RedisServer) {
    let is_online = async || primary.command("INFO replication").contains("state=online").then_some(());
    until(A_WHILE, "the replica follows", is_online).await;
}

/// Submits a task again and again until it is accepted.
async fn until_accepted(f: &Fixture, name: &str) -> SubmittedHow {
    until(A_WHILE, "the task is accepted", async || Some(submit(&*f.engine, vec![task(name)]).await.ok()?[0].how)).await
}

#[tokio::test]
async fn a_server_that_is_set_up_in_another_way_is_refused() {
    let (none, second, always) =
        (server(Persistence::None), server(Persistence::EverySecond), server(Persistence::Always));
    for (promise, kept_by) in
        [("memory", [true, true, true]), ("everysec", [false, true, true]), ("always", [false, false, true])]
    {
        for (server, is_kept) in [&none, &second, &always].into_iter().zip(kept_by) {
            match refusal(server, promise).await {
                None => assert!(is_kept, "{promise}"),
                Some(Error::Config(why)) => assert!(!is_kept && why.contains(promise), "{promise}: {why}"),
                Some(other) => panic!("{promise}: {other}"),
            }
        }
    }
    assert!(matches!(refusal(&none, "forever").await, Some(Error::Config(why)) if why.contains("replicated:N")));
}

#[tokio::test]
async fn a_server_that_is_changed_later_is_reported() {
    let server = server(Persistence::Always);
    let f = connect(&format!("{}?durability=always", server.url())).await;
    assert_eq!(f.engine.health().await.unwrap().troubles, []);
    assert_eq!(server.command("CONFIG SET appendfsync everysec"), "+OK\r\n");
    let health = f.engine.health().await.unwrap();
    assert_eq!(health.troubles, [Trouble::DurabilityUnmet]);
    assert!(health.warnings.iter().any(|warning| warning.contains("appendfsync always")), "{:?}", health.warnings);
}

#[tokio::test]
async fn what_replicas_do_not_have_is_not_acknowledged() {
    let (primary, replica) = (server(Persistence::None), server(Persistence::None));
    assert!(matches!(refusal(&primary, "replicated:1").await, Some(Error::Unavailable { .. })));
    follow(&replica, &primary);
    until_followed(&primary).await;
    let f = connect(&format!("{}?durability=replicated:1", primary.url())).await;
    f.submit_ids(&["a"]).await;
    assert!(replica.command("HEXISTS jobbers:{0}:t a").starts_with(":1"), "it was acknowledged after it had arrived");
    replica.pause();
    let start = Instant::now();
    let refused = submit(&*f.engine, vec![task("b")]).await;
    assert!(matches!(&refused, Err(Error::Unavailable { reason, .. }) if reason.contains("replicas")), "{refused:?}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    replica.resume();
    assert_eq!(until_accepted(&f, "b").await, SubmittedHow::Existing, "it was carried out");
    assert!(replica.command("HEXISTS jobbers:{0}:t b").starts_with(":1"));
    assert_eq!(ids(&f.claim(10).await), ["a", "b"]);
    f.assert_conserved().await;
}

#[tokio::test]
async fn callers_that_come_together_share_a_wait_and_do_not_wait_one_after_the_other() {
    let (primary, replica) = (server(Persistence::None), server(Persistence::None));
    follow(&replica, &primary);
    until_followed(&primary).await;
    let f = connect(&format!("{}?durability=replicated:1", primary.url())).await;
    replica.pause();
    let start = Instant::now();
    let names: Vec<String> = (0..50).map(|n| format!("key-{n}")).collect();
    let calls = names.iter().map(|name| async { f.engine.cancel(&[jobbers_law::conformance::id(name)]).await });
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(Error::Unavailable { .. }))), "{answers:?}");
    assert!(start.elapsed() < Duration::from_secs(8), "50 waits of 2 s each took {:?}", start.elapsed());
    replica.resume();
    until_accepted(&f, "a").await;
    let stats = primary.command("INFO commandstats");
    let waits = stats.lines().find_map(|line| line.strip_prefix("cmdstat_wait:calls=")?.split_once(',')).unwrap().0;
    assert!(waits.parse::<u32>().unwrap() < 25, "{waits} waits");
}
