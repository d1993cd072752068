//! Bounds of commits and takes.

use std::collections::BTreeMap;

use jobbers_common::{
    engine::boards::{Commit, Create, Selection, Take, Update, task::Content},
    limits::{
        MAX_BOARD_CHANGES, MAX_BOARD_COMMIT_BYTES, MAX_BOARD_GROUP_BYTES, MAX_BOARD_LABELS, MAX_BOARD_SELECTIONS,
        MAX_BOARD_TEXT_BYTES,
    },
};

use crate::conformance::boards::{
    BoardFixture, MINUTE, assert_invalid, commit, create, group, labels, revision, take, text, touch,
};

fn many_labels(count: usize) -> BTreeMap<String, String> {
    (0..count).map(|n| (format!("label {n}"), "x".to_owned())).collect()
}

pub async fn a_commit_is_as_large_as_its_bounds(f: BoardFixture) {
    let long = "t".repeat(MAX_BOARD_TEXT_BYTES);
    let content = Content {
        data: vec![7; 1_000_000].into(),
        data_type: long.clone(),
        labels: labels(&[(&long, &long)]),
        error: "e".repeat(100_000),
    };
    let name = "g".repeat(MAX_BOARD_GROUP_BYTES);
    let large = Create { content: content.clone(), ..create(&name) };
    f.commit(Commit { create: vec![large; 12], once: Some(long), ..commit() }).await;
    assert_eq!(f.take(take(&name, MINUTE)).await.task.unwrap().content, content);
    let filled = Content { labels: many_labels(MAX_BOARD_LABELS), ..text("x") };
    f.create(vec![Create { content: filled.clone(), ..create("labels") }]).await;
    assert_eq!(f.get(14).await.unwrap().content, filled);
    let some = f.create(vec![create("many"); MAX_BOARD_CHANGES / 2]).await;
    let delete = some[..some.len() / 2].iter().map(|it| revision(*it)).collect();
    let update = some[some.len() / 2..].iter().map(|it| touch(*it)).collect();
    let new = vec![create("many"); MAX_BOARD_CHANGES / 2];
    let all = f.commit(Commit { delete, update, create: new, ..commit() }).await;
    assert_eq!((all.deleted, all.updated.len(), all.created.len()), (2_500, 2_500, 5_000));
}

pub async fn a_commit_past_its_bounds_is_refused(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let long_group = "g".repeat(MAX_BOARD_GROUP_BYTES + 1);
    let long = "t".repeat(MAX_BOARD_TEXT_BYTES + 1);
    let contents = [
        Content { data_type: long.clone(), ..text("x") },
        Content { labels: labels(&[(&long, "")]), ..text("x") },
        Content { labels: labels(&[("", &long)]), ..text("x") },
        Content { labels: many_labels(MAX_BOARD_LABELS + 1), ..text("x") },
        Content { data: vec![0; MAX_BOARD_COMMIT_BYTES + 1].into(), ..text("x") },
        Content { error: "e".repeat(MAX_BOARD_COMMIT_BYTES), ..text("x") },
    ];
    for content in contents {
        f.assert_refused(Commit { create: vec![Create { content: content.clone(), ..create("g") }], ..commit() }).await;
        let update = vec![Update { content: Some(content), ..touch(1) }];
        f.assert_refused(Commit { update, ..commit() }).await;
    }
    f.assert_refused(Commit { create: vec![create("g"), create(&long_group)], ..commit() }).await;
    f.assert_refused(Commit { delete: vec![group(&long_group)], ..commit() }).await;
    let update = vec![Update { group: Some(long_group), ..touch(1) }];
    f.assert_refused(Commit { update, ..commit() }).await;
    let selected = Selection::AnyLabel(many_labels(MAX_BOARD_LABELS + 1));
    f.assert_refused(Commit { delete: vec![selected], ..commit() }).await;
    f.assert_refused(Commit { once: Some(long), ..commit() }).await;
    f.assert_refused(Commit { create: vec![create("g"); MAX_BOARD_CHANGES + 1], ..commit() }).await;
    f.assert_refused(Commit { require: vec![1; MAX_BOARD_CHANGES + 1], ..commit() }).await;
    let delete = vec![revision(1); MAX_BOARD_CHANGES];
    f.assert_refused(Commit { delete, create: vec![create("g")], ..commit() }).await;
    let delete = vec![group("none"); MAX_BOARD_SELECTIONS + 1];
    f.assert_refused(Commit { delete, ..commit() }).await;
    let (delete, update) = (vec![group("none"); MAX_BOARD_SELECTIONS], move_labelled());
    f.assert_refused(Commit { delete: delete.clone(), update, ..commit() }).await;
    f.commit(Commit { delete, ..commit() }).await;
}

fn move_labelled() -> Vec<Update> {
    vec![Update { which: Selection::AnyLabel(many_labels(1)), ..touch(0) }]
}

pub async fn a_take_past_its_bounds_is_refused(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let long = "g".repeat(MAX_BOARD_GROUP_BYTES + 1);
    for lease in [None, MINUTE] {
        assert_invalid(&f.boards.take(take(&long, lease)).await);
        let require = vec![1; MAX_BOARD_CHANGES + 1];
        assert_invalid(&f.boards.take(Take { require, ..take("g", lease) }).await);
    }
    assert_eq!(f.revisions("g").await, [1]);
}
