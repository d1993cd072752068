//! Lost answers, lost servers, lost data.

use std::{
    io::Write as _,
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use jobbers_common::{
    engine::{ClaimRequest, ConflictReason, Cycle, Error, QueueClaim, SettleAnswer, Settlement, SubmittedHow},
    lifecycle::Status,
    payload::Payload,
    task::{Fence, NewTask, Start},
};
use jobbers_law::conformance::{DONE, LEASE, id, ids, queue, retry, task, task_in, worker};
use jobbers_test_support::{
    fault_proxy::FaultProxy,
    redis_server::{Persistence, RedisOptions, RedisServer},
    wait::until,
};

use super::{connect, submit};

#[tokio::test]
async fn a_cycle_whose_answer_got_lost_is_answered_by_what_it_did() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = FaultProxy::start(server.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.submit((0..10).map(|n| task(&format!("t{n}"))).collect()).await;
    let held = f.claim(2).await;
    let settlements: Vec<Settlement> = held
        .iter()
        .zip([DONE, retry(Duration::from_secs(60))])
        .map(|(task, outcome)| Settlement::new(task.id.clone(), task.fence, outcome))
        .collect();
    proxy.lose_answers(1);
    let reply = f.cycle_as("w1", &["default"], 4, settlements).await;
    assert_eq!(proxy.still_to_lose(), 0, "an answer was lost");
    let accepted = [Status::Completed, Status::Scheduled].map(SettleAnswer::Accepted);
    assert_eq!(reply.settled, accepted, "a retry is not settled twice");
    assert_eq!(ids(&reply.claimed), ["t2", "t3", "t4", "t5"]);
    assert_eq!((f.count(Status::Started).await, f.count(Status::Submitted).await), (4, 4), "nothing more was leased");
    for task in &reply.claimed {
        assert_eq!((task.attempt, f.get(task.id.as_str()).await.lease.unwrap().fence), (1, task.fence));
        assert_eq!(f.settle(task, DONE).await, SettleAnswer::Accepted(Status::Completed));
    }
}

#[tokio::test]
async fn a_claim_that_a_frozen_server_comes_to_when_nobody_waits_leases_nothing() {
    claim_of_a_frozen_server(LEASE).await;
}

#[tokio::test]
async fn nor_does_one_whose_lease_is_shorter_than_the_engine_s_patience() {
    claim_of_a_frozen_server(Duration::from_millis(500)).await;
}

/// The worker waits for as long as its lease would last, as the engine does for some time of its own.
async fn claim_of_a_frozen_server(lease: Duration) {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    assert!(f.claim(1).await.is_empty(), "there is nothing yet");
    f.submit_ids(&["a", "b"]).await;
    let held = f.claim_one().await;
    let before = evaluated(&server);
    server.pause();
    let queues = vec![QueueClaim { queue: queue("default"), limit: 1 }];
    let claim = Some(ClaimRequest { queues, limit: 1, refused: Vec::new(), lease });
    let settlements = vec![Settlement::new(held.id.clone(), held.fence, DONE)];
    let cycle = f.engine.cycle(Cycle { worker: worker("w1"), settlements, claim });
    let unanswered = tokio::time::timeout(lease, cycle).await;
    assert!(matches!(unanswered, Err(_) | Ok(Err(Error::Unavailable { .. }))), "{unanswered:?}");
    server.resume();
    until(Duration::from_secs(30), "the call is carried out", async || (evaluated(&server) > before).then_some(()))
        .await;
    assert_eq!(f.status("a").await, Status::Completed, "what had finished is settled");
    assert_eq!(f.status("b").await, Status::Submitted, "nobody would run it");
    assert_eq!(ids(&f.claim(1).await), ["b"]);
}

#[tokio::test]
async fn a_login_that_is_refused_by_and_by_is_told_of() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    assert_eq!(server.command("CONFIG SET requirepass secret"), "+OK\r\n");
    assert!(f.engine.get(&id("a")).await.is_ok(), "who is there stays");
    // Its last connection is the one that ends all others.
    let mut killer = TcpStream::connect(server.address()).unwrap();
    write!(killer, "AUTH secret\r\nCLIENT KILL TYPE normal SKIPME yes\r\n").unwrap();
    let why = until(Duration::from_secs(60), "the reason is told", async || match f.engine.get(&id("a")).await {
        Err(Error::Config(why)) => Some(why),
        _ => None,
    })
    .await;
    assert!(why.contains("login") && !why.contains("secret"), "{why}");
    write!(killer, "CONFIG SET requirepass \"\"\r\n").unwrap();
    until(Duration::from_secs(60), "it is let in again", async || f.engine.get(&id("a")).await.ok()).await;
}

#[tokio::test]
async fn a_replayed_claim_hands_over_what_earlier_attempts_left() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = FaultProxy::start(server.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    let large = Payload::json(vec![b'7'; 5_000]);
    f.submit(vec![NewTask { parameters: large.clone(), ..task("a") }]).await;
    let first = f.claim_one().await;
    f.settle(&first, retry(Duration::ZERO)).await;
    let ready_at = f.get("a").await.ready_at;
    proxy.lose_answers(1);
    let again = f.claim_one().await;
    assert_eq!(proxy.still_to_lose(), 0, "an answer was lost");
    assert_eq!((again.attempt, again.crashes, again.ready_at, again.parameters), (2, 0, ready_at, large));
}

#[tokio::test]
async fn a_submission_whose_answer_got_lost_is_stored_once() {
    let server = RedisServer::start(RedisOptions::default());
    let proxy = FaultProxy::start(server.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.submit_ids(&["before"]).await;
    proxy.lose_answers(1);
    let answers = f.submit(vec![task("a"), task("b")]).await;
    assert_eq!(proxy.still_to_lose(), 0, "an answer was lost");
    assert!(answers.iter().all(|answer| answer.how == SubmittedHow::Existing), "{answers:?}");
    assert_eq!(f.count(Status::Submitted).await, 3);
    f.assert_conserved().await;
}

#[tokio::test]
async fn submissions_that_share_a_call_do_not_share_their_fate() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.submit_ids(&["taken"]).await;
    server.pause();
    let calls: Vec<_> = (0..60)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let tasks = match n % 3 {
                0 => vec![task(&format!("t{n}"))],
                1 => vec![task(&format!("t{n}")), NewTask { version: 2, ..task("taken") }],
                _ => vec![task_in(&format!("t{n}"), "nowhere")],
            };
            tokio::spawn(async move { submit(&*engine, tasks).await })
        })
        .collect();
    tokio::task::yield_now().await;
    server.resume();
    for (n, call) in calls.into_iter().enumerate() {
        let answer = call.await.unwrap();
        match n % 3 {
            0 => assert_eq!(answer.unwrap()[0].how, SubmittedHow::Created),
            1 => assert!(
                matches!(&answer, Err(Error::Conflict { id, reason: ConflictReason::BodyDiffers, .. }) if id.as_str() == "taken"),
                "{answer:?}"
            ),
            _ => assert_eq!(answer, Err(Error::UnknownQueue(queue("nowhere")))),
        }
    }
    assert_eq!(f.count(Status::Submitted).await, 21, "the refused ones left nothing");
}

#[tokio::test]
async fn single_tasks_of_many_callers_are_answered_each_for_itself() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let known = ["same", "other"].iter().flat_map(|name| (0..20).map(move |n| task(&format!("{name}{n}"))));
    f.submit(known.collect()).await;
    server.pause();
    let calls: Vec<_> = (0..80)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let task = match (n % 4, n / 4) {
                (0, n) => task(&format!("new{n}")),
                (1, n) => task(&format!("same{n}")),
                (2, n) => NewTask { version: 2, ..task(&format!("other{n}")) },
                (_, n) => NewTask { start: Start::After(Duration::from_secs(60)), ..task(&format!("later{n}")) },
            };
            tokio::spawn(async move { submit(&*engine, vec![task]).await })
        })
        .collect();
    tokio::task::yield_now().await;
    server.resume();
    for (n, call) in calls.into_iter().enumerate() {
        let answer = call.await.unwrap();
        let told = answer.as_ref().map(|answers| (answers[0].how, answers[0].status));
        match n % 4 {
            0 => assert_eq!(told, Ok((SubmittedHow::Created, Status::Submitted)), "{n}"),
            1 => assert_eq!(told, Ok((SubmittedHow::Existing, Status::Submitted)), "{n}"),
            2 => assert!(
                matches!(&answer, Err(Error::Conflict { id, .. }) if id.as_str() == format!("other{}", n / 4)),
                "{answer:?}"
            ),
            _ => assert_eq!(told, Ok((SubmittedHow::Created, Status::Scheduled)), "{n}"),
        }
    }
    assert_eq!((f.count(Status::Submitted).await, f.count(Status::Scheduled).await), (60, 20));
    f.assert_conserved().await;
}

#[tokio::test]
async fn submissions_that_come_together_share_a_call() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    assert_eq!(server.command("CONFIG RESETSTAT"), "+OK\r\n");
    server.pause();
    let calls: Vec<_> = (0..60)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            tokio::spawn(async move { submit(&*engine, vec![task(&format!("t{n}"))]).await })
        })
        .collect();
    tokio::task::yield_now().await;
    server.resume();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap()[0].how, SubmittedHow::Created);
    }
    let count = evaluated(&server);
    assert!(count <= 10, "60 submissions took {count} calls");
}

#[tokio::test]
async fn what_shares_a_call_is_bounded_by_its_bytes_and_one_submission_stays_whole() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let heavy = |name: &str| NewTask { parameters: Payload::json(vec![b'7'; 512 * 1024]), ..task(name) };
    assert_eq!(server.command("CONFIG RESETSTAT"), "+OK\r\n");
    server.pause();
    let calls: Vec<_> = (0..40)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let tasks = vec![heavy(&format!("t{n}"))];
            tokio::spawn(async move { submit(&*engine, tasks).await })
        })
        .collect();
    tokio::task::yield_now().await;
    server.resume();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap()[0].how, SubmittedHow::Created);
    }
    // Two go ahead alone, and the others by less than eight.
    let count = evaluated(&server);
    assert!((8..=20).contains(&count), "20 MiB took {count} calls");
    f.submit((0..16).map(|n| heavy(&format!("whole{n}"))).collect()).await;
    assert_eq!(evaluated(&server), count + 1, "8 MiB of one caller");
}

/// How many scripts the server was sent.
fn evaluated(server: &RedisServer) -> u64 {
    let stats = server.command("INFO commandstats");
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")).unwrap();
    calls.split(',').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_server_that_is_gone_is_said_to_be_unavailable_and_found_again() {
    let mut server = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    server.kill_9();
    let start = Instant::now();
    let refused = submit(&*f.engine, vec![task("b")]).await;
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    assert!(start.elapsed() < Duration::from_secs(8), "it gave up after {:?}", start.elapsed());
    let start = Instant::now();
    let refused = submit(&*f.engine, vec![task("b")]).await;
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    assert!(start.elapsed() < Duration::from_secs(2), "the next one gave up only after {:?}", start.elapsed());
    server.restart();
    assert_eq!(submit(&*f.engine, vec![task("b")]).await.unwrap()[0].how, SubmittedHow::Created);
    assert_eq!(ids(&f.claim(10).await), ["a", "b"], "what was acknowledged before is still there");
}

#[tokio::test]
async fn a_call_survives_a_restart_of_the_server() {
    let mut server = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    let f = connect(&server.url()).await;
    f.submit_ids(&["a"]).await;
    server.kill_9();
    let engine = Arc::clone(&f.engine);
    let claim = tokio::spawn(async move { submit(&*engine, vec![task("b")]).await });
    server.restart();
    assert_eq!(claim.await.unwrap().unwrap()[0].how, SubmittedHow::Created);
}

#[tokio::test]
async fn a_worker_is_woken_again_after_the_server_restarted() {
    let mut server = RedisServer::start(RedisOptions { persistence: Persistence::Always, ..RedisOptions::default() });
    let f = connect(&server.url()).await;
    f.submit_ids(&["before"]).await;
    server.restart();
    assert_eq!(f.claim(10).await.len(), 1);
    let other = connect(&server.url()).await;
    // The engine subscribes again as it connects again, which has no event of its own.
    let both_listen = async || server.command("PUBSUB NUMSUB jobbers:{0}:all").contains(":2\r\n").then_some(());
    until(Duration::from_secs(10), "both engines listen", both_listen).await;
    assert!(f.claim(1).await.is_empty());
    other.submit_ids(&["after"]).await;
    f.engine.wait(&worker("w1"), Duration::from_secs(30)).await;
    assert_eq!(ids(&f.claim(1).await), ["after"]);
}

#[tokio::test]
async fn a_server_that_lost_its_data_is_set_up_anew() {
    let mut server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    f.create_queue("mail").await;
    f.submit_ids(&["lost"]).await;
    let before = f.engine.config().await.unwrap();
    server.restart();
    let refused = submit(&*f.engine, vec![task("early")]).await;
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    let after = f.engine.config().await.unwrap();
    assert_eq!(after.queues.len(), 1, "the queue `default` is back, `mail` is lost");
    assert!(after.version > before.version, "workers notice");
    f.submit_ids(&["anew"]).await;
    assert_eq!(ids(&f.claim(10).await), ["anew"]);
    server.restart();
    assert!(f.claim(10).await.is_empty());
    f.submit_ids(&["again"]).await;
}

#[tokio::test]
async fn scripts_the_server_forgot_are_loaded_again() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    assert_eq!(server.command("SCRIPT FLUSH"), "+OK\r\n");
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    assert_eq!(server.command("SCRIPT FLUSH"), "+OK\r\n");
    assert_eq!(f.settle(&claimed, DONE).await, SettleAnswer::Accepted(Status::Completed));
}

#[tokio::test]
async fn fences_grow_on_after_the_server_lost_its_last_writes() {
    let server = RedisServer::start(RedisOptions::default());
    let f = connect(&server.url()).await;
    let stored = server.command("GET jobbers:{0}:c");
    let kept = stored.lines().nth(1).unwrap_or("0").to_owned();
    f.submit((0..300).map(|n| task(&format!("t{n}"))).collect()).await;
    let mut last = Fence(0);
    for _ in 0..299 {
        last = f.claim_one().await.fence;
    }
    // What a server says that was restored from an older state.
    assert_eq!(server.command(&format!("SET jobbers:{{0}}:c {kept}")), "+OK\r\n");
    let next = f.claim_one().await.fence;
    assert!(next > last, "{next:?} follows {last:?}");
}

#[tokio::test]
async fn a_server_that_became_a_replica_is_left_for_the_new_primary() {
    let (old, new) = (RedisServer::start(RedisOptions::default()), RedisServer::start(RedisOptions::default()));
    let proxy = FaultProxy::start(old.address()).await;
    let f = connect(&format!("redis://{}", proxy.address())).await;
    f.submit_ids(&["before"]).await;
    let follow = |of: &RedisServer| format!("REPLICAOF {} {}", of.address().ip(), of.address().port());
    assert_eq!(new.command(&follow(&old)), "+OK\r\n");
    until(Duration::from_secs(30), "the replica has caught up", async || {
        new.command("HEXISTS jobbers:{0}:t before").starts_with(":1").then_some(())
    })
    .await;
    assert_eq!(new.command("REPLICAOF NO ONE"), "+OK\r\n");
    proxy.lead_to(new.address());
    assert_eq!(old.command(&follow(&new)), "+OK\r\n");
    f.submit_ids(&["after"]).await;
    assert_eq!(ids(&f.claim(10).await), ["before", "after"]);
    assert_eq!(new.command("HLEN jobbers:{0}:t"), ":2\r\n");
    until(Duration::from_secs(30), "whoever waits listens to the new primary", async || {
        f.engine.wait(&worker("w1"), Duration::from_millis(10)).await;
        new.command("PUBSUB NUMSUB jobbers:{0}:all").ends_with(":1\r\n").then_some(())
    })
    .await;
}
