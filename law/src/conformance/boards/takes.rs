//! Takes: which task, for whom, and until when.

use std::{collections::BTreeSet, sync::Arc};

use jobbers_common::{
    engine::boards::{
        Commit, Create, Take, TakeAnswer, TakeOrder, Update,
        task::{BoardTask, BoardTime, When},
    },
    limits::BOARD_RANDOM_CHOICE,
    name::BoardName,
};

use crate::conformance::boards::{
    BoardFixture, ME, MINUTE, OTHER, SECOND, commit, create, create_at, revision, take, touch,
};

pub async fn tasks_are_taken_by_time_and_then_by_revision(f: BoardFixture) {
    f.create(vec![create_at("g", 5), create_at("g", 4), create_at("g", 5), create_at("h", 1), create_at("g", 4)]).await;
    let mut taken = Vec::new();
    while let Some(task) = f.take(take("g", MINUTE)).await.task {
        taken.push(task.revision);
    }
    assert_eq!(taken, [6, 7, 8, 9]);
    assert_eq!(f.revisions("g").await, taken, "in the order in which they come back");
    f.advance(60);
    let at: Vec<_> = f.list("g", 10).await.into_iter().map(|task| task.at).collect();
    assert_eq!(at, [f.now(); 4]);
    assert_eq!(f.taken(take("g", MINUTE)).await, Some(10));
    assert_eq!(f.revisions("h").await, [4]);
}

pub async fn a_task_of_the_future_is_invisible(f: BoardFixture) {
    f.create(vec![Create { at: When::In(SECOND), ..create("g") }]).await;
    assert_eq!(f.taken(take("g", MINUTE)).await, None);
    f.advance(1);
    assert_eq!(f.taken(take("g", MINUTE)).await, Some(2));
    assert_eq!(f.taken(take("g", MINUTE)).await, None, "a leased task is in the future");
    f.advance(60);
    assert_eq!(f.taken(take("g", None)).await, Some(2), "and comes back when its lease is over");
}

pub async fn a_task_is_visible_at_its_very_time(f: BoardFixture) {
    let at = f.now().0;
    f.create(vec![create_at("g", at + 1)]).await;
    assert_eq!(f.taken(take("g", None)).await, None);
    assert_eq!(f.taken(Take { now: Some(BoardTime(at + 1)), ..take("g", None) }).await, Some(1));
    f.create(vec![create_at("h", at)]).await;
    assert_eq!(f.taken(take("h", None)).await, Some(2));
}

pub async fn a_take_gives_a_new_revision_an_owner_and_a_time(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let before = f.get(1).await.unwrap();
    f.advance(5);
    let answer = f.take(Take { owner: OTHER, ..take("g", Some(1)) }).await;
    let task = BoardTask { revision: 2, owner: OTHER, at: f.now().saturating_add(1), ..before };
    let expected =
        TakeAnswer { task: Some(task.clone()), missing: Vec::new(), next_at: None, now: f.now(), revision: 2 };
    assert_eq!(answer, expected);
    assert_eq!((f.get(1).await, f.get(2).await), (None, Some(task)));
    assert_eq!(f.groups().await, [("g".to_owned(), 1)]);
}

pub async fn a_take_goes_by_the_caller_s_present(f: BoardFixture) {
    let (past, future) = (BoardTime(1_000), BoardTime(i64::MAX - 10));
    f.create(vec![create_at("g", 1_000), create_at("g", future.0)]).await;
    let by = |now: BoardTime, lease| Take { now: Some(now), ..take("g", lease) };
    assert_eq!(f.taken(by(BoardTime(999), MINUTE)).await, None);
    let answer = f.take(by(past, Some(7))).await;
    assert_eq!((answer.now, answer.task.unwrap().at), (past, BoardTime(1_007)));
    assert_eq!(f.taken(by(future, MINUTE)).await, Some(4), "the lease of the first is over");
    assert_eq!(f.taken(by(future, MINUTE)).await, Some(5));
    assert_eq!(f.taken(by(future, MINUTE)).await, None);
}

pub async fn a_peek_changes_nothing(f: BoardFixture) {
    f.create(vec![create("g"), create("g")]).await;
    let before = f.everything().await;
    for _ in 0..3 {
        let answer = f.take(Take { owner: OTHER, ..take("g", None) }).await;
        assert_eq!((answer.task, answer.revision), (f.get(1).await, 2));
    }
    assert_eq!(f.everything().await, before);
    assert_eq!(f.get(1).await.unwrap().owner, ME);
}

pub async fn a_lease_of_nothing_leaves_the_task_visible(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    for expected in [2, 3] {
        assert_eq!(f.taken(take("g", Some(0))).await, Some(expected));
    }
    let task = f.get(3).await.unwrap();
    assert_eq!((task.at, task.owner), (f.now(), ME));
    assert_eq!(f.taken(take("g", None)).await, Some(3));
}

pub async fn a_lease_past_the_end_of_time_ends_there(f: BoardFixture) {
    f.create(vec![create("g"), create_at("h", i64::MIN)]).await;
    assert_eq!(f.take(take("g", Some(u64::MAX))).await.task.unwrap().at, BoardTime(i64::MAX));
    f.advance(60);
    assert_eq!(f.taken(take("g", None)).await, None);
    let earliest = Take { now: Some(BoardTime(i64::MIN)), ..take("h", Some(u64::MAX)) };
    assert_eq!(f.take(earliest).await.task.unwrap().at, BoardTime(-1));
}

pub async fn a_take_says_when_the_next_task_is_visible(f: BoardFixture) {
    let empty = f.take(take("g", MINUTE)).await;
    assert_eq!((empty.next_at, empty.revision), (None, 0));
    f.create(vec![
        create("g"),
        Create { at: When::In(9), ..create("g") },
        Create { at: When::In(5), ..create("g") },
        Create { at: When::In(1), ..create("h") },
    ])
    .await;
    assert_eq!(f.take(take("g", MINUTE)).await.next_at, None, "something is visible");
    let answer = f.take(take("g", MINUTE)).await;
    assert_eq!((answer.task, answer.next_at), (None, Some(f.now().saturating_add(5))));
    assert_eq!((answer.now, answer.revision), (f.now(), 5));
    f.commit(Commit { delete: vec![revision(2), revision(3)], ..commit() }).await;
    let leased = f.now().saturating_add(60 * SECOND);
    assert_eq!(f.take(take("g", None)).await.next_at, Some(leased), "the end of a lease");
}

pub async fn missing_requirements_win_over_an_empty_group(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    for group in ["none", "g"] {
        let requiring = Take { require: vec![5, 1, 0, 5], ..take(group, MINUTE) };
        let answer = f.take(requiring.clone()).await;
        assert_eq!((answer.task, answer.missing, answer.next_at), (None, vec![5, 0], None));
        let peek = f.take(Take { lease: None, ..requiring }).await;
        assert_eq!((peek.task, peek.missing), (None, vec![5, 0]));
    }
    assert_eq!(f.revisions("g").await, [1]);
    assert_eq!(f.taken(Take { require: vec![1], ..take("g", MINUTE) }).await, Some(2), "also the task itself");
}

pub async fn a_take_from_a_board_that_does_not_exist_finds_nothing(f: BoardFixture) {
    for lease in [None, MINUTE] {
        let elsewhere = Take { board: BoardName::new("elsewhere").unwrap(), ..take("g", lease) };
        let nothing = TakeAnswer { task: None, missing: Vec::new(), next_at: None, now: f.now(), revision: 0 };
        assert_eq!(f.take(elsewhere.clone()).await, nothing);
        let missing = TakeAnswer { missing: vec![1], ..nothing };
        assert_eq!(f.take(Take { require: vec![1], ..elsewhere }).await, missing);
    }
}

pub async fn an_old_revision_does_not_find_a_taken_task(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let held = f.taken(take("g", MINUTE)).await.unwrap();
    assert_eq!(f.conflicts(Commit { delete: vec![revision(1)], ..commit() }).await.deleted, [1]);
    let back = Update { at: Some(When::NOW), ..touch(held) };
    f.commit(Commit { update: vec![back], ..commit() }).await;
    assert_eq!(f.conflicts(Commit { delete: vec![revision(held)], ..commit() }).await.deleted, [held]);
    assert_eq!(f.taken(take("g", MINUTE)).await, Some(4));
}

pub async fn many_takers_at_once_hold_a_task_each(f: BoardFixture) {
    f.create(vec![create("g"); 30]).await;
    let mut takers = tokio::task::JoinSet::new();
    for n in 0..40 {
        let boards = Arc::clone(&f.boards);
        let order = if n % 2 == 0 { TakeOrder::FirstInFirstOut } else { TakeOrder::Random };
        let one = Take { owner: n, order, ..take("g", MINUTE) };
        takers.spawn(async move { boards.take(one).await.unwrap().task });
    }
    let held: Vec<BoardTask> = takers.join_all().await.into_iter().flatten().collect();
    assert_eq!(held.len(), 30);
    let revisions: BTreeSet<u64> = held.iter().map(|task| task.revision).collect();
    assert_eq!(revisions, (31..=60).collect());
    for task in held {
        assert_eq!(f.get(task.revision).await, Some(task));
    }
}

pub async fn a_random_take_chooses_among_the_first(f: BoardFixture) {
    let many = u64::try_from(BOARD_RANDOM_CHOICE).unwrap();
    f.create(vec![create("g"); BOARD_RANDOM_CHOICE + 20]).await;
    let random = |lease| Take { order: TakeOrder::Random, ..take("g", lease) };
    let mut early = 0;
    let mut found = BTreeSet::new();
    for _ in 0..200 {
        let place = f.taken(random(None)).await.unwrap();
        assert!((1..=many).contains(&place), "{place} is not among the first");
        early += usize::from(place <= many / 2);
        found.insert(place);
    }
    // Three of four are expected in the first half; fewer than half of them once in 10^13 runs.
    assert!(early > 100, "{early} of 200 were early");
    assert!(found.len() > 20, "{found:?}");
    let now = f.now().0;
    f.create(vec![create_at("one", now), create_at("one", now + 1)]).await;
    let one = Take { group: "one".to_owned(), ..random(MINUTE) };
    let answer = f.take(one.clone()).await;
    assert_eq!(answer.task.unwrap().at.0, now + 60 * SECOND, "only what is visible");
    assert_eq!(f.take(one).await.next_at, Some(BoardTime(now + 1)));
}
