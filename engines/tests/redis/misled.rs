//! Addresses that lead nowhere, fleets that are set up wrong, and calls that a failover interrupts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use jobbers_common::engine::{AuditRequest, Error, ListRequest, TaskFilter};
use jobbers_law::conformance::{audit::assert_sound, task};
use jobbers_test_support::{
    redis_fleet::{FleetKind, FleetSize, RedisFleet, SLOT},
    redis_server::{RedisOptions, RedisServer},
    wait::until,
};

use super::{connect, failover::refusal, submit};

const A_WHILE: Duration = Duration::from_secs(60);

/// Nodes of a Cluster without replicas.
async fn nodes(primaries: usize) -> RedisFleet {
    let size = FleetSize { primaries, replicas: 0, sentinels: 0 };
    RedisFleet::start_with(FleetKind::Cluster, size, &RedisOptions::default()).await
}

fn is_ok(server: &RedisServer, command: &str) {
    assert_eq!(server.command(command), "+OK\r\n", "{command}");
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_refused() {
    for url in [
        "redis://nowhere.invalid:6379",
        "redis+sentinel://nowhere.invalid,elsewhere.invalid/main",
        "redis+cluster://nowhere.invalid,elsewhere.invalid",
    ] {
        let refused = tokio::time::timeout(A_WHILE, refusal(url)).await.unwrap();
        assert!(
            matches!(&refused, Error::Unavailable { reason, .. } if reason.contains("lookup address")),
            "{url}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_cluster_in_which_no_node_has_the_slot_is_waited_for() {
    let fleet = nodes(1).await;
    let f = connect(&fleet.url()).await;
    f.submit_ids(&["a"]).await;
    is_ok(fleet.server(0), &format!("CLUSTER DELSLOTS {SLOT}"));
    let refused = submit(&*f.engine, vec![task("b")]).await;
    assert!(
        matches!(&refused, Err(Error::Unavailable { reason, .. }) if reason.contains("CLUSTERDOWN")),
        "{refused:?}"
    );
    let opened = refusal(&fleet.url()).await;
    assert!(matches!(&opened, Error::Unavailable { reason, .. } if reason.contains("CLUSTERDOWN")), "{opened:?}");
    is_ok(fleet.server(0), &format!("CLUSTER ADDSLOTS {SLOT}"));
    until(A_WHILE, "tasks are accepted", async || submit(&*f.engine, vec![task("b")]).await.ok()).await;
}

#[tokio::test]
async fn a_password_on_some_nodes_only_is_asked_for_where_the_store_is() {
    let fleet = nodes(2).await;
    let owner = fleet.primary().unwrap();
    is_ok(fleet.server(1 - owner), "CONFIG SET requirepass secret");
    connect(&fleet.url()).await.submit_ids(&["a"]).await;
    // Now the other way around.
    let mut other = std::net::TcpStream::connect(fleet.server(1 - owner).address()).unwrap();
    std::io::Write::write_all(&mut other, b"AUTH secret\r\nCONFIG SET requirepass \"\"\r\nQUIT\r\n").unwrap();
    std::io::Read::read_to_end(&mut other, &mut Vec::new()).unwrap();
    is_ok(fleet.server(owner), "CONFIG SET requirepass secret");
    let refused = refusal(&fleet.url()).await;
    assert!(matches!(&refused, Error::Config(why) if why.contains("login")), "{refused:?}");
}

#[tokio::test]
async fn a_login_for_other_keys_is_told_so() {
    let server = RedisServer::start(RedisOptions::default());
    is_ok(&server, "ACL SETUSER elsewhere on >secret ~other:* &other:* +@all");
    let refused = refusal(&server.url().replace("redis://", "redis://elsewhere:secret@")).await;
    assert!(matches!(&refused, Error::Config(why) if why.contains("login")), "{refused:?}");
}

/// Whether a call was carried out; otherwise it must have been refused for the time being.
fn is_done<T>(outcome: Result<T, Error>, what: &str) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(Error::Unavailable { .. }) => None,
        Err(other) => panic!("{what}: {other:?}"),
    }
}

/// Batches of a thousand tasks, lists with what is exported of them, and repairs, until a failover is over.
async fn work_through_a_failover(kind: FleetKind, promise: &str) {
    let fleet = RedisFleet::start(kind, &RedisOptions::default()).await;
    let f = connect(&format!("{}{promise}", fleet.url())).await;
    let (batches, exports, repairs) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let is_over = AtomicBool::new(false);
    let goes_on = || !is_over.load(Ordering::SeqCst);
    let submitting = async {
        let mut accepted = 0_u64;
        for n in (0..).take_while(|_| goes_on()) {
            let tasks = (0..1_000).map(|i| task(&format!("{n}-{i}"))).collect();
            let done = is_done(submit(&*f.engine, tasks).await, "a batch").is_some();
            accepted += if done { 1_000 } else { 0 };
            batches.fetch_add(usize::from(done), Ordering::SeqCst);
        }
        accepted
    };
    let exporting = async {
        while goes_on() {
            let request = ListRequest { filter: TaskFilter::default(), limit: 1_000, cursor: None };
            let Some(page) = is_done(f.engine.list(request).await, "a list") else { continue };
            let ids: Vec<_> = page.tasks.into_iter().map(|task| task.id).collect();
            let dumped = is_done(Arc::clone(&f.engine).backup().dump(&ids).await, "an export");
            exports.fetch_add(usize::from(dumped.is_some()), Ordering::SeqCst);
        }
    };
    let repairing = async {
        let mut cursor = None;
        while goes_on() {
            let request = AuditRequest { limit: 1_000, repair: true, cursor: cursor.clone() };
            let Some(audited) = is_done(f.engine.audit(request).await, "a repair") else { continue };
            assert_eq!(audited.findings, []);
            cursor = audited.next;
            repairs.fetch_add(1, Ordering::SeqCst);
        }
    };
    let some_more = async || {
        let counters = [&batches, &exports, &repairs];
        let before = counters.map(|counter| counter.load(Ordering::SeqCst));
        until(A_WHILE, "calls of each kind are answered", async || {
            let goes_on = counters.iter().zip(before).all(|(counter, n)| counter.load(Ordering::SeqCst) > n + 1);
            goes_on.then_some(())
        })
        .await;
    };
    let failing_over = async {
        some_more().await;
        fleet.followed().await;
        let before = fleet.primary().unwrap();
        fleet.fail_over().await;
        fleet.primary_other_than(before).await;
        some_more().await;
        is_over.store(true, Ordering::SeqCst);
    };
    let (accepted, (), (), ()) = tokio::join!(submitting, exporting, repairing, failing_over);
    let stored = f.stats("default").await.accepted;
    assert!(stored >= accepted, "{kind:?}: {stored} of {accepted} accepted tasks are there");
    f.assert_conserved().await;
    assert_sound(&f, 1_000, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_exports_and_repairs_that_a_failover_interrupts_are_done_or_refused() {
    work_through_a_failover(FleetKind::Cluster, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_they_are_behind_sentinels_where_all_replicas_are_to_have_them() {
    work_through_a_failover(FleetKind::Sentinels, "?durability=replicated:2").await;
}
