//! Lists, counts, health.

use std::collections::{BTreeMap, HashSet};

use jobbers_common::{
    engine::{Error, ListRequest, OnConflict, Outcome, PruneRequest, PruneScope, Resubmit, Submit, TaskFilter},
    lifecycle::Status,
    name::TaskName,
    task::{AttemptFailure, FailureKind, NewTask, Priority, Start, Task, label::Labels, metadata::Metadata},
    time::Clock,
};

use super::{DONE, Fixture, LEASE, failure, id, queue, retry, seconds, task, task_in, worker};

/// Two queues with tasks at every status that this contract can bring about.
async fn varied(f: &Fixture) {
    f.create_queue("mail").await;
    for n in 0..6 {
        f.submit(vec![task(&format!("d{n}")), task_in(&format!("m{n}"), "mail")]).await;
    }
    let claimed = f.claim_from(&["default", "mail"], 8).await;
    f.settle(&claimed[0], DONE).await;
    f.settle(&claimed[1], retry(seconds(60))).await;
    f.settle(&claimed[6], Outcome::Failed { failure: failure("no"), dead_letter: false }).await;
    f.engine.cancel(&[id("m5")]).await.unwrap();
    f.submit(vec![
        NewTask { start: Start::After(seconds(30)), ..task("later") },
        NewTask { priority: Priority::new(9).unwrap(), ..task("urgent") },
    ])
    .await;
}

fn labels(texts: &[&str]) -> Labels {
    let mut labels = Labels::default();
    for text in texts {
        labels.add(text.parse().unwrap()).unwrap();
    }
    labels
}

fn names(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

pub async fn an_unknown_task_is_none(f: Fixture) {
    assert_eq!(f.engine.get(&id("nobody")).await.unwrap(), None);
}

pub async fn every_task_is_listed_exactly_once(f: Fixture) {
    varied(&f).await;
    for limit in [1, 2, 3, 5, 1_000] {
        let listed = f.list(TaskFilter::default(), limit).await;
        let distinct: HashSet<_> = listed.iter().map(|task| task.id.clone()).collect();
        assert_eq!((listed.len(), distinct.len()), (14, 14), "by pages of {limit}");
    }
}

pub async fn a_list_has_sections(f: Fixture) {
    varied(&f).await;
    let listed = f.list(TaskFilter::default(), 4).await;
    assert_eq!(
        names(&listed),
        ["d2", "d3", "d4", "d5", "m1", "urgent", "m2", "m3", "m4", "later", "d1", "m5", "m0", "d0"]
    );
}

pub async fn finished_tasks_are_listed_latest_first_over_all_queues(f: Fixture) {
    f.create_queue("mail").await;
    for n in 0..10 {
        let into = if n % 3 == 0 { "mail" } else { "default" };
        f.submit(vec![task_in(&format!("t{n}"), into)]).await;
        let claimed = f.claim_from(&["default", "mail"], 1).await;
        f.settle(&claimed[0], DONE).await;
    }
    let completed = TaskFilter { statuses: vec![Status::Completed], ..TaskFilter::default() };
    for limit in [1, 3, 100] {
        let listed = f.list(completed.clone(), limit).await;
        assert_eq!(names(&listed), ["t9", "t8", "t7", "t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
    }
    let mail = TaskFilter { queue: Some(queue("mail")), ..completed };
    assert_eq!(names(&f.list(mail, 2).await), ["t9", "t6", "t3", "t0"]);
}

pub async fn filters_restrict(f: Fixture) {
    f.create_queue("mail").await;
    let start = f.clock.now();
    f.submit(vec![task("a")]).await;
    f.advance(seconds(10));
    let resize = TaskName::new("resize").unwrap();
    f.submit(vec![
        NewTask { name: resize.clone(), ..task("b") },
        NewTask { name: resize.clone(), version: 2, metadata: labels(&["team=core", "env=a b"]).into(), ..task("c") },
    ])
    .await;
    f.advance(seconds(10));
    f.submit(vec![NewTask { metadata: labels(&["team=core"]).into(), ..task_in("d", "mail") }]).await;
    f.cycle_as("w7", &["mail"], 1, Vec::new()).await;
    let all = TaskFilter::default;
    let cases = [
        (all(), vec!["d", "a", "b", "c"]),
        (TaskFilter { statuses: vec![Status::Submitted], ..all() }, vec!["a", "b", "c"]),
        (TaskFilter { statuses: vec![Status::Started, Status::Completed], ..all() }, vec!["d"]),
        (TaskFilter { queue: Some(queue("mail")), ..all() }, vec!["d"]),
        (TaskFilter { queue: Some(queue("nowhere")), ..all() }, vec![]),
        (TaskFilter { name: Some(resize.clone()), ..all() }, vec!["b", "c"]),
        (TaskFilter { name: Some(resize), version: Some(2), ..all() }, vec!["c"]),
        (TaskFilter { labels: labels(&["team=core"]), ..all() }, vec!["d", "c"]),
        (TaskFilter { labels: labels(&["team=core", "env=a b"]), ..all() }, vec!["c"]),
        (TaskFilter { labels: labels(&["team="]), ..all() }, vec![]),
        (TaskFilter { worker: Some(worker("w7")), ..all() }, vec!["d"]),
        (TaskFilter { worker: Some(worker("w8")), ..all() }, vec![]),
        (TaskFilter { submitted_after: Some(start.after(seconds(10))), ..all() }, vec!["d", "b", "c"]),
        (TaskFilter { submitted_before: Some(start.after(seconds(10))), ..all() }, vec!["a"]),
    ];
    for (filter, expected) in cases {
        assert_eq!(names(&f.list(filter.clone(), 2).await), expected, "{filter:?}");
    }
}

/// A task of this id that fails for good with this message.
async fn fail(f: &Fixture, new: NewTask, failure: AttemptFailure) {
    f.submit(vec![new]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, Outcome::Failed { failure, dead_letter: false }).await;
}

fn error_with(text: &str) -> TaskFilter {
    TaskFilter { error: Some(text.to_owned()), ..TaskFilter::default() }
}

pub async fn finished_tasks_are_found_by_time_and_error(f: Fixture) {
    let start = f.clock.now();
    fail(&f, task("host"), failure("No such HOST: 100% of ä_b")).await;
    f.advance(seconds(10));
    fail(&f, task("timeout"), failure("timed out")).await;
    f.advance(seconds(10));
    f.submit_ids(&["done", "live"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, DONE).await;
    let (all, at) = (TaskFilter::default, |after| Some(start.after(seconds(after))));
    let failed = || vec![Status::Failed, Status::Submitted];
    let cases = [
        (TaskFilter { finished_after: at(0), ..all() }, vec!["done", "timeout", "host"]),
        (TaskFilter { finished_after: at(10), ..all() }, vec!["done", "timeout"]),
        (TaskFilter { finished_after: at(11), statuses: failed(), ..all() }, vec![]),
        (TaskFilter { finished_before: at(10), ..all() }, vec!["host"]),
        (TaskFilter { finished_before: at(60), statuses: failed(), ..all() }, vec!["timeout", "host"]),
        (TaskFilter { finished_after: at(10), finished_before: at(20), ..all() }, vec!["timeout"]),
        (TaskFilter { finished_after: at(20), finished_before: at(10), ..all() }, vec![]),
        (TaskFilter { finished_after: at(0), statuses: vec![Status::Submitted], ..all() }, vec![]),
        (error_with("no such host"), vec!["host"]),
        (error_with("100% OF"), vec!["host"]),
        (error_with("1%0"), vec![]),
        (error_with("ä_B"), vec!["host"]),
        (error_with("Ä_B"), vec![]),
        (error_with("t"), vec!["timeout", "host"]),
        (TaskFilter { finished_after: at(5), ..error_with("t") }, vec!["timeout"]),
        (TaskFilter { statuses: vec![Status::Completed], ..error_with("t") }, vec![]),
        (TaskFilter { queue: Some(queue("nowhere")), ..error_with("t") }, vec![]),
    ];
    for (filter, expected) in cases {
        for limit in [1, 2, 100] {
            assert_eq!(names(&f.list(filter.clone(), limit).await), expected, "{filter:?} by pages of {limit}");
        }
    }
}

pub async fn the_latest_error_is_searched_and_no_other(f: Fixture) {
    f.submit_ids(&["a"]).await;
    for message in ["first", "second"] {
        let claimed = f.claim_one().await;
        let retried = Outcome::Retry { delay: seconds(1), failure: failure(message) };
        f.settle(&claimed, retried).await;
        assert_eq!(names(&f.list(error_with(message), 5).await), ["a"], "it is found while it waits for its next try");
        f.advance(seconds(1));
        f.engine.promote_due(10).await.unwrap();
        assert_eq!(names(&f.list(error_with(message), 5).await), ["a"], "and while it is ready");
    }
    assert_eq!(f.list(error_with("first"), 5).await, []);
    let claimed = f.claim_one().await;
    let listed = f.list(error_with("SECOND"), 5).await;
    assert_eq!((names(&listed), listed[0].errors.len()), (vec!["a"], 0), "and while it runs; lists stay slim");
    f.settle(&claimed, DONE).await;
    assert_eq!(names(&f.list(error_with("second"), 5).await), ["a"], "and when it has completed since");
    let prune = |filter, dry_run| PruneRequest {
        scope: PruneScope::Matching { filter, finished_before: None, larger_than: None },
        limit: 10,
        dry_run,
        cursor: None,
    };
    assert_eq!(f.engine.prune(prune(error_with("first"), false)).await.unwrap().removed, 0);
    assert_eq!(f.engine.prune(prune(error_with("second"), true)).await.unwrap().removed, 1);
    let later = TaskFilter { finished_after: Some(f.clock.now().after(seconds(1))), ..error_with("second") };
    assert_eq!(f.engine.prune(prune(later, false)).await.unwrap().removed, 0);
    assert_eq!(f.engine.prune(prune(error_with("second"), false)).await.unwrap().removed, 1);
}

pub async fn what_a_sensitive_task_said_is_not_found(f: Fixture) {
    let sensitive = Metadata { sensitive: true, ..Metadata::default() };
    let new = |id: &str| NewTask { metadata: sensitive.clone(), ..task(id) };
    fail(&f, new("said"), failure("the card is 4711")).await;
    fail(&f, new("timed-out"), AttemptFailure::new(FailureKind::Timeout, "timed out after 4711s")).await;
    assert_eq!(names(&f.list(error_with("4711"), 5).await), ["timed-out"], "of these words Jobbers is the author");
}

pub async fn metadata_stays_with_its_task(f: Fixture) {
    let labelled = labels(&["team=core", "empty="]);
    let metadata = Metadata::from(labelled.clone());
    let new = NewTask { metadata: metadata.clone(), ..task("a") };
    f.submit(vec![new.clone(), task("plain")]).await;
    assert_eq!([f.get("a").await.metadata, f.get("plain").await.metadata], [metadata.clone(), Metadata::default()]);
    let claimed = f.claim(2).await;
    assert_eq!([&claimed[0].metadata, &f.get("a").await.metadata], [&metadata; 2]);
    f.settle(&claimed[0], retry(seconds(1))).await;
    f.advance(seconds(1));
    let again = f.claim_one().await;
    f.settle(&again, Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    assert_eq!(f.list(TaskFilter { labels: labelled, ..TaskFilter::default() }, 5).await[0].metadata, metadata);
    let copy = f.engine.dead_letters(0, 10).await.unwrap().copies.remove(0);
    assert_eq!(copy.task.metadata, metadata);
    f.engine.delete_tasks(&[id("a")], true).await.unwrap();
    f.engine.resubmit(vec![Resubmit::of_archive(copy)]).await.unwrap();
    assert_eq!(f.get("a").await.metadata, metadata, "it came along with the copy");
    f.submit(vec![new.clone()]).await;
    let other = Submit { tasks: vec![NewTask { metadata: Metadata::default(), ..new }], on_conflict: OnConflict::Fail };
    assert_eq!(f.engine.submit(other).await.unwrap_err().kind(), "conflict", "metadata is a part of the submission");
}

pub async fn a_page_has_a_task_once_while_tasks_run(f: Fixture) {
    f.submit((0..40).map(|n| task(&format!("t{n}"))).collect()).await;
    let run_all = async {
        for _ in 0..20 {
            for claimed in f.claim(2).await {
                f.settle(&claimed, DONE).await;
            }
        }
    };
    let read = async {
        loop {
            let page = f.engine.list(ListRequest { filter: TaskFilter::default(), limit: 100, cursor: None }).await;
            let page = page.unwrap();
            let mut found = HashSet::new();
            let twice: Vec<&Task> = page.tasks.iter().filter(|task| !found.insert(&task.id)).collect();
            assert_eq!(twice, Vec::<&Task>::new());
            if page.tasks.iter().all(|task| task.status == Status::Completed) && page.tasks.len() == 40 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(run_all, read);
}

pub async fn a_walk_survives_changes(f: Fixture) {
    f.submit((0..20).map(|n| task(&format!("t{n:02}"))).collect()).await;
    let submitted = TaskFilter { statuses: vec![Status::Submitted], ..TaskFilter::default() };
    let request = |cursor| ListRequest { filter: submitted.clone(), limit: 5, cursor };
    let first = f.engine.list(request(None)).await.unwrap();
    assert_eq!(names(&first.tasks), ["t00", "t01", "t02", "t03", "t04"]);
    // The whole first page goes, the last of it included, and new ones come.
    f.claim(7).await;
    f.submit(vec![task("new")]).await;
    let mut seen = Vec::new();
    let mut cursor = first.next;
    while cursor.is_some() {
        let page = f.engine.list(request(cursor)).await.unwrap();
        seen.extend(page.tasks);
        cursor = page.next;
    }
    let expected: Vec<String> = (7..20).map(|n| format!("t{n:02}")).chain(std::iter::once("new".to_owned())).collect();
    assert_eq!(names(&seen), expected);
}

pub async fn a_foreign_cursor_is_refused(f: Fixture) {
    f.submit_ids(&["a"]).await;
    for cursor in ["", "nonsense", "{}", "\u{0}", "9999999999999999999999999999"] {
        let request = ListRequest { filter: TaskFilter::default(), limit: 5, cursor: Some(cursor.to_owned()) };
        assert!(matches!(f.engine.list(request).await, Err(Error::Invalid(_))), "{cursor:?}");
    }
}

pub async fn a_list_is_slim(f: Fixture) {
    f.submit_ids(&["a"]).await;
    let claimed = f.claim_one().await;
    f.settle(&claimed, Outcome::Failed { failure: failure("no"), dead_letter: true }).await;
    let full = f.get("a").await;
    let listed = f.list(TaskFilter::default(), 5).await.remove(0);
    assert_eq!(listed, Task { parameters: None, result: None, errors: Vec::new(), ..full });
}

pub async fn a_limit_out_of_bounds_is_refused(f: Fixture) {
    for limit in [0, 1_001] {
        let request = ListRequest { filter: TaskFilter::default(), limit, cursor: None };
        assert!(matches!(f.engine.list(request).await, Err(Error::Invalid(_))));
        assert!(f.engine.promote_due(limit).await.is_err());
        assert!(f.engine.reclaim_expired(limit).await.is_err());
        assert!(f.engine.purge_queue(&queue("default"), limit).await.is_err());
    }
}

pub async fn counts_follow_every_move(f: Fixture) {
    varied(&f).await;
    let expected =
        BTreeMap::from([(Status::Scheduled, 2), (Status::Submitted, 1), (Status::Started, 4), (Status::Completed, 1)]);
    let stats = f.stats("default").await;
    assert_eq!((stats.tasks, stats.accepted, stats.removed), (expected, 8, 0));
    let mail =
        BTreeMap::from([(Status::Submitted, 3), (Status::Started, 1), (Status::Failed, 1), (Status::Cancelled, 1)]);
    assert_eq!(f.stats("mail").await.tasks, mail);
    f.advance(seconds(60));
    f.claim_from(&["default", "mail"], 100).await;
    f.advance(LEASE);
    f.engine.reclaim_expired(100).await.unwrap();
    f.assert_conserved().await;
    assert_eq!(f.stats("default").await.tasks.get(&Status::Started), None, "a status without tasks is absent");
    let all = f.all_stats().await;
    assert_eq!(all.iter().map(|it| it.queue.as_str()).collect::<Vec<_>>(), ["default", "mail"]);
}

pub async fn stats_know_the_oldest_ready_task(f: Fixture) {
    let start = f.clock.now();
    assert_eq!(f.stats("default").await.oldest_ready_at, None);
    f.submit(vec![NewTask { priority: Priority::new(1).unwrap(), ..task("low") }]).await;
    f.advance(seconds(5));
    f.submit(vec![NewTask { priority: Priority::new(9).unwrap(), ..task("high") }]).await;
    assert_eq!(f.stats("default").await.oldest_ready_at, Some(start));
    let claimed = f.claim(1).await;
    assert_eq!(claimed[0].id.as_str(), "high");
    assert_eq!(f.stats("default").await.oldest_ready_at, Some(start));
    f.claim(1).await;
    assert_eq!(f.stats("default").await.oldest_ready_at, None);
}

pub async fn stats_of_an_unknown_queue_are_refused(f: Fixture) {
    assert_eq!(f.engine.queue_stats(&queue("nowhere")).await, Err(Error::UnknownQueue(queue("nowhere"))));
}

pub async fn health_names_engine_and_durability(f: Fixture) {
    let health = f.engine.health().await.unwrap();
    assert!(
        !health.engine.is_empty()
            && !health.store.is_empty()
            && !health.server.is_empty()
            && !health.durability.is_empty()
    );
    assert_eq!(health.now, f.clock.now());
}
