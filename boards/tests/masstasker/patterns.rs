//! The patterns of MassTasker's document, each as its clients write it.

use std::collections::BTreeSet;

use jobbers_boards::masstasker::proto::{QueryRequest, Task, UpdateRequest};
use tonic::Code;

use crate::{
    server::{Api, asked, at, by_id, connected, refused, said, saying, seconds, task},
    stores::Kind,
};

/// The time of a created task: fixed, so that no test depends on the passage of time.
fn due(group: &str, text: &str) -> Task {
    Task { not_before: Some(at(100, 0)), ..saying(group, text) }
}

async fn own_at(api: &mut Api, group: &str, now: i64) -> Task {
    api.query(QueryRequest { now: Some(at(now, 0)), own_for: seconds(30), ..asked(group) }).await.unwrap()
}

/// A worker that was too slow finds out when it commits.
async fn a_lease_that_ended_is_another_workers(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![due("work", "x")]).await;
    let slow = own_at(&mut api, "work", 100).await;
    let quick = own_at(&mut api, "work", 131).await;
    refused(api.delete(vec![by_id(slow.id)]).await, Code::NotFound);
    api.delete(vec![by_id(quick.id)]).await.unwrap();
}

/// A worker that renews its lease goes on under the new id.
async fn a_renewed_lease_is_committed_by_its_last_id(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![due("work", "x")]).await;
    let mut owned = own_at(&mut api, "work", 100).await;
    for _ in 0..3 {
        let renewed = Task { not_before: Some(at(owned.not_before.unwrap().seconds + 30, 0)), ..owned.clone() };
        owned.id = api.replace(owned.id, vec![renewed]).await.unwrap()[0];
    }
    refused(api.query(QueryRequest { now: Some(at(159, 0)), ..asked("work") }).await, Code::NotFound);
    api.delete(vec![by_id(owned.id)]).await.unwrap();
}

/// Commit: what is done is deleted in the step that creates what follows from it.
async fn a_commit_deletes_what_is_done_and_creates_what_follows(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![due("bootstrap", "")]).await;
    let first = own_at(&mut api, "bootstrap", 100).await;
    api.replace(first.id, vec![saying("files", "a"), saying("files", "b")]).await.unwrap();
    refused(api.replace(first.id, vec![saying("files", "c")]).await, Code::NotFound);
    assert_eq!((api.count("bootstrap").await, api.count("files").await), (0, 2));
}

/// Move: the same task goes on in another group.
async fn a_move_is_a_deletion_and_a_creation_in_one_step(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![due("in", "x")]).await;
    let owned = own_at(&mut api, "in", 100).await;
    api.replace(owned.id, vec![Task { group: "out".to_owned(), not_before: None, ..owned.clone() }]).await.unwrap();
    assert_eq!((api.count("in").await, said(&api.own("out").await.unwrap()).as_str()), (0, "x"));
}

/// Config task: work that was done under an old configuration is not committed.
async fn work_under_an_old_configuration_is_refused(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![saying("config", "v1"), saying("work", "x")]).await;
    let config = api.peek("config").await.unwrap();
    let owned = api.own("work").await.unwrap();
    api.replace(config.id, vec![saying("config", "v2")]).await.unwrap();
    let commit = |config| UpdateRequest {
        deleted: vec![by_id(owned.id)],
        created: vec![task("done")],
        predicates: vec![config],
    };
    refused(api.update(commit(config.id)).await, Code::FailedPrecondition);
    let config = api.peek("config").await.unwrap();
    assert_eq!(said(&config), "v2");
    api.update(commit(config.id)).await.unwrap();
    assert_eq!((api.count("work").await, api.count("done").await), (0, 1));
}

/// Barrier task: workers race to note their parts in one task; the last one starts what comes next.
async fn a_barrier_task_counts_each_part_once(kind: Kind) {
    const PARTS: usize = 24;
    let (server, mut api) = connected(kind).await;
    let parts = (0..PARTS).map(|n| saying("parts", &n.to_string()));
    api.create(parts.chain([saying("barrier", "")]).collect()).await;
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        workers.spawn(serve_parts(server.client().await, PARTS));
    }
    workers.join_all().await;
    assert_eq!((api.count("parts").await, api.count("next").await, api.count("barrier").await), (0, 1, 0));
    let next = api.own("next").await.unwrap();
    let noted: BTreeSet<usize> = said(&next).split_whitespace().map(|part| part.parse().unwrap()).collect();
    assert_eq!(noted, (0..PARTS).collect());
}

async fn serve_parts(mut api: Api, parts: usize) {
    while let Ok(part) = api.own("parts").await {
        loop {
            let barrier = api.peek("barrier").await.unwrap();
            let noted = format!("{} {}", said(&barrier), said(&part));
            let is_last = noted.split_whitespace().count() == parts;
            let group = if is_last { "next" } else { "barrier" };
            let commit = UpdateRequest {
                created: vec![saying(group, &noted)],
                deleted: vec![by_id(part.id), by_id(barrier.id)],
                predicates: vec![barrier.id],
            };
            match api.update(commit).await {
                Ok(_) => break,
                Err(status) => assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}"),
            }
        }
    }
}

/// Dead letters: a task that can't succeed waits in a group of its own, with its error.
async fn a_task_that_fails_for_good_is_moved_with_its_error(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create(vec![saying("work", "bad"), saying("work", "good")]).await;
    let bad = api.own("work").await.unwrap();
    let letter = Task { group: "errors".to_owned(), error: "bad data".to_owned(), not_before: None, ..bad.clone() };
    api.replace(bad.id, vec![letter]).await.unwrap();
    assert_eq!(said(&api.own("work").await.unwrap()), "good");
    let letter = api.peek("errors").await.unwrap();
    assert_eq!((said(&letter).as_str(), letter.error.as_str()), ("bad", "bad data"));
    // Later, with the defect mended, all of them are sent again.
    assert_eq!(api.bulk_set(vec![crate::server::by_group("errors")], task("work")).await.unwrap(), 1);
    assert_eq!(said(&api.own("work").await.unwrap()), "bad");
}

/// Progress: the number of tasks that are left, visible or not.
async fn progress_is_the_number_of_tasks_left(kind: Kind) {
    let (_server, mut api) = connected(kind).await;
    api.create((0..10).map(|_| task("work")).collect()).await;
    let mut left = Vec::new();
    while let Ok(owned) = api.own("work").await {
        left.push(api.count("work").await);
        api.delete(vec![by_id(owned.id)]).await.unwrap();
    }
    assert_eq!(left, (1..=10).rev().collect::<Vec<u64>>());
}

on_every_store!(
    a_lease_that_ended_is_another_workers,
    a_renewed_lease_is_committed_by_its_last_id,
    a_commit_deletes_what_is_done_and_creates_what_follows,
    a_move_is_a_deletion_and_a_creation_in_one_step,
    work_under_an_old_configuration_is_refused,
    a_barrier_task_counts_each_part_once,
    a_task_that_fails_for_good_is_moved_with_its_error,
    progress_is_the_number_of_tasks_left,
);
