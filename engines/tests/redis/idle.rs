//! What an idle store writes: nothing, while its workers and the holders of its duties stay known.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Duties, DutyClaim, Workers},
    name::{DutyName, HolderId},
    time::{Clock, ManualClock},
    worker::WorkerReport,
};
use jobbers_engines::{OpenOptions, redis::RedisEngine};
use jobbers_law::conformance::{settings::report, worker};
use jobbers_test_support::{
    fault_proxy::FaultProxy,
    port::free_port,
    redis_server::{Persistence, RedisOptions, RedisServer},
    wait::until,
};

use super::START;

const TTL: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_secs(2);
/// A beat's end is rounded up to this.
const GRAIN: Duration = Duration::from_secs(2);
const A_WHILE: Duration = Duration::from_secs(60);

/// One server, as two processes have it.
struct Shared {
    server: RedisServer,
    clock: Arc<ManualClock>,
    here: RedisEngine,
    there: RedisEngine,
}

impl Shared {
    async fn open(server: RedisServer) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let url = server.url();
        let [here, there] = [Self::engine(&url, &clock).await, Self::engine(&url, &clock).await];
        Self { server, clock, here, there }
    }

    async fn engine(url: &str, clock: &Arc<ManualClock>) -> RedisEngine {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        RedisEngine::open(url, OpenOptions { clock: Some(clock), ..OpenOptions::default() }).await.unwrap()
    }

    /// How many keys were changed.
    fn changes(&self) -> i64 {
        let info = self.server.command("INFO persistence");
        let changes = info.lines().find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
        changes.unwrap().trim().parse().unwrap()
    }

    /// What a worker and a manager without work do, for some rounds. Returns how many changes it took.
    async fn idle(&self, report: &WorkerReport, rounds: u32) -> i64 {
        let before = self.changes();
        for _ in 0..rounds {
            self.clock.advance(EVERY);
            self.here.register_worker(report.clone(), TTL).await.unwrap();
            assert_eq!(holder_after_claim(&self.here, "here").await, "here");
            assert_eq!(holder_after_claim(&self.there, "there").await, "here");
            let alive = self.there.workers().await.unwrap();
            assert!(alive.len() == 1 && alive[0].started_at == START.after(EVERY), "{alive:?}");
            assert!(alive[0].seen_at <= self.clock.now() && alive[0].seen_at.after(EVERY) >= self.clock.now());
        }
        self.changes() - before
    }

    async fn are_alive(&self, names: &[&str]) -> bool {
        let alive = self.there.workers().await.unwrap();
        alive.iter().map(|worker| worker.report.id.as_str()).eq(names.iter().copied())
    }
}

async fn holder_after_claim(engine: &RedisEngine, name: &str) -> String {
    let holder = HolderId::new(name).unwrap();
    let claim = DutyClaim { duty: DutyName::new("keep").unwrap(), holder, note: "n".to_owned(), ttl: TTL };
    engine.claim_duty(claim).await.unwrap().holder.to_string()
}

fn server() -> RedisServer {
    RedisServer::start(RedisOptions::default())
}

#[tokio::test]
async fn an_idle_minute_writes_nothing_and_others_see_who_is_alive() {
    let store = Shared::open(server()).await;
    assert!(store.idle(&report("w"), 1).await > 0, "the first registration is written");
    assert!(store.idle(&report("w"), 1).await > 0, "that it is renewed without a write is written");
    assert_eq!(store.idle(&report("w"), 60).await, 0);
    // What changes is written.
    let other = WorkerReport { running: 4, ..report("w") };
    assert!(store.idle(&other, 2).await > 0);
    assert_eq!(store.idle(&other, 60).await, 0);
    let channels = store.server.command("PUBSUB CHANNELS jobbers:{0}:beat:*");
    assert!(channels.starts_with("*2\r\n"), "only the last beat of each is left: {channels}");
}

#[tokio::test]
async fn who_stops_renewing_is_gone_when_its_time_is_over() {
    let store = Shared::open(server()).await;
    store.idle(&report("w"), 30).await;
    store.clock.advance(TTL - Duration::from_millis(1));
    assert!(store.are_alive(&["w"]).await);
    assert_eq!(holder_after_claim(&store.there, "there").await, "here");
    store.clock.advance(GRAIN);
    assert!(store.are_alive(&[]).await);
    assert_eq!(holder_after_claim(&store.there, "there").await, "there");
    assert_eq!(holder_after_claim(&store.here, "here").await, "there");
}

#[tokio::test]
async fn a_process_that_ends_without_a_word_is_gone_soon_though_no_time_passes() {
    let store = Shared::open(server()).await;
    store.idle(&report("w"), 30).await;
    let Shared { server: _server, here, there, .. } = store;
    drop(here);
    let is_gone = async || there.workers().await.unwrap().is_empty().then_some(());
    until(A_WHILE, "the worker is gone", is_gone).await;
    let is_taken = async || (holder_after_claim(&there, "there").await == "there").then_some(());
    until(A_WHILE, "the duty is free", is_taken).await;
}

#[tokio::test]
async fn a_server_that_restarts_forgets_neither_workers_nor_who_has_a_duty() {
    let options = RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() };
    let server = RedisServer::start(options);
    let proxy = FaultProxy::start(server.address()).await;
    let mut store = Shared::open(server).await;
    store.here = Shared::engine(&format!("redis://{}", proxy.address()), &store.clock).await;
    store.idle(&report("w"), 30).await;
    proxy.lead_to((Ipv4Addr::LOCALHOST, free_port()).into());
    store.server.kill_9();
    store.server.restart();
    let asks = async || store.there.workers().await.ok();
    let alive = until(A_WHILE, "the server answers", asks).await;
    assert_eq!(alive.len(), 1, "it may come back");
    store.there.register_worker(report("other"), TTL).await.unwrap();
    store.there.deregister_worker(&worker("other")).await.unwrap();
    assert_eq!(holder_after_claim(&store.there, "there").await, "here");
    proxy.lead_to(store.server.address());
    until(A_WHILE, "the holder is back", async || store.here.workers().await.ok()).await;
    store.idle(&report("w"), 30).await;
}

#[tokio::test]
async fn a_worker_that_leaves_and_a_duty_that_is_given_back_are_free_at_once() {
    let store = Shared::open(server()).await;
    store.idle(&report("w"), 30).await;
    store.here.deregister_worker(&worker("w")).await.unwrap();
    assert!(store.are_alive(&[]).await);
    let (duty, holder) = (DutyName::new("keep").unwrap(), HolderId::new("here").unwrap());
    store.here.release_duty(&duty, &holder).await.unwrap();
    assert_eq!(store.there.duty(&duty).await.unwrap(), None);
    assert_eq!(holder_after_claim(&store.there, "there").await, "there");
    assert_eq!(store.server.command("EXISTS jobbers:{0}:quiet"), ":0\r\n");
    assert_eq!(store.server.command("PUBSUB CHANNELS jobbers:{0}:beat:*"), "*0\r\n");
}

#[tokio::test]
async fn silent_workers_are_forgotten_when_another_registers() {
    let store = Shared::open(server()).await;
    for name in ["a", "b", "c"] {
        for _ in 0..2 {
            store.here.register_worker(report(name), TTL).await.unwrap();
        }
    }
    assert_eq!(store.server.command("HLEN jobbers:{0}:quiet"), ":3\r\n");
    store.clock.advance(TTL + GRAIN);
    store.there.register_worker(report("new"), TTL).await.unwrap();
    assert_eq!(store.server.command("HKEYS jobbers:{0}:workers"), "*1\r\n$3\r\nnew\r\n");
    assert_eq!(store.server.command("EXISTS jobbers:{0}:quiet"), ":0\r\n");
}

#[tokio::test]
async fn a_user_who_may_not_ask_who_listens_or_listen_to_beats_renews_by_writing() {
    for denied in ["-pubsub", "resetchannels &jobbers:{0}:all &jobbers:{0}:instance:*"] {
        let server = server();
        let answer = server.command(&format!("ACL SETUSER jobs on >word ~* &* +@all {denied}"));
        assert_eq!(answer, "+OK\r\n");
        let url = server.url().replace("redis://", "redis://jobs:word@");
        let clock = Arc::new(ManualClock::new(START));
        let (here, there) = (Shared::engine(&url, &clock).await, Shared::engine(&server.url(), &clock).await);
        let store = Shared { server, clock, here, there };
        assert!(store.idle(&report("w"), 60).await >= 60, "{denied}");
        // What was refused is not asked for again with the channels that wake workers.
        assert_eq!(store.server.command("CLIENT KILL TYPE pubsub"), ":2\r\n");
        let both_listen =
            async || store.server.command("PUBSUB NUMSUB jobbers:{0}:all").ends_with(":2\r\n").then_some(());
        until(A_WHILE, "both are subscribed again", both_listen).await;
    }
}
