//! Limits by key and by task that change while tasks wait and run.

use jobbers_common::{
    engine::{Deleted, Error, PutMode},
    queue::{QueueConfig, gate::GateLimits},
    task::NewTask,
};

use crate::conformance::{DONE, Fixture, RELEASED, audit::assert_sound, id, ids, queue, seconds, task_in};

use super::{at_most, claim_all, key, name, named, per_key, per_task, plain, put, rate, submit_many};

pub async fn limits_that_are_raised_lowered_or_taken_away_hold_at_once(f: Fixture) {
    put(&f, per_key(1)).await;
    submit_many(&f, "acme", 12).await;
    let held = f.claim(10).await;
    assert!(f.claim(10).await.is_empty());
    put(&f, per_key(4)).await;
    assert_eq!(claim_all(&f).await, ["acme0001", "acme0002", "acme0003"]);
    put(&f, per_key(2)).await;
    assert!(claim_all(&f).await.is_empty());
    f.settle(&held[0], DONE).await;
    assert!(claim_all(&f).await.is_empty(), "three still run");
    put(&f, QueueConfig { rate_limit_per_key: Some(rate(1, seconds(60), 1)), ..plain() }).await;
    assert_eq!(claim_all(&f).await, ["acme0004"], "another limit is another question");
    put(&f, plain()).await;
    assert_eq!(claim_all(&f).await.len(), 7, "without a limit nothing waits");
    assert_sound(&f, 1_000, false).await;
}

pub async fn many_that_wait_come_free_when_the_limit_is_taken_away(f: Fixture) {
    put(&f, per_key(1)).await;
    for customer in 0..150 {
        submit_many(&f, &format!("c{customer:03}-"), 3).await;
    }
    submit_many(&f, "acme", 2_500).await;
    assert_eq!(claim_all(&f).await.len(), 151);
    put(&f, plain()).await;
    let rest = claim_all(&f).await;
    assert_eq!(rest.len(), 150 * 2 + 2_499);
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_new_limit_counts_what_runs_already(f: Fixture) {
    submit_many(&f, "acme", 4).await;
    f.submit(vec![named("email", "e1"), named("email", "e2")]).await;
    let held = f.claim(2).await;
    let email = f.claim(3).await;
    assert_eq!(ids(&email), ["acme0002", "acme0003", "e1"]);
    f.settle(&email[0], RELEASED).await;
    f.settle(&email[1], RELEASED).await;
    let config = per_task("email", at_most(1));
    put(&f, QueueConfig { max_concurrent_per_key: Some(2), ..config }).await;
    assert!(claim_all(&f).await.is_empty());
    f.settle(&held[0], DONE).await;
    f.settle(&email[2], DONE).await;
    assert_eq!(claim_all(&f).await, ["acme0002", "e2"]);
    assert_sound(&f, 1_000, false).await;
}

pub async fn a_queue_made_again_remembers_no_gate(f: Fixture) {
    let config =
        QueueConfig { name: queue("mail"), rate_limit_per_key: Some(rate(1, seconds(3_600), 1)), ..per_key(1) };
    put(&f, config.clone()).await;
    let mail = |name: &str| NewTask { concurrency_key: Some(key("acme")), ..task_in(name, "mail") };
    f.submit(vec![mail("a"), mail("b")]).await;
    let held = f.claim_from(&["mail"], 5).await;
    assert!(f.claim_from(&["mail"], 5).await.is_empty());
    f.settle(&held[0], DONE).await;
    f.engine.cancel(&[id("b")]).await.unwrap();
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await, Ok(Deleted::Done));
    put(&f, config).await;
    f.submit(vec![mail("c")]).await;
    assert_eq!(f.claim_from(&["mail"], 5).await.len(), 1);
    assert_sound(&f, 1_000, false).await;
}

pub async fn limits_by_key_and_by_task_that_make_no_sense_are_refused(f: Fixture) {
    let many = (0..101).map(|n| (name(&format!("t{n}")), at_most(1))).collect();
    let bad = [
        per_key(0),
        per_task("email", at_most(0)),
        per_task("email", GateLimits::default()),
        QueueConfig { rate_limit_per_key: Some(rate(0, seconds(1), 1)), ..plain() },
        QueueConfig { key_parameter: Some(String::new()), ..plain() },
        QueueConfig { key_parameter: Some("/a~".to_owned()), ..plain() },
        QueueConfig { task_limits: many, ..plain() },
    ];
    for bad in bad {
        assert!(matches!(f.engine.put_queue(bad.clone(), PutMode::Upsert).await, Err(Error::Invalid(_))), "{bad:?}");
    }
}
