//! Commits: dense revisions, all or nothing, and what is stored.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;

use jobbers_common::{
    engine::boards::{
        Commit, CommitAnswer, Committed, Conflicts, Create, Placed, Selection, Take, Update,
        task::{BoardTask, BoardTime, Content, When},
    },
    name::BoardName,
};

use crate::conformance::boards::{
    BoardFixture, ME, MINUTE, OTHER, SECOND, board, commit, create, create_at, group, labels, revision, take, text,
    touch,
};

pub async fn revisions_are_dense_from_1(f: BoardFixture) {
    assert_eq!(f.create(vec![create("a"), create("b")]).await, [1, 2]);
    let update = vec![touch(1)];
    let committed = f.commit(Commit { update, create: vec![create("a")], ..commit() }).await;
    assert_eq!((committed.updated[0].revision, committed.created[0].revision), (3, 4));
    assert_eq!(f.taken(take("b", MINUTE)).await, Some(5));
    f.commit(Commit { delete: vec![revision(3), revision(4), revision(5)], ..commit() }).await;
    assert_eq!(f.counter().await, 5, "a deletion takes no revision");
    assert_eq!(f.create(vec![create("a")]).await, [6], "and no revision is given twice");
}

pub async fn a_failure_consumes_no_revision(f: BoardFixture) {
    f.create(vec![create("a")]).await;
    f.conflicts(Commit { require: vec![9], create: vec![create("a")], ..commit() }).await;
    f.assert_refused(Commit { delete: vec![revision(1), group("a")], update: vec![touch(1)], ..commit() }).await;
    let missing = f.take(Take { require: vec![9], ..take("a", MINUTE) }).await;
    assert_eq!((missing.missing, missing.revision), (vec![9], 1));
    assert_eq!(f.create(vec![create("a")]).await, [2]);
}

pub async fn every_board_counts_for_itself(f: BoardFixture) {
    let elsewhere = Commit::new(BoardName::new("elsewhere").unwrap(), ME);
    f.create(vec![create("a"), create("a")]).await;
    let committed = f.commit(Commit { create: vec![create("a")], ..elsewhere.clone() }).await;
    assert_eq!(committed.created[0].revision, 1);
    assert_eq!(f.revisions("a").await, [1, 2]);
    f.commit(Commit { delete: vec![group("a")], ..elsewhere.clone() }).await;
    assert_eq!(f.boards.get(&elsewhere.board, &[1, 2]).await.unwrap(), [None, None]);
    assert_eq!(f.revisions("a").await, [1, 2]);
}

pub async fn a_created_task_is_stored_as_it_was_given(f: BoardFixture) {
    let content = Content {
        data: Bytes::from_static(b"{\"n\": 1.0}"),
        data_type: "type.googleapis.com/masstasker.Test".to_owned(),
        labels: labels(&[("color", "red"), ("", ""), ("\u{e9}", "\0")]),
        error: "an earlier\nattempt failed".to_owned(),
    };
    let new = Create { group: "g".to_owned(), at: When::In(SECOND), content: content.clone() };
    let committed = f.commit(Commit { create: vec![new], ..commit() }).await;
    let at = f.now().saturating_add(SECOND);
    let placed = Placed { revision: 1, group: "g".to_owned(), at };
    assert_eq!(committed, Committed { created: vec![placed], ..Committed::default() });
    let task = BoardTask { revision: 1, group: "g".to_owned(), at, owner: ME, content };
    assert_eq!(f.get(1).await, Some(task.clone()));
    assert_eq!(f.list("g", 10).await, std::slice::from_ref(&task));
    f.advance(1);
    assert_eq!(f.take(take("g", None)).await.task, Some(task));
}

pub async fn bytes_of_any_kind_come_back_unchanged(f: BoardFixture) {
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let large = vec![0xc3; 300_000];
    for (data, name) in [(vec![], "empty"), (vec![0], "nul\0inside"), (all, "\u{10ffff}"), (large, " ")] {
        let content = Content { data: data.into(), ..text("") };
        let new = Create { content: content.clone(), ..create(name) };
        let revision = f.create(vec![new]).await[0];
        let stored = f.get(revision).await.unwrap();
        assert_eq!((stored.content, stored.group.as_str()), (content.clone(), name));
        assert_eq!(f.take(take(name, MINUTE)).await.task.unwrap().content, content);
    }
    assert_eq!(f.groups().await.len(), 4);
}

pub async fn times_are_exact_at_both_ends(f: BoardFixture) {
    let times = [i64::MAX, i64::MAX - 1, 1, 0, -1, i64::MIN + 1, i64::MIN, 1_700_000_000_123_456_789];
    f.create(times.iter().map(|at| create_at("g", *at)).collect()).await;
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let listed: Vec<i64> = f.list("g", 3).await.iter().map(|task| task.at.0).collect();
    assert_eq!(listed, sorted);
    let earliest = Take { now: Some(BoardTime(i64::MIN)), ..take("g", None) };
    assert_eq!(f.taken(earliest.clone()).await, Some(7));
    f.commit(Commit { delete: vec![revision(7)], ..commit() }).await;
    let answer = f.take(earliest).await;
    assert_eq!((answer.task, answer.next_at), (None, Some(BoardTime(i64::MIN + 1))));
    let saturated = Create { at: When::In(i64::MAX), ..create("far") };
    let past = Create { at: When::In(i64::MIN), ..create("far") };
    let placed = f.commit(Commit { create: vec![saturated, past], ..commit() }).await.created;
    assert_eq!(placed[0].at, BoardTime(i64::MAX));
    assert_eq!(placed[1].at, f.now().saturating_add(i64::MIN));
}

pub async fn an_update_changes_what_it_names(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let before = f.get(1).await.unwrap();
    f.commit(Commit { owner: OTHER, update: vec![touch(1)], ..commit() }).await;
    let touched = BoardTask { revision: 2, owner: OTHER, ..before };
    assert_eq!(f.get(2).await, Some(touched.clone()));
    let update = Update { at: Some(When::In(-SECOND)), ..touch(2) };
    f.commit(Commit { owner: OTHER, update: vec![update], ..commit() }).await;
    let moved = BoardTask { revision: 3, at: f.now().saturating_add(-SECOND), ..touched };
    assert_eq!(f.get(3).await, Some(moved.clone()));
    let content = Content { labels: labels(&[("a", "b")]), ..text("new") };
    let update = Update { content: Some(content.clone()), ..touch(3) };
    f.commit(Commit { owner: OTHER, update: vec![update], ..commit() }).await;
    assert_eq!(f.list("g", 10).await, [BoardTask { revision: 4, content, ..moved }]);
}

pub async fn an_update_moves_a_task_to_another_group(f: BoardFixture) {
    f.create(vec![create("from"), create("from")]).await;
    let update = Update { group: Some("to".to_owned()), ..touch(1) };
    let committed = f.commit(Commit { update: vec![update], ..commit() }).await;
    assert_eq!(committed.updated, [Placed { revision: 3, group: "to".to_owned(), at: f.now() }]);
    assert_eq!(f.groups().await, [("from".to_owned(), 1), ("to".to_owned(), 1)]);
    assert_eq!((f.revisions("from").await, f.revisions("to").await), (vec![2], vec![3]));
}

pub async fn an_old_revision_is_gone(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    f.commit(Commit { update: vec![touch(1)], ..commit() }).await;
    assert_eq!(f.get(1).await, None);
    let conflicts = f.conflicts(Commit { delete: vec![revision(1)], ..commit() }).await;
    assert_eq!(conflicts, Conflicts { deleted: vec![1], ..Conflicts::default() });
    let conflicts = f.conflicts(Commit { update: vec![touch(1)], ..commit() }).await;
    assert_eq!(conflicts, Conflicts { updated: vec![1], ..Conflicts::default() });
    let conflicts = f.conflicts(Commit { require: vec![1], ..commit() }).await;
    assert_eq!(conflicts, Conflicts { required: vec![1], ..Conflicts::default() });
}

pub async fn updates_take_their_revisions_before_creations(f: BoardFixture) {
    f.create(vec![create("g"), create("g"), create("g")]).await;
    let create = vec![create("c"), create("g")];
    let changed = Commit { delete: vec![revision(2)], update: vec![touch(3), touch(1)], create, ..commit() };
    let committed = f.commit(changed).await;
    let revisions = |placed: &[Placed]| placed.iter().map(|it| it.revision).collect::<Vec<_>>();
    assert_eq!((revisions(&committed.updated), revisions(&committed.created)), (vec![4, 5], vec![6, 7]));
    assert_eq!(committed.deleted, 1);
    assert_eq!((f.revisions("g").await, f.revisions("c").await), (vec![4, 5, 7], vec![6]));
}

pub async fn a_deletion_counts_a_task_once(f: BoardFixture) {
    f.create(vec![create("g"), create("g")]).await;
    let committed = f.commit(Commit { delete: vec![revision(1), revision(1)], ..commit() }).await;
    assert_eq!(committed, Committed { deleted: 1, ..Committed::default() });
    let conflicts = f.conflicts(Commit { delete: vec![revision(1), revision(2), revision(1)], ..commit() }).await;
    assert_eq!(conflicts.deleted, [1], "and a missing one too");
}

pub async fn all_conflicts_are_collected(f: BoardFixture) {
    let held = Create { at: When::In(SECOND), ..create("g") };
    f.commit(Commit { owner: OTHER, create: vec![held.clone(), held.clone(), held], ..commit() }).await;
    f.create(vec![create("g")]).await;
    let conflicting = Commit {
        check_owner: true,
        require: vec![30, 1, u64::MAX, 30, 0],
        delete: vec![revision(21), revision(3), revision(4), revision(20), revision(3), revision(20)],
        update: vec![touch(11), touch(2), touch(10), touch(1)],
        create: vec![create("g")],
        ..commit()
    };
    let conflicts = f.conflicts(conflicting).await;
    let expected = Conflicts {
        required: vec![30, u64::MAX, 0],
        deleted: vec![21, 20],
        updated: vec![11, 10],
        owned: vec![3, 2, 1],
    };
    assert_eq!(conflicts, expected);
}

pub async fn a_required_task_may_be_deleted(f: BoardFixture) {
    f.create(vec![create("g"), create("g")]).await;
    let barrier = Commit { require: vec![1, 2, 1], delete: vec![revision(1)], update: vec![touch(2)], ..commit() };
    assert_eq!(f.commit(barrier).await.deleted, 1);
    assert_eq!(f.revisions("g").await, [3]);
}

pub async fn a_task_is_changed_once(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    f.assert_refused(Commit { delete: vec![revision(1)], update: vec![touch(1)], ..commit() }).await;
    f.assert_refused(Commit { update: vec![touch(1), touch(1)], ..commit() }).await;
    f.assert_refused(Commit { require: vec![9], update: vec![touch(8), touch(8)], ..commit() }).await;
}

pub async fn a_mark_is_used_once(f: BoardFixture) {
    let once = |mark: &str| Commit { once: Some(mark.to_owned()), create: vec![create("g")], ..commit() };
    let refused = Commit { require: vec![9], ..once("m") };
    f.conflicts(refused).await;
    f.commit(once("m")).await;
    assert_eq!(f.try_commit(once("m")).await, Ok(CommitAnswer::AlreadyDone), "a commit that failed used no mark");
    f.commit(Commit { delete: vec![group("g")], ..commit() }).await;
    assert_eq!(f.try_commit(once("m")).await, Ok(CommitAnswer::AlreadyDone));
    f.commit(once("")).await;
    f.commit(Commit { board: BoardName::new("elsewhere").unwrap(), ..once("m") }).await;
    assert_eq!(f.revisions("g").await, [2]);
    let nothing = Commit { once: Some("nothing".to_owned()), ..commit() };
    f.commit(nothing.clone()).await;
    assert_eq!(f.try_commit(nothing).await, Ok(CommitAnswer::AlreadyDone));
    assert_eq!(f.counter().await, 2);
}

pub async fn a_taken_mark_is_answered_first(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let once = Commit { once: Some("m".to_owned()), ..commit() };
    f.commit(once.clone()).await;
    let conflicting = Commit { require: vec![9], ..once.clone() };
    assert_eq!(f.try_commit(conflicting).await, Ok(CommitAnswer::AlreadyDone));
    let update = Update { which: group("g"), ..touch(1) };
    let overlapping = Commit { delete: vec![revision(1)], update: vec![update], ..once };
    assert_eq!(f.try_commit(overlapping).await, Ok(CommitAnswer::AlreadyDone));
}

pub async fn an_empty_commit_changes_nothing(f: BoardFixture) {
    assert_eq!(f.commit(commit()).await, Committed::default());
    f.create(vec![create("g")]).await;
    let before = f.everything().await;
    assert_eq!(f.commit(Commit { require: vec![1], ..commit() }).await, Committed::default());
    assert_eq!(f.everything().await, before);
}

pub async fn of_many_commits_at_once_that_delete_a_task_one_is_applied(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let mut commits = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let boards = Arc::clone(&f.boards);
        let moved = Commit { delete: vec![revision(1)], create: vec![create("done")], ..commit() };
        commits.spawn(async move { boards.commit(moved).await.unwrap() });
    }
    let answers = commits.join_all().await;
    assert_eq!(answers.iter().filter(|answer| matches!(answer, CommitAnswer::Done(_))).count(), 1);
    assert_eq!(f.revisions("done").await, [2]);
}

pub async fn many_commits_at_once_take_dense_revisions(f: BoardFixture) {
    let mut commits = tokio::task::JoinSet::new();
    for n in 0..40_u64 {
        let boards = Arc::clone(&f.boards);
        // Every fourth fails, and takes no revision.
        let require = if n % 4 == 0 { vec![1_000] } else { Vec::new() };
        let new = Commit { require, create: vec![create("g"), create("h")], ..commit() };
        commits.spawn(async move { boards.commit(new).await.unwrap() });
    }
    let mut revisions = BTreeSet::new();
    for answer in commits.join_all().await {
        if let CommitAnswer::Done(committed) = answer {
            assert_eq!(committed.created[0].revision + 1, committed.created[1].revision, "side by side");
            revisions.extend(committed.created.iter().map(|placed| placed.revision));
        }
    }
    assert_eq!(revisions, (1..=60).collect());
    assert_eq!(f.groups().await, [("g".to_owned(), 30), ("h".to_owned(), 30)]);
    let all = (1..=60).map(Selection::Revision).collect();
    assert_eq!(f.commit(Commit { delete: all, ..commit() }).await.deleted, 60);
    assert_eq!(f.boards.groups(&board(), None, 10).await.unwrap(), []);
}
