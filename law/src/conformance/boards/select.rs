//! Selections, which are resolved inside the commit, and the check of owners.

use jobbers_common::{
    engine::boards::{Commit, Create, Placed, Selection, Update, task::When},
    limits::MAX_BOARD_CHANGES,
};

use crate::conformance::boards::{
    BoardFixture, MINUTE, OTHER, SECOND, assert_invalid, commit, create, group, labelled, labels, revision, take, text,
    touch,
};

fn any(pairs: &[(&str, &str)]) -> Selection {
    Selection::AnyLabel(labels(pairs))
}

fn create_labelled(pairs: &[(&str, &str)]) -> Create {
    Create { content: labelled(pairs), ..create("g") }
}

/// An update of what is selected.
fn move_to(which: Selection, to: &str) -> Update {
    Update { which, group: Some(to.to_owned()), at: None, content: None }
}

pub async fn a_group_is_deleted_with_what_is_not_visible(f: BoardFixture) {
    let later = Create { at: When::In(SECOND), ..create("g") };
    f.create(vec![create("g"), later, create("h")]).await;
    f.taken(take("g", MINUTE)).await.unwrap();
    let committed = f.commit(Commit { delete: vec![group("g")], create: vec![create("g")], ..commit() }).await;
    assert_eq!(committed.deleted, 2, "what the same commit creates stays");
    assert_eq!(f.groups().await, [("g".to_owned(), 1), ("h".to_owned(), 1)]);
    assert_eq!(f.revisions("g").await, [5]);
}

pub async fn a_group_is_updated_in_the_order_of_revisions(f: BoardFixture) {
    let first = Create { at: When::In(-SECOND), ..create("g") };
    f.create(vec![create("g"), create("h"), first]).await;
    let update = Update { at: Some(When::In(SECOND)), content: Some(text("moved")), ..move_to(group("g"), "to") };
    let updated = f.commit(Commit { update: vec![update], ..commit() }).await.updated;
    let at = f.now().saturating_add(SECOND);
    let placed = |revision| Placed { revision, group: "to".to_owned(), at };
    assert_eq!(updated, [placed(4), placed(5)]);
    assert_eq!(f.revisions("to").await, [4, 5]);
    assert!(f.list("to", 10).await.iter().all(|task| task.content == text("moved")));
    assert_eq!(f.groups().await, [("h".to_owned(), 1), ("to".to_owned(), 2)]);
}

pub async fn any_of_several_labels_selects(f: BoardFixture) {
    let both = create_labelled(&[("color", "red"), ("size", "big")]);
    let red = create_labelled(&[("color", "red")]);
    let blue = create_labelled(&[("color", "blue"), ("red", "color")]);
    let big = Create { group: "other".to_owned(), ..create_labelled(&[("size", "big")]) };
    f.create(vec![both, red, blue, big, create("g")]).await;
    let moved = f.commit(Commit { update: vec![move_to(any(&[("red", "color")]), "h")], ..commit() }).await;
    assert_eq!(moved.updated.len(), 1);
    let selected = any(&[("color", "red"), ("size", "big")]);
    assert_eq!(f.commit(Commit { delete: vec![selected], ..commit() }).await.deleted, 3);
    assert_eq!((f.revisions("g").await, f.revisions("h").await), (vec![5], vec![6]));
}

pub async fn labels_follow_their_task(f: BoardFixture) {
    f.create(vec![create_labelled(&[("a", "1")]), create_labelled(&[("a", "1"), ("b", "")])]).await;
    f.taken(take("g", MINUTE)).await.unwrap();
    let relabelled = Update { content: Some(labelled(&[("c", "1")])), ..touch(2) };
    f.commit(Commit { update: vec![relabelled], ..commit() }).await;
    let delete = vec![any(&[("b", "")]), any(&[("a", "2")]), any(&[("A", "1")])];
    assert_eq!(f.commit(Commit { delete, ..commit() }).await.deleted, 0, "labels go with their content");
    assert_eq!(f.commit(Commit { delete: vec![any(&[("a", "1")])], ..commit() }).await.deleted, 1, "a take keeps them");
    assert_eq!(f.commit(Commit { delete: vec![any(&[("c", "1")])], ..commit() }).await.deleted, 1);
    f.create(vec![create("g")]).await;
    assert_eq!(f.commit(Commit { delete: vec![any(&[("a", "1"), ("c", "1")])], ..commit() }).await.deleted, 0);
}

pub async fn a_selection_that_finds_nothing_is_no_conflict(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let nothing = Commit {
        delete: vec![group("none"), any(&[("no", "label")]), any(&[])],
        update: vec![move_to(group("none"), "to"), move_to(any(&[]), "to")],
        ..commit()
    };
    let committed = f.commit(nothing).await;
    assert_eq!((committed.deleted, committed.updated.len()), (0, 0));
    assert_eq!((f.counter().await, f.revisions("g").await), (1, vec![1]));
}

pub async fn a_selection_and_a_conflict_change_nothing(f: BoardFixture) {
    f.create(vec![create("g"), create_labelled(&[("a", "1")])]).await;
    f.conflicts(Commit { delete: vec![group("g"), revision(9)], ..commit() }).await;
    f.conflicts(Commit { update: vec![move_to(any(&[("a", "1")]), "h"), touch(9)], ..commit() }).await;
    assert_eq!(f.commit(Commit { delete: vec![any(&[("a", "1")])], ..commit() }).await.deleted, 1);
}

pub async fn selections_that_overlap_are_refused(f: BoardFixture) {
    f.create(vec![create_labelled(&[("a", "1"), ("b", "1")])]).await;
    let selections = || [revision(1), group("g"), any(&[("a", "1")])];
    for delete in selections() {
        for update in [group("g"), any(&[("b", "1")])] {
            let update = vec![move_to(update, "h")];
            f.assert_refused(Commit { delete: vec![delete.clone()], update, ..commit() }).await;
        }
    }
    for first in selections() {
        let update = vec![move_to(first, "h"), move_to(any(&[("b", "1")]), "i")];
        f.assert_refused(Commit { require: vec![9], update, ..commit() }).await;
    }
}

pub async fn a_task_that_two_updates_change_alike_is_changed_once(f: BoardFixture) {
    f.create(vec![create_labelled(&[("a", "1"), ("b", "1")]), create("g")]).await;
    let update = vec![move_to(any(&[("a", "1")]), "h"), move_to(revision(1), "h"), move_to(any(&[("b", "1")]), "h")];
    assert_eq!(f.commit(Commit { update, ..commit() }).await.updated.len(), 1);
    let moved = f.groups().await;
    assert_eq!(moved, [("g".to_owned(), 1), ("h".to_owned(), 1)]);
}

pub async fn a_task_selected_twice_for_deletion_counts_once(f: BoardFixture) {
    f.create(vec![create_labelled(&[("a", "1"), ("b", "1")]), create("g")]).await;
    let delete = vec![revision(1), any(&[("a", "1"), ("b", "1")]), group("g"), group("g")];
    assert_eq!(f.commit(Commit { delete, ..commit() }).await.deleted, 2);
    assert_eq!(f.groups().await, []);
}

pub async fn another_owner_changes_what_is_held_only_when_its_time_has_come(f: BoardFixture) {
    f.create(vec![create("g"), create("g"), create_labelled(&[("a", "1")])]).await;
    let (first, second) = (f.taken(take("g", MINUTE)).await.unwrap(), f.taken(take("g", MINUTE)).await.unwrap());
    let other = Commit { owner: OTHER, check_owner: true, ..commit() };
    let conflicts = f.conflicts(Commit { delete: vec![group("g")], ..other.clone() }).await;
    assert_eq!(conflicts.owned, [first, second]);
    let update = vec![touch(second), move_to(any(&[("a", "1")]), "h")];
    let conflicts = f.conflicts(Commit { update, delete: vec![revision(first)], ..other.clone() }).await;
    assert_eq!(conflicts.owned, [first, second]);
    f.commit(Commit { require: vec![first], delete: vec![revision(3)], ..other.clone() }).await;
    let mine = Commit { check_owner: true, update: vec![touch(first)], ..commit() };
    let renewed = f.commit(mine).await.updated[0].revision;
    f.advance(59);
    assert_eq!(f.conflicts(Commit { update: vec![touch(renewed)], ..other.clone() }).await.owned, [renewed]);
    f.advance(1);
    f.commit(Commit { update: vec![touch(renewed)], delete: vec![revision(second)], ..other }).await;
}

pub async fn an_owner_is_not_checked_unless_asked(f: BoardFixture) {
    f.create(vec![create("g")]).await;
    let held = f.taken(take("g", MINUTE)).await.unwrap();
    f.commit(Commit { owner: OTHER, delete: vec![revision(held)], ..commit() }).await;
}

pub async fn a_selection_over_the_bound_is_refused(f: BoardFixture) {
    for _ in 0..MAX_BOARD_CHANGES / 2_000 {
        f.create(vec![create_labelled(&[("a", "1")]); 2_000]).await;
    }
    let new = f.create(vec![create("one more")]).await[0];
    for selection in [group("g"), any(&[("a", "1")])] {
        let selections = Commit { delete: vec![selection.clone()], create: vec![create("h")], ..commit() };
        assert_invalid(&f.try_commit(selections).await);
        let update = vec![move_to(selection, "h"), move_to(revision(new), "h")];
        assert_invalid(&f.try_commit(Commit { update, ..commit() }).await);
    }
    assert_eq!(f.groups().await, [("g".to_owned(), MAX_BOARD_CHANGES as u64), ("one more".to_owned(), 1)]);
    assert_eq!(f.counter().await, new, "what is refused changes nothing");
    assert_eq!(f.commit(Commit { delete: vec![group("g")], ..commit() }).await.deleted, MAX_BOARD_CHANGES);
}
