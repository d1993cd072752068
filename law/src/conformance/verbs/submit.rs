//! Submission: all or nothing, safe to repeat.

use std::time::Duration;

use jobbers_common::{
    engine::{ConflictReason, Error, OnConflict, SubmittedHow},
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_QUEUES_PER_BATCH},
    payload::Payload,
    policy::{DeadLetter, Exhausted, OnShutdown, PolicyOverrides, error_kind::ErrorKind},
    task::{NewTask, Priority, Start},
    time::Clock,
};

use crate::conformance::{DONE, Fixture, id, ids, queue, seconds, task, task_in};

pub async fn a_submitted_task_is_stored_as_it_was_given(f: Fixture) {
    f.create_queue("mail").await;
    let overrides = PolicyOverrides {
        max_retries: Some(7),
        retry_delay: Some(Duration::from_millis(1_500)),
        on_shutdown: Some(OnShutdown::Requeue),
        dead_letter: Some(DeadLetter::Save),
        max_crashes: Some(9),
        max_tries: Some(100),
        exhausted: Some(Exhausted::Aborted),
        retry_for: Some(seconds(90)),
        fatal_on: Some(vec![ErrorKind::checked("invalid"), ErrorKind::checked("core::num::ParseIntError")]),
        ..PolicyOverrides::default()
    };
    let new = NewTask {
        version: 3,
        priority: Priority::new(8).unwrap(),
        overrides: overrides.clone(),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        ..task_in("export/2026:a.b-c_1", "mail")
    };
    let answer = f.submit(vec![new.clone()]).await;
    assert_eq!((answer[0].how, answer[0].status), (SubmittedHow::Created, Status::Submitted));
    let stored = f.get("export/2026:a.b-c_1").await;
    assert_eq!((stored.id, stored.name, stored.version), (new.id, new.name, 3));
    assert_eq!((stored.queue, stored.priority), (queue("mail"), new.priority));
    assert_eq!((stored.parameters, stored.overrides, stored.trace), (Some(new.parameters), overrides, new.trace));
    assert_eq!((stored.submitted_at, stored.ready_at), (f.clock.now(), f.clock.now()));
    assert_eq!((stored.attempt, stored.crashes, stored.status), (0, 0, Status::Submitted));
    assert_eq!((stored.lease, stored.worker, stored.started_at, stored.completed_at), (None, None, None, None));
    assert!(stored.errors.is_empty() && !stored.cancel_requested && !stored.dead_letter);
}

pub async fn numbers_and_bytes_come_back_unchanged(f: Fixture) {
    let json = br#"{"big":9007199254740993,"tiny":1e-400,"list":[],"nul":"\u0000","deep":[[[[]]]]}"#;
    let bytes: Vec<u8> = (0..=255).collect();
    let binary = Payload { content_type: Some("application/octet-stream".into()), bytes: bytes.into() };
    f.submit(vec![
        NewTask { parameters: Payload::json(&json[..]), ..task("json") },
        NewTask { parameters: binary.clone(), ..task("binary") },
        NewTask { parameters: Payload::json(&b""[..]), ..task("empty") },
    ])
    .await;
    let claimed = f.claim(3).await;
    assert_eq!(claimed[0].parameters, Payload::json(&json[..]));
    assert_eq!(claimed[1].parameters, binary);
    assert!(claimed[2].parameters.is_empty());
    assert_eq!(f.get("binary").await.parameters, Some(binary));
}

pub async fn a_batch_is_answered_in_order(f: Fixture) {
    f.submit_ids(&["b"]).await;
    let answers = f.submit(vec![task("c"), task("b"), task("a")]).await;
    let seen: Vec<_> = answers.iter().map(|it| (it.id.as_str(), it.how)).collect();
    assert_eq!(seen, [("c", SubmittedHow::Created), ("b", SubmittedHow::Existing), ("a", SubmittedHow::Created)]);
}

pub async fn a_batch_goes_in_wholly_or_not_at_all(f: Fixture) {
    f.submit_ids(&["taken"]).await;
    let other = NewTask { version: 2, ..task("taken") };
    let error = f.try_submit(vec![task("x"), other, task("y")], OnConflict::Fail).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    assert_eq!(f.engine.get(&id("x")).await.unwrap(), None);
    assert_eq!(f.engine.get(&id("y")).await.unwrap(), None);
    assert_eq!(f.count(Status::Submitted).await, 1);
    f.assert_conserved().await;
}

pub async fn the_same_submission_twice_is_one_task(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let first = f.get("a").await;
    f.advance(seconds(5));
    let again = f.submit(vec![task("a")]).await;
    assert_eq!(again[0].how, SubmittedHow::Existing);
    assert_eq!(f.get("a").await, first);
    assert_eq!(f.claim(10).await.len(), 1);
}

pub async fn the_same_submission_is_safe_to_send_at_any_later_time(f: Fixture) {
    let large = NewTask { parameters: Payload::json(format!("\"{}\"", "x".repeat(5_000))), ..task("a") };
    f.submit(vec![large.clone()]).await;
    let claimed = f.claim_one().await;
    assert_eq!(f.submit(vec![large.clone()]).await[0].status, Status::Started);
    f.settle(&claimed, DONE).await;
    let again = f.submit(vec![large]).await;
    assert_eq!((again[0].how, again[0].status), (SubmittedHow::Existing, Status::Completed));
    assert!(f.claim(10).await.is_empty());
}

pub async fn an_id_with_another_body_is_a_conflict(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let before = f.get("a").await;
    let other = NewTask { parameters: Payload::json(&b"{\"n\":2}"[..]), ..task("a") };
    let error = f.try_submit(vec![other], OnConflict::Fail).await.unwrap_err();
    assert_eq!(error, Error::Conflict { id: id("a"), status: Status::Submitted, reason: ConflictReason::BodyDiffers });
    assert_eq!(f.get("a").await, before);
}

pub async fn skip_leaves_the_stored_task_alone(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let before = f.get("a").await;
    let other = NewTask { version: 2, ..task("a") };
    let answers = f.try_submit(vec![other, task("b")], OnConflict::Skip).await.unwrap();
    assert_eq!((answers[0].how, answers[1].how), (SubmittedHow::Existing, SubmittedHow::Created));
    assert_eq!(f.get("a").await, before);
}

pub async fn replace_gives_a_clean_slate(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, crate::conformance::retry(seconds(60))).await;
    f.advance(seconds(1));
    let other = NewTask { version: 2, ..task("a") };
    let answers = f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!((answers[0].how, answers[0].status), (SubmittedHow::Replaced, Status::Submitted));
    let replaced = f.get("a").await;
    assert_eq!((replaced.version, replaced.attempt, replaced.submitted_at), (2, 0, f.clock.now()));
    assert!(replaced.errors.is_empty() && replaced.worker.is_none());
    assert_eq!(ids(&f.claim(10).await), ["b", "a"], "it goes to the end of the queue");
    f.assert_conserved().await;
    assert_eq!(f.stats("default").await.removed, 1);
}

pub async fn replace_moves_a_task_to_another_queue(f: Fixture) {
    f.create_queue("other").await;
    f.submit_ids(&["a"]).await;
    f.try_submit(vec![task_in("a", "other")], OnConflict::Replace).await.unwrap();
    assert!(f.claim(10).await.is_empty());
    assert_eq!(ids(&f.claim_from(&["other"], 10).await), ["a"]);
    f.assert_conserved().await;
}

pub async fn a_running_task_is_not_replaced(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    let other = NewTask { version: 2, ..task("a") };
    let error = f.try_submit(vec![task("b"), other], OnConflict::Replace).await.unwrap_err();
    assert_eq!(error, Error::Conflict { id: id("a"), status: Status::Started, reason: ConflictReason::Started });
    assert_eq!(f.engine.get(&id("b")).await.unwrap(), None);
    assert_eq!(f.settle(&claimed, DONE).await, jobbers_common::engine::SettleAnswer::Accepted(Status::Completed));
}

pub async fn a_finished_task_can_be_replaced(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    let other = NewTask { version: 2, ..task("a") };
    let answers = f.try_submit(vec![other], OnConflict::Replace).await.unwrap();
    assert_eq!(answers[0].how, SubmittedHow::Replaced);
    let again = f.claim_one().await;
    assert_eq!((again.version, again.attempt), (2, 1));
    assert_eq!(
        f.settle(&claimed, DONE).await,
        jobbers_common::engine::SettleAnswer::LeaseLost,
        "the old fence is void"
    );
    assert_eq!(f.status("a").await, Status::Started);
    assert_eq!(f.count(Status::Completed).await, 0);
    f.settle(&again, DONE).await;
    let listed = f.list(jobbers_common::engine::TaskFilter::default(), 10).await;
    assert_eq!(listed.len(), 1, "it is over twice and listed once");
    f.assert_conserved().await;
}

pub async fn an_unknown_queue_is_refused(f: Fixture) {
    let error = f.try_submit(vec![task("a"), task_in("b", "nowhere")], OnConflict::Fail).await.unwrap_err();
    assert_eq!(error, Error::UnknownQueue(queue("nowhere")));
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
}

pub async fn an_unknown_queue_is_refused_before_a_conflict(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let conflict = NewTask { version: 2, ..task("a") };
    let error = f.try_submit(vec![conflict, task_in("b", "nowhere")], OnConflict::Fail).await.unwrap_err();
    assert_eq!(error, Error::UnknownQueue(queue("nowhere")));
}

pub async fn an_empty_batch_is_refused(f: Fixture) {
    assert!(matches!(f.try_submit(Vec::new(), OnConflict::Fail).await, Err(Error::Invalid(_))));
}

pub async fn a_batch_over_a_thousand_is_refused(f: Fixture) {
    let tasks = (0..=MAX_BATCH).map(|n| task(&format!("t{n}"))).collect();
    assert!(matches!(f.try_submit(tasks, OnConflict::Fail).await, Err(Error::Invalid(_))));
    assert_eq!(f.count(Status::Submitted).await, 0);
}

pub async fn a_thousand_tasks_go_in_at_once(f: Fixture) {
    f.submit((0..MAX_BATCH).map(|n| task(&format!("t{n}"))).collect()).await;
    assert_eq!(f.count(Status::Submitted).await, MAX_BATCH as u64);
    let claimed = f.claim(MAX_BATCH).await;
    assert_eq!(claimed.len(), MAX_BATCH);
    assert!(claimed.iter().enumerate().all(|(n, task)| task.id.as_str() == format!("t{n}")), "in the order given");
}

pub async fn an_id_twice_in_a_batch_is_refused(f: Fixture) {
    assert!(matches!(f.try_submit(vec![task("a"), task("a")], OnConflict::Skip).await, Err(Error::Invalid(_))));
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);
}

pub async fn a_batch_to_too_many_queues_is_refused(f: Fixture) {
    let names: Vec<_> = (0..=MAX_QUEUES_PER_BATCH).map(|n| queue(&format!("q{n:04}"))).collect();
    f.engine.create_queues(&names).await.unwrap();
    let to = |count: usize| names.iter().take(count).map(|name| task_in(&format!("to-{name}"), name.as_str()));
    let refused = f.try_submit(to(names.len()).collect(), OnConflict::Fail).await;
    let text = "a batch goes to at most 100 different queues, not 101".to_owned();
    assert_eq!(refused, Err(Error::Invalid(text)));
    assert_eq!(f.engine.get(&id("to-q0000")).await.unwrap(), None);
    // Twice to each of as many as it may.
    let again = to(MAX_QUEUES_PER_BATCH).map(|task| NewTask { id: id(&format!("{}-again", task.id)), ..task });
    let both = to(MAX_QUEUES_PER_BATCH).chain(again).collect();
    let answers = f.submit(both).await;
    let answered: Vec<_> = answers.iter().map(|answer| answer.id.to_string()).collect();
    let given = (0..2 * MAX_QUEUES_PER_BATCH).map(|n| match n.checked_sub(MAX_QUEUES_PER_BATCH) {
        None => format!("to-q{n:04}"),
        Some(n) => format!("to-q{n:04}-again"),
    });
    assert_eq!(answered, given.collect::<Vec<_>>(), "in the order given");
    assert!(answers.iter().all(|answer| answer.id.as_str().contains(answer.queue.as_str())));
    assert_eq!(ids(&f.claim_from(&["q0007"], 5).await), ["to-q0007", "to-q0007-again"]);
}

pub async fn a_delayed_task_is_scheduled(f: Fixture) {
    let now = f.clock.now();
    let answers = f
        .submit(vec![
            NewTask { start: Start::After(seconds(10)), ..task("after") },
            NewTask { start: Start::At(now.after(seconds(20))), ..task("at") },
        ])
        .await;
    assert!(answers.iter().all(|it| it.status == Status::Scheduled));
    assert_eq!(f.get("after").await.ready_at, now.after(seconds(10)));
    assert_eq!(f.get("at").await.ready_at, now.after(seconds(20)));
}

pub async fn a_start_in_the_past_is_now(f: Fixture) {
    let now = f.clock.now();
    let past = NewTask { start: Start::At(now.before(seconds(60))), ..task("past") };
    let none = NewTask { start: Start::After(Duration::ZERO), ..task("none") };
    let answers = f.submit(vec![past, none]).await;
    assert!(answers.iter().all(|it| it.status == Status::Submitted));
    assert_eq!(f.get("past").await.ready_at, now);
}

pub async fn revisions_grow(f: Fixture) {
    f.submit_ids(&["a", "b"]).await;
    let (a, b) = (f.get("a").await.revision, f.get("b").await.revision);
    assert!(a < b);
    let claimed = f.claim_one().await;
    let started = f.get("a").await.revision;
    assert!(b < started);
    f.settle(&claimed, DONE).await;
    assert!(started < f.get("a").await.revision);
}

pub async fn many_submitters_of_one_id_make_one_task(f: Fixture) {
    let calls: Vec<_> = (0..32)
        .map(|_| {
            let engine = std::sync::Arc::clone(&f.engine);
            tokio::spawn(async move {
                let batch = jobbers_common::engine::Submit { tasks: vec![task("a")], on_conflict: OnConflict::Fail };
                engine.submit(batch).await.unwrap()[0].how
            })
        })
        .collect();
    let mut created = 0;
    for call in calls {
        created += u32::from(call.await.unwrap() == SubmittedHow::Created);
    }
    assert_eq!(created, 1);
    assert_eq!(f.count(Status::Submitted).await, 1);
    f.assert_conserved().await;
}
