//! Unique keys: at most one task per key, for every client and way of submission.

use std::{sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        Deleted, Error, Extension, Heartbeat, OnConflict, Outcome, PruneRequest, PruneScope, PutMode, Resubmit,
        Resubmitted, Submit, Submitted, SubmittedHow, TaskFilter,
    },
    lifecycle::Status,
    limits::{KEPT_PARAMETER_BYTES, MAX_BATCH},
    name::TaskName,
    payload::Payload,
    policy::PolicyOverrides,
    queue::QueueConfig,
    task::{
        NewTask, Priority, Start,
        unique::{OnDuplicate, StatusSet, Unique, UniqueKey},
    },
    time::Clock,
};

use crate::conformance::{DONE, Fixture, RELEASED, failure, id, ids, queue, retry, seconds, task, task_in, worker};

use OnDuplicate::{KeepLast, Reject, Replace, Return};
use SubmittedHow::{Created, Existing, Replaced, Updated};

/// The key of the cases.
fn key() -> UniqueKey {
    UniqueKey::new("customer:42, Zürich").unwrap()
}

fn with(unique: Unique, new: NewTask) -> NewTask {
    NewTask { unique: Some(Box::new(unique)), ..new }
}

/// A task with the key, and what it does about duplicates.
fn unique(text: &str, rule: OnDuplicate) -> NewTask {
    with(Unique::new(key()).on_duplicate(rule), task(text))
}

async fn submit_one(f: &Fixture, new: NewTask) -> Submitted {
    f.submit(vec![new]).await.remove(0)
}

fn duplicate(text: &str, holder: &str, status: Status) -> Error {
    Error::Duplicate { id: id(text), key: key(), holder: id(holder), status }
}

async fn refusal(f: &Fixture, new: NewTask) -> Error {
    f.try_submit(vec![new], OnConflict::Fail).await.unwrap_err()
}

async fn prune_all(f: &Fixture) {
    let scope = PruneScope::Matching { filter: TaskFilter::default(), finished_before: None, larger_than: None };
    f.engine.prune(PruneRequest { scope, limit: MAX_BATCH, dry_run: false, cursor: None }).await.unwrap();
}

pub async fn a_key_is_held_until_its_task_is_over(f: Fixture) {
    submit_one(&f, unique("a", Reject)).await;
    assert_eq!(refusal(&f, unique("b", Reject)).await, duplicate("b", "a", Status::Submitted));
    let claimed = f.claim_one().await;
    assert_eq!(refusal(&f, unique("b", Reject)).await, duplicate("b", "a", Status::Started));
    f.settle(&claimed, retry(seconds(60))).await;
    assert_eq!(refusal(&f, unique("b", Reject)).await, duplicate("b", "a", Status::Scheduled));
    f.advance(seconds(60));
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    assert_eq!(submit_one(&f, unique("b", Reject)).await.how, Created);
    assert_eq!(f.engine.get(&id("a")).await.unwrap().unwrap().status, Status::Completed, "it stays what it is");
    f.assert_conserved().await;
}

pub async fn however_a_task_ends_its_key_is_free(f: Fixture) {
    let ends = [
        DONE,
        Outcome::Failed { failure: failure("no"), dead_letter: false },
        Outcome::Cancelled,
        Outcome::Stalled { failure: failure("silent"), dead_letter: false },
    ];
    for (n, end) in ends.into_iter().enumerate() {
        submit_one(&f, unique(&format!("t{n}"), Reject)).await;
        let claimed = f.claim_one().await;
        f.settle(&claimed, end).await;
    }
    submit_one(&f, unique("waiting", Reject)).await;
    f.engine.cancel(&[id("waiting")]).await.unwrap();
    let poison = PolicyOverrides { max_crashes: Some(1), ..PolicyOverrides::default() };
    submit_one(&f, NewTask { overrides: poison, ..unique("poison", Reject) }).await;
    f.claim_one().await;
    f.advance(seconds(60));
    assert_eq!(f.engine.reclaim_expired(10).await.unwrap().count(Status::Failed), 1);
    assert_eq!(submit_one(&f, unique("last", Reject)).await.how, Created);
}

pub async fn a_batch_with_a_duplicate_is_refused_as_a_whole(f: Fixture) {
    submit_one(&f, unique("a", Reject)).await;
    let before = f.get("a").await;
    let batch = vec![task("x"), unique("b", Reject), task("y")];
    let error = f.try_submit(batch, OnConflict::Fail).await.unwrap_err();
    assert_eq!(error, duplicate("b", "a", Status::Submitted));
    for text in ["x", "b", "y"] {
        assert_eq!(f.engine.get(&id(text)).await.unwrap(), None, "{text}");
    }
    assert_eq!(f.get("a").await, before);
    assert_eq!(f.count(Status::Submitted).await, 1);
}

pub async fn a_key_is_of_one_name_in_any_version_and_queue(f: Fixture) {
    f.create_queue("mail").await;
    submit_one(&f, unique("a", Reject)).await;
    let other = NewTask { name: TaskName::new("other").unwrap(), ..unique("b", Reject) };
    assert_eq!(submit_one(&f, other).await.how, Created);
    let elsewhere = NewTask { queue: queue("mail"), version: 2, ..unique("c", Reject) };
    assert_eq!(refusal(&f, elsewhere).await, duplicate("c", "a", Status::Submitted));
    let another_key = with(Unique::new(UniqueKey::new("customer:43").unwrap()), task("d"));
    assert_eq!(submit_one(&f, another_key).await.how, Created);
    assert_eq!(submit_one(&f, task("e")).await.how, Created, "who has no key meets nobody");
}

pub async fn a_duplicate_is_answered_with_the_holder(f: Fixture) {
    f.create_queue("mail").await;
    submit_one(&f, NewTask { queue: queue("mail"), ..unique("a", Reject) }).await;
    let before = f.get("a").await;
    let late = NewTask { start: Start::After(seconds(9)), ..unique("b", Return) };
    let answers = f.submit(vec![task("x"), late.clone()]).await;
    assert_eq!((answers[0].id.as_str(), answers[0].how), ("x", Created));
    let held = Submitted { id: id("a"), queue: queue("mail"), status: Status::Submitted, how: Existing };
    assert_eq!(answers[1], held);
    assert_eq!((f.get("a").await, f.engine.get(&id("b")).await.unwrap()), (before, None));
    let claimed = f.claim_from(&["mail"], 1).await;
    assert_eq!(submit_one(&f, late.clone()).await, Submitted { status: Status::Started, ..held });
    f.settle(&claimed[0], DONE).await;
    assert_eq!(submit_one(&f, late).await.how, Created, "nobody holds it any more");
}

pub async fn a_replacement_cancels_the_holder_that_waits(f: Fixture) {
    submit_one(&f, unique("a", Reject)).await;
    let holder = id("a");
    let waited = f.engine.await_finished(&holder, seconds(60));
    let later = NewTask { start: Start::After(seconds(9)), ..unique("b", Replace) };
    let replace = async {
        let answer = submit_one(&f, later).await;
        assert_eq!((answer.id.as_str(), answer.how, answer.status), ("b", Replaced, Status::Scheduled));
    };
    let (told, ()) = tokio::join!(waited, replace);
    assert_eq!(told.unwrap().unwrap().status, Status::Cancelled, "who waits for it is told");
    assert_eq!(submit_one(&f, unique("c", Replace)).await.how, Replaced);
    assert_eq!(f.status("b").await, Status::Cancelled);
    assert_eq!(ids(&f.claim(10).await), ["c"]);
    assert_eq!(refusal(&f, unique("d", Replace)).await, duplicate("d", "c", Status::Started));
    assert_eq!((f.count(Status::Cancelled).await, f.stats("default").await.accepted), (2, 3));
    f.assert_conserved().await;
}

pub async fn the_last_word_goes_to_the_holder_that_has_not_started(f: Fixture) {
    f.create_queue("mail").await;
    let first = unique("a", KeepLast);
    submit_one(&f, first.clone()).await;
    let since = f.clock.now();
    f.advance(seconds(3));
    let word = NewTask {
        version: 7,
        priority: Priority::new(9).unwrap(),
        queue: queue("mail"),
        parameters: Payload::json(vec![b'7'; KEPT_PARAMETER_BYTES + 1]),
        start: Start::After(seconds(5)),
        overrides: PolicyOverrides { max_retries: Some(3), ..PolicyOverrides::default() },
        trace: Some("00-ab-cd-01".into()),
        ..unique("b", KeepLast)
    };
    let answer = submit_one(&f, word.clone()).await;
    let updated = Submitted { id: id("a"), queue: queue("mail"), status: Status::Scheduled, how: Updated };
    assert_eq!((answer, f.engine.get(&id("b")).await.unwrap()), (updated, None));
    let holder = f.get("a").await;
    assert_eq!((holder.version, holder.priority, holder.trace), (7, word.priority, word.trace));
    assert_eq!(
        (holder.parameters, holder.overrides, holder.unique),
        (Some(word.parameters), word.overrides, word.unique)
    );
    assert_eq!((holder.submitted_at, holder.ready_at), (since, since.after(seconds(8))));
    assert!(f.claim(10).await.is_empty(), "it left its queue");
    f.advance(seconds(5));
    let claimed = f.claim_from(&["mail"], 10).await;
    assert_eq!((ids(&claimed), claimed[0].attempt, claimed[0].ready_at), (vec!["a"], 1, since.after(seconds(8))));
    assert_eq!(submit_one(&f, first).await.status, Status::Started, "its own submission is known as before");
    assert_eq!(submit_one(&f, unique("c", KeepLast)).await.how, Created, "what runs has read what it was given");
    f.assert_conserved().await;
}

pub async fn a_word_at_once_goes_to_the_end_of_the_queue(f: Fixture) {
    let later = NewTask { start: Start::After(seconds(60)), ..unique("a", KeepLast) };
    f.submit(vec![later, task("x")]).await;
    f.advance(seconds(2));
    let answer = submit_one(&f, unique("b", KeepLast)).await;
    assert_eq!((answer.id.as_str(), answer.status, answer.how), ("a", Status::Submitted, Updated));
    assert_eq!(f.get("a").await.ready_at, f.clock.now());
    let claimed = f.claim(10).await;
    assert_eq!((ids(&claimed), claimed[1].ready_at), (vec!["x", "a"], f.clock.now()));
}

pub async fn a_word_for_a_task_in_its_backoff_is_a_clean_slate(f: Fixture) {
    submit_one(&f, unique("a", KeepLast)).await;
    let claimed = f.claim_one().await;
    let heartbeat = Heartbeat { progress: None, checkpoint: Some(Payload::json("1")) };
    let extension = Extension { id: id("a"), fence: claimed.fence, heartbeat: Some(heartbeat) };
    f.engine.extend(&worker("w1"), seconds(8), vec![extension]).await.unwrap();
    f.settle(&claimed, retry(seconds(60))).await;
    assert_eq!(submit_one(&f, unique("b", KeepLast)).await.how, Updated);
    let holder = f.get("a").await;
    assert_eq!((holder.status, holder.attempt, holder.errors, holder.checkpoint), (Status::Submitted, 0, vec![], None));
    let again = f.claim_one().await;
    assert_eq!((again.attempt, again.checkpoint.is_none()), (1, true));
}

pub async fn the_last_word_is_refused_by_a_holder_that_runs(f: Fixture) {
    let until_over = Unique { statuses: StatusSet::LIVE, ..Unique::new(key()).on_duplicate(KeepLast) };
    submit_one(&f, with(until_over.clone(), task("a"))).await;
    let claimed = f.claim_one().await;
    let error = refusal(&f, with(until_over.clone(), task("b"))).await;
    assert_eq!(error, duplicate("b", "a", Status::Started));
    f.settle(&claimed, RELEASED).await;
    assert_eq!(submit_one(&f, with(until_over, task("b"))).await.how, Updated);
}

pub async fn the_same_word_twice_is_said_once(f: Fixture) {
    submit_one(&f, unique("a", KeepLast)).await;
    let word = NewTask { version: 2, start: Start::After(seconds(5)), ..unique("b", KeepLast) };
    submit_one(&f, word.clone()).await;
    let holder = f.get("a").await;
    f.advance(seconds(2));
    let again = submit_one(&f, word.clone()).await;
    assert_eq!((again.id.as_str(), again.how, again.status), ("a", Existing, Status::Scheduled));
    assert_eq!(f.get("a").await, holder, "it is not put off");
    f.advance(seconds(3));
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    let late = submit_one(&f, word.clone()).await;
    assert_eq!((late.id.as_str(), late.how, late.status), ("a", Existing, Status::Completed), "it was done");
    let same_id = NewTask { version: 3, ..word };
    assert_eq!(submit_one(&f, same_id).await.how, Created, "another word is another task");
}

pub async fn a_key_ends_with_its_time(f: Fixture) {
    let short =
        |text, rule| with(Unique { span: Some(seconds(10)), ..Unique::new(key()).on_duplicate(rule) }, task(text));
    submit_one(&f, short("a", Reject)).await;
    f.advance(Duration::from_micros(9_999_999));
    assert_eq!(refusal(&f, short("b", Reject)).await, duplicate("b", "a", Status::Submitted));
    f.advance(Duration::from_micros(1));
    assert_eq!(submit_one(&f, short("b", KeepLast)).await.how, Created);
    f.advance(seconds(6));
    assert_eq!(submit_one(&f, short("c", KeepLast)).await.how, Updated, "which puts the end off no further");
    f.advance(seconds(4));
    assert_eq!(submit_one(&f, short("d", KeepLast)).await.how, Created);
    assert_eq!(f.count(Status::Submitted).await, 3);
}

pub async fn a_key_may_outlast_its_task(f: Fixture) {
    let statuses = [Status::Submitted, Status::Started, Status::Completed].into_iter().collect();
    let hourly = Unique { span: Some(seconds(3_600)), statuses, ..Unique::new(key()) };
    submit_one(&f, with(hourly.clone(), task("a"))).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    assert_eq!(refusal(&f, with(hourly.clone(), task("b"))).await, duplicate("b", "a", Status::Completed));
    assert_eq!(submit_one(&f, unique("b", Return)).await.id.as_str(), "a");
    assert_eq!(submit_one(&f, unique("over", Replace)).await.how, Created, "what is over gives way to whoever insists");
    f.engine.cancel(&[id("over")]).await.unwrap();
    f.advance(seconds(3_600));
    assert_eq!(submit_one(&f, with(hourly, task("b"))).await.how, Created);
}

pub async fn a_task_that_is_gone_holds_nothing(f: Fixture) {
    let for_ever = Unique { statuses: Status::ALL.into_iter().collect(), ..Unique::new(key()) };
    let new = |text: &str, into: &str| with(for_ever.clone(), task_in(text, into));
    f.create_queue("mail").await;
    submit_one(&f, new("pruned", "default")).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    prune_all(&f).await;
    assert_eq!(submit_one(&f, new("purged", "default")).await.how, Created);
    f.engine.purge_queue(&queue("default"), 10).await.unwrap();
    assert_eq!(submit_one(&f, new("deleted", "mail")).await.how, Created);
    let claimed = f.claim_from(&["mail"], 1).await;
    f.settle(&claimed[0], DONE).await;
    assert_eq!(f.engine.delete_queue(&queue("mail"), None).await.unwrap(), Deleted::Done);
    assert_eq!(submit_one(&f, new("last", "default")).await.how, Created);
}

pub async fn pruning_takes_no_key_from_who_has_it_now(f: Fixture) {
    submit_one(&f, unique("a", Reject)).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    submit_one(&f, unique("b", Reject)).await;
    prune_all(&f).await;
    assert_eq!(refusal(&f, unique("c", Reject)).await, duplicate("c", "b", Status::Submitted));
}

pub async fn the_same_submission_is_itself_and_no_duplicate(f: Fixture) {
    for rule in OnDuplicate::ALL {
        let text = rule.as_str();
        let own_key = Unique::new(UniqueKey::new(text).unwrap()).on_duplicate(rule);
        let new = with(own_key, task(text));
        submit_one(&f, new.clone()).await;
        let before = f.get(text).await;
        assert_eq!(submit_one(&f, new.clone()).await.how, Existing);
        assert_eq!(f.get(text).await, before);
        let claimed = f.claim_one().await;
        f.settle(&claimed, DONE).await;
        let late = submit_one(&f, new).await;
        assert_eq!((late.id.as_str(), late.how, late.status), (text, Existing, Status::Completed));
    }
}

pub async fn a_batch_may_meet_its_own_keys(f: Fixture) {
    let error = f.try_submit(vec![unique("a", Reject), unique("b", Reject)], OnConflict::Fail).await.unwrap_err();
    assert_eq!(error, duplicate("b", "a", Status::Submitted));
    assert_eq!(f.engine.get(&id("a")).await.unwrap(), None);

    let later = NewTask { version: 2, start: Start::After(seconds(5)), ..unique("c", KeepLast) };
    let batch = vec![unique("a", Reject), unique("b", Return), later, unique("d", Replace), unique("e", Return)];
    let answers = f.submit(batch.clone()).await;
    let seen =
        |answers: &[Submitted]| -> Vec<_> { answers.iter().map(|it| (it.id.to_string(), it.how, it.status)).collect() };
    let told = |id: &str, how, status| (id.to_owned(), how, status);
    let expected = [
        told("a", Created, Status::Cancelled),
        told("a", Existing, Status::Cancelled),
        told("a", Updated, Status::Cancelled),
        told("d", Replaced, Status::Submitted),
        told("d", Existing, Status::Submitted),
    ];
    assert_eq!(seen(&answers), expected);
    assert_eq!(f.get("a").await.version, 2);
    assert_eq!(ids(&f.claim(10).await), ["d"]);
    f.assert_conserved().await;
}

pub async fn a_conflict_of_ids_is_settled_before_one_of_keys(f: Fixture) {
    f.submit(vec![unique("a", Reject), task("b")]).await;
    let skipped = f.try_submit(vec![unique("b", Reject)], OnConflict::Skip).await.unwrap();
    assert_eq!((skipped[0].id.as_str(), skipped[0].how), ("b", Existing));
    let error = f.try_submit(vec![unique("b", Replace)], OnConflict::Fail).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    let error = f.try_submit(vec![unique("b", Reject)], OnConflict::Replace).await.unwrap_err();
    assert_eq!(error, duplicate("b", "a", Status::Submitted));
    let answered = f.try_submit(vec![unique("b", Return)], OnConflict::Replace).await.unwrap();
    assert_eq!((answered[0].id.as_str(), f.get("b").await.unique), ("a", None), "its id is left alone");
    let answers = f.try_submit(vec![unique("b", Replace)], OnConflict::Replace).await.unwrap();
    assert_eq!((answers[0].id.as_str(), answers[0].how, f.status("a").await), ("b", Replaced, Status::Cancelled));
    f.assert_conserved().await;
}

pub async fn a_task_that_is_replaced_by_its_id_gives_its_key_back(f: Fixture) {
    submit_one(&f, unique("a", Reject)).await;
    let batch = vec![NewTask { version: 2, ..unique("a", Reject) }];
    assert_eq!(f.try_submit(batch, OnConflict::Replace).await.unwrap()[0].how, Replaced, "its own key is no obstacle");
    let answers = f.try_submit(vec![task("a"), unique("b", Reject)], OnConflict::Replace).await.unwrap();
    assert_eq!((answers[0].how, answers[1].how), (Replaced, Created));
    assert_eq!(refusal(&f, unique("c", Reject)).await, duplicate("c", "b", Status::Submitted));
}

pub async fn a_full_queue_takes_what_takes_the_place_of_its_own(f: Fixture) {
    let config = QueueConfig { max_length: Some(2), ..QueueConfig::new(queue("default")) };
    f.engine.put_queue(config, PutMode::Replace).await.unwrap();
    f.create_queue("mail").await;
    f.submit(vec![unique("a", KeepLast), task("x")]).await;
    assert_eq!(submit_one(&f, unique("b", KeepLast)).await.how, Updated);
    assert_eq!(submit_one(&f, unique("b", Return)).await.how, Existing);
    assert_eq!(submit_one(&f, unique("c", Replace)).await.how, Replaced);
    let elsewhere = with(Unique::new(UniqueKey::new("other").unwrap()).on_duplicate(KeepLast), task_in("m", "mail"));
    submit_one(&f, elsewhere.clone()).await;
    let error = refusal(&f, NewTask { queue: queue("default"), ..NewTask { id: id("n"), ..elsewhere } }).await;
    assert_eq!(error, Error::QueueFull { queue: queue("default"), max_length: 2 });
    assert_eq!(f.get("m").await.queue, queue("mail"), "nothing was changed");
    f.assert_conserved().await;
}

pub async fn a_task_sent_again_takes_its_key_again(f: Fixture) {
    let short = |text| with(Unique { span: Some(seconds(10)), ..Unique::new(key()) }, task(text));
    submit_one(&f, short("a")).await;
    f.engine.cancel(&[id("a")]).await.unwrap();
    submit_one(&f, short("b")).await;
    let wish = || vec![Resubmit::of_store(id("a"))];
    assert_eq!(f.engine.resubmit(wish()).await.unwrap(), [Resubmitted::Held(id("b"))]);
    assert_eq!(f.status("a").await, Status::Cancelled);
    f.engine.cancel(&[id("b")]).await.unwrap();
    f.advance(seconds(8));
    assert_eq!(f.engine.resubmit(wish()).await.unwrap(), [Resubmitted::Done]);
    f.advance(seconds(9));
    assert_eq!(refusal(&f, short("c")).await, duplicate("c", "a", Status::Submitted), "for its whole time anew");
    let both = vec![Resubmit::of_store(id("b")), Resubmit::of_store(id("a"))];
    assert_eq!(
        f.engine.resubmit(both).await.unwrap(),
        [Resubmitted::Held(id("a")), Resubmitted::Live(Status::Submitted)]
    );
}

pub async fn of_two_tasks_sent_again_with_one_key_one_goes(f: Fixture) {
    for text in ["a", "b"] {
        submit_one(&f, unique(text, Reject)).await;
        f.engine.cancel(&[id(text)]).await.unwrap();
    }
    let both = vec![Resubmit::of_store(id("a")), Resubmit::of_store(id("b"))];
    assert_eq!(f.engine.resubmit(both).await.unwrap(), [Resubmitted::Done, Resubmitted::Held(id("a"))]);
}

pub async fn a_copy_keeps_its_key(f: Fixture) {
    submit_one(&f, unique("a", Reject)).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, Outcome::Failed { failure: failure("over"), dead_letter: true }).await;
    let copy = f.engine.dead_letters(0, 1).await.unwrap().copies.remove(0);
    assert_eq!(copy.task.unique, unique("a", Reject).unique);
    prune_all(&f).await;
    submit_one(&f, unique("b", Reject)).await;
    let wish = || vec![Resubmit { queue: Some(queue("default")), ..Resubmit::of_archive(copy.clone()) }];
    assert_eq!(f.engine.resubmit(wish()).await.unwrap(), [Resubmitted::Held(id("b"))]);
    f.engine.purge_queue(&queue("default"), 10).await.unwrap();
    assert_eq!(f.engine.resubmit(wish()).await.unwrap(), [Resubmitted::Done], "it left no receipt before");
    assert_eq!(f.get("a").await.unique, copy.task.unique);
    assert_eq!(refusal(&f, unique("c", Reject)).await, duplicate("c", "a", Status::Submitted));
}

pub async fn many_submitters_of_one_key_make_one_task(f: Fixture) {
    let rules = [Reject, Return, KeepLast];
    let calls: Vec<_> = (0..48)
        .map(|n| {
            let (engine, rule) = (Arc::clone(&f.engine), rules[n % rules.len()]);
            let batch = Submit { tasks: vec![unique(&format!("t{n}"), rule)], on_conflict: OnConflict::Fail };
            tokio::spawn(async move { engine.submit(batch).await })
        })
        .collect();
    let mut created = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(answers) => created += u32::from(answers[0].how == Created),
            Err(error) => assert!(matches!(error, Error::Duplicate { .. }), "{error}"),
        }
    }
    assert_eq!((created, f.count(Status::Submitted).await), (1, 1));
    f.assert_conserved().await;
}

pub async fn a_key_past_its_bounds_is_refused(f: Fixture) {
    let plain = Unique::new(key());
    for bad in [
        Unique { span: Some(Duration::ZERO), ..plain.clone() },
        Unique { span: Some(seconds(367 * 24 * 3_600)), ..plain.clone() },
        Unique { statuses: StatusSet::from(Vec::new()), ..plain },
    ] {
        assert!(matches!(refusal(&f, with(bad, task("a"))).await, Error::Invalid(_)));
    }
    let longest = Unique::new(UniqueKey::new("k".repeat(256)).unwrap());
    let name = TaskName::new("n".repeat(128)).unwrap();
    let new = |text| NewTask { name: name.clone(), ..with(longest.clone(), task(text)) };
    f.submit(vec![new("a")]).await;
    assert!(matches!(refusal(&f, new("b")).await, Error::Duplicate { .. }));
}
