//! The rate at which a queue accepts tasks: what is over it is refused, and told when to come back.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{Deleted, Error, OnConflict, PutMode, Resubmit, Resubmitted, Submit, SubmittedHow},
    lifecycle::Status,
    queue::{QueueConfig, rate::RateLimit},
    task::{
        NewTask,
        unique::{OnDuplicate, Unique, UniqueKey},
    },
};

use crate::conformance::{DONE, Fixture, id, ids, queue, retry, seconds, task, task_in};

/// Five a second, three of them at once.
const RATE: RateLimit = RateLimit { tasks: 5, per: Duration::from_secs(1), burst: Some(3) };

async fn put(f: &Fixture, name: &str, config: QueueConfig) {
    f.engine.put_queue(QueueConfig { name: queue(name), ..config }, PutMode::Upsert).await.unwrap();
}

async fn limit(f: &Fixture) {
    put(f, "default", QueueConfig { submit_rate_limit: Some(RATE), ..QueueConfig::new(queue("default")) }).await;
}

fn many(prefix: &str, count: usize) -> Vec<NewTask> {
    (0..count).map(|n| task(&format!("{prefix}{n:02}"))).collect()
}

async fn refusal(f: &Fixture, tasks: Vec<NewTask>) -> Error {
    f.try_submit(tasks, OnConflict::Fail).await.unwrap_err()
}

fn limited(millis: u64) -> Error {
    Error::RateLimited { queue: queue("default"), retry_after: Duration::from_millis(millis) }
}

pub async fn what_is_over_the_rate_is_refused_and_told_when_to_come_back(f: Fixture) {
    limit(&f).await;
    f.submit_ids(&["a", "b", "c"]).await;
    assert_eq!(refusal(&f, vec![task("d")]).await, limited(200));
    assert_eq!(f.engine.get(&id("d")).await.unwrap(), None);
    f.advance(Duration::from_millis(150));
    assert_eq!(refusal(&f, vec![task("d")]).await, limited(50));
    f.advance(Duration::from_millis(50));
    f.submit_ids(&["d"]).await;
    assert_eq!(refusal(&f, vec![task("e")]).await, limited(200));
    assert_eq!(f.claim(10).await.len(), 4, "what was taken in starts at once");
    f.assert_conserved().await;
}

pub async fn a_batch_goes_in_when_all_of_it_may(f: Fixture) {
    limit(&f).await;
    f.submit(many("a", 2)).await;
    assert_eq!(refusal(&f, many("b", 3)).await, limited(400));
    assert_eq!(f.count(Status::Submitted).await, 2, "none of it");
    assert_eq!(f.submit(many("c", 1)).await[0].how, SubmittedHow::Created, "a smaller one is not held up by it");
    f.advance(Duration::from_millis(600));
    f.submit(many("b", 3)).await;
}

pub async fn a_batch_over_the_burst_never_goes_in(f: Fixture) {
    limit(&f).await;
    let error = refusal(&f, many("a", 4)).await;
    assert!(matches!(&error, Error::Invalid(why) if why.contains("at most 3")), "{error}");
    f.submit(many("a", 3)).await;
}

pub async fn only_what_is_stored_counts(f: Fixture) {
    limit(&f).await;
    f.submit(many("a", 3)).await;
    let again = f.submit(many("a", 3)).await;
    assert!(again.iter().all(|it| it.how == SubmittedHow::Existing), "the same submission is answered at any rate");
    f.advance(Duration::from_millis(200));
    let mixed = [many("a", 3), many("b", 1)].concat();
    assert_eq!(f.submit(mixed).await.iter().filter(|it| it.how == SubmittedHow::Created).count(), 1);
    let other = vec![NewTask { version: 2, ..task("a00") }];
    assert_eq!(f.try_submit(other.clone(), OnConflict::Replace).await, Err(limited(200)), "a replacement counts");
    f.advance(Duration::from_millis(200));
    f.try_submit(other, OnConflict::Replace).await.unwrap();
}

pub async fn what_is_refused_for_another_reason_uses_nothing_up(f: Fixture) {
    limit(&f).await;
    f.submit_ids(&["a"]).await;
    let conflicting = vec![task("b"), NewTask { version: 2, ..task("a") }];
    assert!(matches!(refusal(&f, conflicting).await, Error::Conflict { .. }));
    f.submit_ids(&["b", "c"]).await;
    assert_eq!(refusal(&f, vec![task("d")]).await, limited(200));
}

pub async fn what_comes_back_is_never_turned_away(f: Fixture) {
    limit(&f).await;
    f.submit(many("a", 3)).await;
    let claimed = f.claim(3).await;
    f.settle(&claimed[0], retry(Duration::ZERO)).await;
    f.settle(&claimed[1], retry(seconds(1))).await;
    f.settle(&claimed[2], DONE).await;
    f.engine.cancel(&[id("a00")]).await.unwrap();
    assert_eq!(f.engine.resubmit(vec![Resubmit::of_store(id("a00"))]).await.unwrap(), [Resubmitted::Done]);
    f.create_queue("old").await;
    f.submit(vec![task_in("m", "old")]).await;
    assert_eq!(f.engine.move_tasks(&queue("old"), &queue("default"), 10).await.unwrap(), 1);
    assert_eq!(ids(&f.claim(10).await), ["a00", "m"]);
}

pub async fn queues_hold_to_their_own_rates(f: Fixture) {
    limit(&f).await;
    f.create_queue("mail").await;
    f.submit((0..20).map(|n| task_in(&format!("m{n:02}"), "mail")).collect()).await;
    f.submit(many("a", 3)).await;
    let both = vec![task_in("m", "mail"), task("d")];
    assert_eq!(refusal(&f, both).await, limited(200));
    assert_eq!(f.engine.get(&id("m")).await.unwrap(), None);
    let slow = RateLimit { tasks: 1, per: seconds(10), burst: None };
    let config = QueueConfig { rate_limit: Some(slow), submit_rate_limit: Some(RATE), ..QueueConfig::new(queue("x")) };
    put(&f, "both", config).await;
    f.submit((0..3).map(|n| task_in(&format!("x{n}"), "both")).collect()).await;
    assert_eq!(f.claim_from(&["both"], 10).await.len(), 1, "what starts has a rate of its own");
}

pub async fn duplicates_use_up_only_what_they_store(f: Fixture) {
    limit(&f).await;
    let unique = |text: &str, rule| {
        let key = Unique::new(UniqueKey::new("k").unwrap()).on_duplicate(rule);
        vec![NewTask { unique: Some(Box::new(key)), ..task(text) }]
    };
    f.submit(unique("a", OnDuplicate::Reject)).await;
    for _ in 0..5 {
        assert_eq!(f.submit(unique("b", OnDuplicate::Return)).await[0].how, SubmittedHow::Existing);
    }
    assert_eq!(f.submit(unique("c", OnDuplicate::KeepLast)).await[0].how, SubmittedHow::Updated);
    assert_eq!(f.submit(unique("d", OnDuplicate::Replace)).await[0].how, SubmittedHow::Replaced);
    assert_eq!(refusal(&f, unique("e", OnDuplicate::Replace)).await, limited(200));
    assert_eq!(f.status("d").await, Status::Submitted, "nothing was changed");
}

pub async fn many_submitters_at_once_keep_to_the_rate(f: Fixture) {
    limit(&f).await;
    let calls: Vec<_> = (0..40)
        .map(|n| {
            let engine = Arc::clone(&f.engine);
            let batch = Submit { tasks: vec![task(&format!("t{n}"))], on_conflict: OnConflict::Fail };
            tokio::spawn(async move { engine.submit(batch).await })
        })
        .collect();
    let mut created = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(_) => created += 1,
            Err(error) => assert_eq!(error, limited(200)),
        }
    }
    assert_eq!((created, f.count(Status::Submitted).await), (3, 3));
    f.assert_conserved().await;
}

pub async fn a_queue_made_again_takes_in_anew(f: Fixture) {
    let config = QueueConfig { submit_rate_limit: Some(RATE), ..QueueConfig::new(queue("mail")) };
    put(&f, "mail", config.clone()).await;
    let three = || (0..3).map(|n| task_in(&format!("m{n}"), "mail")).collect::<Vec<_>>();
    f.submit(three()).await;
    f.engine.purge_queue(&queue("mail"), 10).await.unwrap();
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await.unwrap(), Deleted::Done);
    put(&f, "mail", config).await;
    f.submit(three()).await;
}

pub async fn a_rate_of_nothing_is_refused(f: Fixture) {
    let none = RateLimit { tasks: 0, ..RATE };
    let config = QueueConfig { submit_rate_limit: Some(none), ..QueueConfig::new(queue("default")) };
    assert!(matches!(f.engine.put_queue(config, PutMode::Upsert).await, Err(Error::Invalid(_))));
}
