//! Boards out of a store and back into it: every task under its revision, and no revision given twice.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        Error,
        backup::{Backup, BoardPiece, Restored},
        boards::{
            Boards, Commit, CommitAnswer, Committed, Create, ListTasks, Selection, Take, TakeOrder,
            task::{BoardTask, BoardTime, Content, When},
        },
    },
    limits::{MAX_BATCH, MAX_RESTORED_REVISION},
    name::BoardName,
};

use super::{Fixture, audit::assert_sound};

fn boards(f: &Fixture) -> Arc<dyn Boards> {
    Arc::clone(&f.engine).boards()
}

fn backup(f: &Fixture) -> Arc<dyn Backup> {
    Arc::clone(&f.engine).backup()
}

fn board(text: &str) -> BoardName {
    BoardName::new(text).unwrap()
}

fn content(text: &str, labels: &[(&str, &str)]) -> Content {
    let labels: BTreeMap<_, _> = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Content { data: text.to_owned().into(), data_type: "text/plain".to_owned(), labels, error: "none".to_owned() }
}

fn create(group: &str, at: i64, of: Content) -> Create {
    Create { group: group.to_owned(), at: When::At(BoardTime(at)), content: of }
}

async fn commit(f: &Fixture, commit: Commit) -> Committed {
    match boards(f).commit(commit).await.unwrap() {
        CommitAnswer::Done(committed) => committed,
        other => panic!("{other:?}"),
    }
}

/// A board with tasks of two groups, some changed and some gone. Its counter is 6.
async fn fill(f: &Fixture, name: &str) {
    let tasks = vec![
        create("a", 5, content("1", &[("x", "1")])),
        create("a", -7, content("2", &[])),
        create("b", i64::MAX, content("3", &[("x", "1"), ("y", "")])),
        create("", 0, Content::default()),
    ];
    commit(f, Commit { create: tasks, once: Some("begun".to_owned()), ..Commit::new(board(name), 7) }).await;
    let last = Commit { create: vec![create("a", 1, content("4", &[]))], ..Commit::new(board(name), -1) };
    commit(f, last).await;
    let gone = Commit {
        delete: vec![Selection::Revision(2)],
        create: vec![create("c", 1, content("5", &[]))],
        ..Commit::new(board(name), 7)
    };
    commit(f, gone).await;
    commit(f, Commit { delete: vec![Selection::Revision(6)], ..Commit::new(board(name), 7) }).await;
}

async fn all_tasks(f: &Fixture, name: &str) -> Vec<BoardTask> {
    let mut tasks = Vec::new();
    for group in boards(f).groups(&board(name), None, 1_000).await.unwrap() {
        let list = ListTasks { board: board(name), group: group.group, visible_only: false, after: None, limit: 1_000 };
        tasks.extend(boards(f).list(list).await.unwrap().tasks);
    }
    tasks
}

/// All of a board, to be stored under another name.
async fn piece_of(f: &Fixture, name: &str, into: &str) -> BoardPiece {
    let counted = boards(f).boards(None, 1_000).await.unwrap();
    let revision = counted.into_iter().find(|it| it.board == board(name)).unwrap().revision;
    let marks = backup(f).board_marks(&board(name)).await.unwrap();
    BoardPiece { board: board(into), revision, marks, tasks: all_tasks(f, name).await }
}

pub async fn a_restored_board_is_what_it_was(f: Fixture) {
    fill(&f, "old").await;
    let piece = piece_of(&f, "old", "new").await;
    assert_eq!((piece.revision, piece.tasks.len(), &piece.marks[..]), (6, 4, &["begun".to_owned()][..]));
    assert_eq!(backup(&f).restore_board(piece.clone()).await.unwrap(), vec![Restored::Done; 4]);
    assert_eq!(piece_of(&f, "new", "new").await, piece);
    assert_sound(&f, 3, false).await;
    let once = Commit { once: Some("begun".to_owned()), ..Commit::new(board("new"), 7) };
    assert_eq!(boards(&f).commit(once).await.unwrap(), CommitAnswer::AlreadyDone);
    let labels = BTreeMap::from([("x".to_owned(), "1".to_owned())]);
    let found = Commit { delete: vec![Selection::AnyLabel(labels)], ..Commit::new(board("new"), 7) };
    assert_eq!(commit(&f, found).await.deleted, 2);
    assert_sound(&f, 3, false).await;
}

pub async fn revisions_go_on_behind_those_of_a_restored_board(f: Fixture) {
    fill(&f, "old").await;
    let piece = piece_of(&f, "old", "new").await;
    // Without the counter, its tasks raise it; with it, also what was deleted is not given out again.
    for (revision, next) in [(0, 6), (50, 51)] {
        backup(&f).restore_board(BoardPiece { revision, ..piece.clone() }).await.unwrap();
        let new = Commit { create: vec![create("d", 0, content("6", &[]))], ..Commit::new(board("new"), 7) };
        assert_eq!(commit(&f, new).await.created[0].revision, next);
    }
    assert_sound(&f, 3, false).await;
}

pub async fn restoring_a_board_again_changes_nothing(f: Fixture) {
    fill(&f, "old").await;
    let piece = piece_of(&f, "old", "new").await;
    let part = BoardPiece { tasks: piece.tasks[..2].to_vec(), marks: Vec::new(), revision: 0, ..piece.clone() };
    backup(&f).restore_board(part).await.unwrap();
    let answers = [vec![Restored::Already; 2], vec![Restored::Done; 2]].concat();
    assert_eq!(backup(&f).restore_board(piece.clone()).await.unwrap(), answers);
    assert_eq!(backup(&f).restore_board(piece.clone()).await.unwrap(), vec![Restored::Already; 4]);
    let mut other = piece.clone();
    other.tasks[0].owner += 1;
    assert_eq!(backup(&f).restore_board(other).await.unwrap()[0], Restored::Conflict);
    assert_eq!(piece_of(&f, "new", "new").await, piece);
    assert_sound(&f, 3, false).await;
}

pub async fn a_restored_task_wakes_those_who_wait_for_its_group(f: Fixture) {
    fill(&f, "old").await;
    let piece = piece_of(&f, "old", "new").await;
    let take = Take {
        board: board("new"),
        group: "a".to_owned(),
        order: TakeOrder::FirstInFirstOut,
        owner: 7,
        now: None,
        lease: None,
        require: Vec::new(),
    };
    let seen = boards(&f).take(take.clone()).await.unwrap();
    assert_eq!((seen.task, seen.revision), (None, 0));
    let waiting = boards(&f);
    let (name, minute) = (board("new"), Duration::from_secs(60));
    let restore = async {
        backup(&f).restore_board(piece).await.unwrap();
    };
    let both = async { tokio::join!(waiting.wait(&name, "a", 0, minute), restore) };
    tokio::time::timeout(Duration::from_secs(30), both).await.expect("it is woken");
    assert_eq!(boards(&f).take(take).await.unwrap().task.unwrap().revision, 5);
}

pub async fn what_no_board_holds_is_not_restored(f: Fixture) {
    fill(&f, "old").await;
    let piece = piece_of(&f, "old", "new").await;
    let with = |change: &dyn Fn(&mut BoardPiece)| {
        let mut piece = piece.clone();
        change(&mut piece);
        piece
    };
    let wrong = [
        with(&|it| it.revision = MAX_RESTORED_REVISION + 1),
        with(&|it| it.tasks[0].revision = 0),
        with(&|it| it.tasks[0].revision = it.tasks[1].revision),
        with(&|it| it.tasks[0].revision = u64::MAX),
        with(&|it| it.tasks[0].group = "g".repeat(2_000)),
        with(&|it| it.marks = vec!["m".to_owned(); MAX_BATCH + 1]),
    ];
    for piece in wrong {
        let refused = backup(&f).restore_board(piece.clone()).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{piece:?}: {refused:?}");
    }
    assert_eq!(backup(&f).board_marks(&board("new")).await.unwrap(), [""; 0]);
    assert!(all_tasks(&f, "new").await.is_empty());
}
