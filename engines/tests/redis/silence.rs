//! Connections that die without breaking, and servers that are not there yet when they are to be followed.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{Error, ExtendAnswer, Extension, SettleAnswer},
    lifecycle::Status,
    task::ClaimedTask,
};
use jobbers_law::conformance::{DONE, Fixture, LEASE, id, ids, task, worker};
use jobbers_test_support::{
    authority::Authority,
    fault_proxy::FaultProxy,
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};

use super::{connect, submit, tls, volume::calls};

const A_WHILE: Duration = Duration::from_secs(60);

/// How many connections the server believes to listen.
fn listeners(server: &RedisServer) -> u32 {
    let answer = server.command("PUBSUB NUMSUB jobbers:{0}:all");
    answer.trim_end().rsplit(':').next().unwrap().parse().unwrap()
}

/// Renews a lease as a worker does: each attempt has a part of the lease, and is given up then.
async fn renew(f: &Fixture, held: &ClaimedTask) {
    let name = worker("w1");
    let renewed = until(A_WHILE, "the lease is renewed", async || {
        let lease = Extension { id: held.id.clone(), fence: held.fence, heartbeat: None };
        let extend = f.engine.extend(&name, LEASE, vec![lease]);
        tokio::time::timeout(Duration::from_millis(300), extend).await.ok()?.ok()
    })
    .await;
    assert_eq!(renewed, [ExtendAnswer::Extended { cancel_requested: false }]);
}

#[tokio::test]
async fn connections_that_died_in_silence_are_left_for_new_ones() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = FaultProxy::start(server.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.submit_ids(&["before"]).await;
    let held = f.claim_one().await;
    proxy.fall_silent();
    until(A_WHILE, "a call is answered again", async || f.engine.get(&id("before")).await.ok()).await;
    assert_eq!(f.settle(&held, DONE).await, SettleAnswer::Accepted(Status::Completed));
    f.submit_ids(&["after"]).await;
    assert_eq!(ids(&f.claim(10).await), ["after"]);
    // The server believes that the dead connection listens still.
    until(A_WHILE, "the new connection listens", async || {
        f.engine.wait(&worker("w1"), Duration::ZERO).await;
        (listeners(&server) == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_dead_connection_is_found_by_callers_that_give_up_before_the_engine_does() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = FaultProxy::start(server.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.submit_ids(&["a"]).await;
    let held = f.claim_one().await;
    proxy.fall_silent();
    renew(&f, &held).await;
}

#[tokio::test]
async fn a_dead_connection_with_tls_is_left_too() {
    let authority = Authority::new();
    let (_server, port) = tls::server(&authority, false);
    let proxy = FaultProxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await;
    let trusted = tls::parameter(&authority, "ca", "ca.pem");
    let f = connect(&format!("rediss://localhost:{}?{trusted}", proxy.address().port())).await;
    f.submit_ids(&["a"]).await;
    let held = f.claim_one().await;
    proxy.fall_silent();
    renew(&f, &held).await;
}

#[tokio::test]
async fn a_server_that_was_only_slow_is_not_left() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    let listener = || {
        let clients = server.command("CLIENT LIST TYPE pubsub");
        let (_, of_first) = clients.split_once("id=").unwrap();
        of_first.split(' ').next().unwrap().to_owned()
    };
    let (before, greetings) = (listener(), calls(&server, "hello"));
    server.pause();
    assert!(matches!(f.engine.get(&id("a")).await, Err(Error::Unavailable { .. })));
    server.resume();
    until(A_WHILE, "it was asked for a word", async || (calls(&server, "ping") > 0).then_some(())).await;
    // Each lane would connect again.
    until(A_WHILE, "it answers again", async || f.engine.get(&id("a")).await.ok()).await;
    let held = f.claim_one().await;
    renew(&f, &held).await;
    f.submit_ids(&["b"]).await;
    assert_eq!(calls(&server, "hello"), greetings + 1, "only the connection that asked has connected again");
    assert_eq!(listener(), before);
}

#[tokio::test]
async fn who_follows_to_a_server_that_is_not_there_yet_listens_once_it_is_and_waits_no_longer_than_it_wants() {
    let (old, new) = (RedisServer::start(RedisOptions::default()), RedisServer::start(RedisOptions::default()));
    let proxy = FaultProxy::start(old.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.submit_ids(&["before"]).await;
    new.pause();
    proxy.lead_to(new.address());
    let primary = new.address();
    assert_eq!(old.command(&format!("REPLICAOF {} {}", primary.ip(), primary.port())), "+OK\r\n");
    let refused = submit(&*f.engine, vec![task("a")]).await;
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    // One that is dropped at once is the one that follows.
    tokio::time::timeout(Duration::ZERO, f.engine.wait(&worker("w1"), A_WHILE)).await.ok();
    let start = Instant::now();
    f.engine.wait(&worker("w1"), Duration::from_millis(10)).await;
    assert!(start.elapsed() < Duration::from_secs(3), "it waited {:?}", start.elapsed());
    // Far longer than an attempt to listen is given.
    while start.elapsed() < Duration::from_secs(7) {
        assert!(f.engine.get(&id("before")).await.is_err(), "nobody is there");
    }
    new.resume();
    until(A_WHILE, "it listens", async || (listeners(&new) == 1).then_some(())).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn idle_connections_are_asked_for_a_sign_of_life() {
    /// The entry in the system's table of connections for one whose timer is that of its probes.
    const PROBES: &str = "02:";
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    let remote = format!("0100007F:{:04X}", server.address().port());
    until(A_WHILE, "each has a timer for its probes", async || {
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let ours: Vec<_> = rows.filter(|row| row.get(2) == Some(&remote.as_str()) && row[3] == "01").collect();
        (ours.len() >= 3 && ours.iter().all(|row| row[5].starts_with(PROBES))).then_some(())
    })
    .await;
}
