//! Claiming: order, limits, time.

use std::{collections::HashSet, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{ClaimRequest, Cycle, Error, PutMode, QueueClaim, SettleAnswer, Settlement},
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_QUEUES_PER_CLAIM},
    name::QueueName,
    queue::{QueueConfig, gate::ConcurrencyKey},
    task::{NewTask, Priority, Start},
    time::Clock,
};

use crate::conformance::{DONE, Fixture, LEASE, ids, queue, seconds, task, task_in, worker};

fn with_priority(id: &str, priority: u8) -> NewTask {
    NewTask { priority: Priority::new(priority).unwrap(), ..task(id) }
}

pub async fn a_claimed_task_is_not_claimed_twice(f: Fixture) {
    f.submit_ids(&["a"]).await;
    assert_eq!(f.claim(10).await.len(), 1);
    assert!(f.claim(10).await.is_empty());
    assert_eq!(f.status("a").await, Status::Started);
}

pub async fn a_claim_hands_over_everything(f: Fixture) {
    let metadata = serde_json::from_str(r#"{"labels": {"team": "core", "tenant": "acme"}}"#).unwrap();
    let concurrency_key = Some(ConcurrencyKey::new("customer:42").unwrap());
    let trace = Some("00-a-b-01".into());
    let new = NewTask { version: 4, trace, metadata, concurrency_key, ..with_priority("a", 9) };
    f.submit(vec![new.clone()]).await;
    let submitted_at = f.clock.now();
    f.advance(seconds(3));
    let claimed = f.claim_one().await;
    assert_eq!((&claimed.id, &claimed.name, claimed.version), (&new.id, &new.name, 4));
    assert_eq!((&claimed.queue, claimed.priority), (&new.queue, new.priority));
    assert_eq!(claimed.concurrency_key, new.concurrency_key);
    assert_eq!(
        (&claimed.parameters, &claimed.overrides, &claimed.metadata, &claimed.trace),
        (&new.parameters, &new.overrides, &new.metadata, &new.trace)
    );
    assert_eq!((claimed.attempt, claimed.crashes, &claimed.checkpoint), (1, 0, &None));
    assert_eq!((claimed.submitted_at, claimed.ready_at), (submitted_at, submitted_at));
    assert_eq!(claimed.started_at, f.clock.now());
    let stored = f.get("a").await;
    let lease = stored.lease.unwrap();
    assert_eq!((lease.worker, lease.fence), (worker("w1"), claimed.fence));
    assert_eq!(lease.expires_at, f.clock.now().after(LEASE));
    assert_eq!((stored.worker, stored.started_at), (Some(worker("w1")), Some(f.clock.now())));
}

pub async fn tasks_are_claimed_first_come_first_served(f: Fixture) {
    f.submit(vec![task("c"), task("a")]).await;
    f.submit(vec![task("b")]).await;
    assert_eq!(ids(&f.claim(2).await), ["c", "a"]);
    assert_eq!(ids(&f.claim(2).await), ["b"]);
}

pub async fn ids_do_not_decide_the_order(f: Fixture) {
    let names: Vec<String> = (0..50).map(|n| format!("{:02}", 97 * (n + 1) % 101)).collect();
    f.submit(names.iter().map(|name| task(name)).collect()).await;
    let claimed = f.claim(50).await;
    assert_eq!(ids(&claimed), names.iter().map(String::as_str).collect::<Vec<_>>());
}

pub async fn higher_priority_is_claimed_first(f: Fixture) {
    f.submit(vec![with_priority("p0", 0), with_priority("p5", 5), with_priority("p9", 9), with_priority("p1", 1)])
        .await;
    f.submit(vec![with_priority("p9b", 9), with_priority("p4", 4), with_priority("p6", 6), with_priority("p0b", 0)])
        .await;
    assert_eq!(ids(&f.claim(10).await), ["p9", "p9b", "p6", "p5", "p4", "p1", "p0", "p0b"]);
}

pub async fn queues_are_asked_in_the_order_given(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![task("a"), task_in("m", "mail"), task("b")]).await;
    assert_eq!(ids(&f.claim_from(&["mail", "default"], 10).await), ["m", "a", "b"]);
}

pub async fn a_claim_holds_to_its_limits(f: Fixture) {
    f.create_queue("mail").await;
    f.submit((0..5).map(|n| task(&format!("d{n}"))).collect()).await;
    f.submit((0..5).map(|n| task_in(&format!("m{n}"), "mail")).collect()).await;
    let queues = vec![QueueClaim { queue: queue("mail"), limit: 2 }, QueueClaim { queue: queue("default"), limit: 10 }];
    let claim = Some(ClaimRequest { queues, limit: 4, refused: Vec::new(), lease: LEASE });
    let reply = f.engine.cycle(Cycle { worker: worker("w1"), settlements: Vec::new(), claim }).await.unwrap();
    assert_eq!(ids(&reply.claimed), ["m0", "m1", "d0", "d1"]);
}

pub async fn a_claim_of_none_takes_none(f: Fixture) {
    f.submit_ids(&["a"]).await;
    assert!(f.claim(0).await.is_empty());
    assert!(f.claim_from(&[], 10).await.is_empty());
    assert_eq!(f.status("a").await, Status::Submitted);
}

pub async fn a_paused_queue_gives_nothing(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let paused = QueueConfig { paused: true, ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(paused, PutMode::Replace).await.unwrap();
    assert!(f.claim(10).await.is_empty());
    f.submit_ids(&["b"]).await;
    f.engine.put_queue(QueueConfig::new(queue("default")), PutMode::Replace).await.unwrap();
    assert_eq!(ids(&f.claim(10).await), ["a", "b"]);
}

pub async fn an_unknown_queue_gives_nothing(f: Fixture) {
    f.submit_ids(&["a"]).await;
    assert!(f.claim_from(&["nowhere"], 10).await.is_empty());
    assert_eq!(ids(&f.claim_from(&["nowhere", "default"], 10).await), ["a"]);
}

pub async fn a_due_task_is_claimed_without_anybody_promoting_it(f: Fixture) {
    f.submit(vec![NewTask { start: Start::After(seconds(10)), ..task("later") }]).await;
    f.advance(seconds(10));
    let claimed = f.claim_one().await;
    assert_eq!((claimed.id.as_str(), claimed.ready_at), ("later", f.clock.now()));
    assert_eq!(claimed.submitted_at, f.clock.now().before(seconds(10)));
}

pub async fn a_task_is_not_claimed_before_its_time(f: Fixture) {
    f.submit(vec![NewTask { start: Start::After(seconds(10)), ..task("later") }]).await;
    f.advance(seconds(10) - Duration::from_micros(1));
    assert!(f.claim(10).await.is_empty());
    assert_eq!(f.status("later").await, Status::Scheduled);
}

pub async fn an_empty_claim_says_when_the_next_task_is_due(f: Fixture) {
    f.create_queue("mail").await;
    f.submit(vec![
        NewTask { start: Start::After(seconds(30)), ..task("later") },
        NewTask { start: Start::After(seconds(20)), ..task("sooner") },
        NewTask { start: Start::After(seconds(1)), ..task_in("elsewhere", "mail") },
    ])
    .await;
    f.advance(seconds(5));
    let reply = f.cycle_as("w1", &["default"], 10, Vec::new()).await;
    assert_eq!(reply.next_due, Some(seconds(15)));
    let reply = f.cycle_as("w1", &[], 10, Vec::new()).await;
    assert_eq!(reply.next_due, None);
}

pub async fn concurrent_claims_share_the_work(f: Fixture) {
    f.submit((0..200).map(|n| task(&format!("t{n}"))).collect()).await;
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let claim = ClaimRequest {
                queues: vec![QueueClaim { queue: queue("default"), limit: 10 }],
                limit: 10,
                refused: Vec::new(),
                lease: LEASE,
            };
            let cycle = Cycle { worker: worker(&format!("w{n}")), settlements: Vec::new(), claim: Some(claim) };
            tokio::spawn(async move { engine.cycle(cycle).await.unwrap().claimed })
        })
        .collect();
    let mut seen = HashSet::new();
    let mut fences = HashSet::new();
    for call in calls {
        for task in call.await.unwrap() {
            assert!(seen.insert(task.id), "no task goes to two workers");
            assert!(fences.insert(task.fence), "no fence is given twice");
        }
    }
    assert_eq!(seen.len(), 200);
}

pub async fn a_claim_past_its_bounds_is_refused(f: Fixture) {
    let claim = |queues: usize, limit, lease| Cycle {
        worker: worker("w1"),
        settlements: Vec::new(),
        claim: Some(ClaimRequest {
            queues: (0..queues)
                .map(|n| QueueClaim { queue: QueueName::new(format!("q{n}")).unwrap(), limit })
                .collect(),
            limit,
            refused: Vec::new(),
            lease,
        }),
    };
    for bad in [claim(1, MAX_BATCH + 1, LEASE), claim(MAX_QUEUES_PER_CLAIM + 1, 1, LEASE), claim(1, 1, Duration::ZERO)]
    {
        assert!(matches!(f.engine.cycle(bad).await, Err(Error::Invalid(_))));
    }
}

pub async fn a_cycle_settles_before_it_claims(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let settlement = Settlement::new(claimed.id, claimed.fence, crate::conformance::retry(Duration::ZERO));
    let reply = f.cycle_as("w1", &["default"], 10, vec![settlement]).await;
    assert_eq!(reply.settled, [SettleAnswer::Accepted(Status::Submitted)]);
    assert_eq!((reply.claimed[0].id.as_str(), reply.claimed[0].attempt), ("a", 2));
}

pub async fn attempts_are_counted(f: Fixture) {
    f.submit_ids(&["a"]).await;
    for attempt in 1..=3 {
        let claimed = f.claim_one().await;
        assert_eq!(claimed.attempt, attempt);
        assert_eq!(f.get("a").await.attempt, attempt);
        f.settle(&claimed, crate::conformance::retry(Duration::ZERO)).await;
        assert_eq!(f.get("a").await.attempt, attempt);
    }
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    assert_eq!(f.get("a").await.attempt, 4);
}
