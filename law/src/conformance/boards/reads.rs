//! Looking at boards: by revision, by group, and at groups.

use jobbers_common::{
    engine::boards::{BoardCount, Commit, Create, GroupCount, ListTasks, TaskPage, task::When},
    limits::{MAX_BATCH, MAX_BOARD_GROUP_BYTES, MAX_BOARD_PAGE_BYTES},
    name::BoardName,
};

use crate::conformance::boards::{
    BoardFixture, MINUTE, SECOND, assert_invalid, board, commit, create, create_at, group, revision, take, text, touch,
};

pub async fn tasks_are_read_in_the_order_asked(f: BoardFixture) {
    f.create(vec![create("g"), create("h"), create("g")]).await;
    let found = f.boards.get(&board(), &[3, 9, 1, 0, 3, u64::MAX]).await.unwrap();
    let revisions: Vec<Option<u64>> = found.iter().map(|task| task.as_ref().map(|task| task.revision)).collect();
    assert_eq!(revisions, [Some(3), None, Some(1), None, Some(3), None]);
    assert_eq!(f.boards.get(&board(), &[]).await.unwrap(), []);
}

pub async fn a_group_is_listed_page_by_page(f: BoardFixture) {
    let times = [3, 1, 3, 2, 3, 2];
    f.create(times.iter().map(|at| create_at("g", *at)).collect()).await;
    f.create(vec![create_at("h", 0)]).await;
    for limit in 1..=7 {
        let listed: Vec<_> = f.list("g", limit).await.iter().map(|task| (task.at.0, task.revision)).collect();
        assert_eq!(listed, [(1, 2), (2, 4), (2, 6), (3, 1), (3, 3), (3, 5)], "by {limit}");
    }
    let page = f.page("g", None, 2).await;
    assert_eq!((page.tasks.len(), page.total), (2, 6));
    assert_eq!(page.next.map(|(at, revision)| (at.0, revision)), Some((2, 4)));
    assert_eq!(f.page("none", None, 10).await, TaskPage::default());
}

pub async fn a_list_of_what_is_visible_ends_at_the_present(f: BoardFixture) {
    f.create(vec![create("g"), Create { at: When::In(SECOND), ..create("g") }, create("g")]).await;
    let visible = || ListTasks { board: board(), group: "g".to_owned(), visible_only: true, after: None, limit: 10 };
    let revisions = |page: TaskPage| page.tasks.iter().map(|task| task.revision).collect::<Vec<_>>();
    let page = f.boards.list(visible()).await.unwrap();
    assert_eq!((page.total, page.next, revisions(page)), (3, None, vec![1, 3]));
    f.taken(take("g", MINUTE)).await.unwrap();
    assert_eq!(revisions(f.boards.list(visible()).await.unwrap()), [3]);
    f.advance(1);
    assert_eq!(revisions(f.boards.list(visible()).await.unwrap()), [3, 2]);
}

pub async fn a_walk_survives_changes(f: BoardFixture) {
    f.create((1..=6).map(|at| create_at("g", at)).collect()).await;
    let first = f.page("g", None, 2).await;
    f.commit(Commit { delete: vec![revision(2), revision(4)], update: vec![touch(1)], ..commit() }).await;
    f.create(vec![create_at("g", 0)]).await;
    let rest: Vec<u64> = f.page("g", first.next, 10).await.tasks.iter().map(|task| task.revision).collect();
    assert_eq!(rest, [3, 5, 6]);
}

pub async fn groups_are_listed_page_by_page(f: BoardFixture) {
    let names = ["b", "a", "", "\u{e9}", "Z", "b/c", "b", "a\0"];
    f.create(names.iter().map(|name| create(name)).collect()).await;
    let count = |group: &str, tasks| GroupCount { group: group.to_owned(), tasks };
    let expected = [
        count("", 1),
        count("Z", 1),
        count("a", 1),
        count("a\0", 1),
        count("b", 2),
        count("b/c", 1),
        count("\u{e9}", 1),
    ];
    assert_eq!(f.boards.groups(&board(), None, 1_000).await.unwrap(), expected);
    for limit in [1, 2, 3] {
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = f.boards.groups(&board(), after.as_deref(), limit).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.group.clone());
            all.extend(page);
        }
        assert_eq!(all, expected, "by {limit}");
    }
    let page = f.boards.groups(&board(), Some("aa"), 1).await.unwrap();
    assert_eq!(page, [count("b", 2)], "after a name that does not exist");
}

pub async fn a_group_exists_while_it_holds_a_task(f: BoardFixture) {
    assert_eq!(f.groups().await, []);
    f.create(vec![create("g"), Create { at: When::In(SECOND), ..create("h") }]).await;
    f.taken(take("g", MINUTE)).await.unwrap();
    assert_eq!(f.groups().await, [("g".to_owned(), 1), ("h".to_owned(), 1)]);
    f.commit(Commit { delete: vec![group("g")], ..commit() }).await;
    assert_eq!(f.groups().await, [("h".to_owned(), 1)]);
    f.commit(Commit { delete: vec![group("h")], create: vec![create("g")], ..commit() }).await;
    assert_eq!(f.groups().await, [("g".to_owned(), 1)]);
}

pub async fn an_empty_name_is_a_group(f: BoardFixture) {
    f.create(vec![create(""), create("g"), create("")]).await;
    assert_eq!(f.revisions("").await, [1, 3]);
    assert_eq!(f.taken(take("", MINUTE)).await, Some(4));
    assert_eq!(f.commit(Commit { delete: vec![group("")], ..commit() }).await.deleted, 2);
    assert_eq!(f.groups().await, [("g".to_owned(), 1)]);
}

pub async fn boards_are_listed_page_by_page(f: BoardFixture) {
    assert_eq!(f.boards.boards(None, 1_000).await.unwrap(), []);
    let named = |name: &str| BoardName::new(name).unwrap();
    let commit_to = |name: &str, create: Vec<Create>| Commit { create, ..Commit::new(named(name), 0) };
    for name in ["c", "B", "a/1", "a", "empty"] {
        f.commit(commit_to(name, vec![create("g"), create("h"), create("g")])).await;
    }
    f.commit(Commit { delete: vec![group("g")], create: vec![create("h")], ..commit_to("a", Vec::new()) }).await;
    f.commit(Commit { delete: vec![group("g"), group("h")], ..commit_to("empty", Vec::new()) }).await;
    f.commit(Commit { once: Some("m".to_owned()), ..commit_to("marked", Vec::new()) }).await;
    // A look, an empty commit and a refused one make no board.
    f.take(take("g", MINUTE)).await;
    f.commit(commit()).await;
    f.conflicts(Commit { require: vec![1], create: vec![create("g")], ..commit() }).await;
    let count = |name: &str, revision, tasks| BoardCount { board: named(name), revision, tasks };
    let expected = [
        count("B", 3, 3),
        count("a", 4, 2),
        count("a/1", 3, 3),
        count("c", 3, 3),
        count("empty", 3, 0),
        count("marked", 0, 0),
    ];
    assert_eq!(f.boards.boards(None, 1_000).await.unwrap(), expected);
    for limit in 1..=6 {
        let (mut all, mut after) = (Vec::new(), None::<BoardName>);
        loop {
            let page = f.boards.boards(after.as_ref(), limit).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.board.clone());
            all.extend(page);
        }
        assert_eq!(all, expected, "by {limit}");
    }
    let after = f.boards.boards(Some(&named("b")), 1).await.unwrap();
    assert_eq!(after, [count("c", 3, 3)], "after a name that does not exist");
}

pub async fn a_page_of_large_tasks_ends_early(f: BoardFixture) {
    const EACH: usize = 3 * 1024 * 1024;
    let large = || Create { content: text(&"x".repeat(EACH)), ..create("g") };
    for _ in 0..7 {
        f.create(vec![large()]).await;
    }
    let (mut revisions, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = f.page("g", after, 1_000).await;
        let bytes: usize = page.tasks.iter().map(|task| task.content.bytes()).sum();
        assert!((1..MAX_BOARD_PAGE_BYTES + EACH).contains(&bytes), "{bytes}");
        assert_eq!(page.total, 7);
        revisions.extend(page.tasks.iter().map(|task| task.revision));
        (after, pages) = (page.next, pages + 1);
        if after.is_none() {
            break;
        }
    }
    assert_eq!((revisions, pages), ((1..=7).collect::<Vec<u64>>(), 3));
}

pub async fn looks_past_their_bounds_are_refused(f: BoardFixture) {
    let long = "g".repeat(MAX_BOARD_GROUP_BYTES + 1);
    assert_invalid(&f.boards.get(&board(), &vec![1; MAX_BATCH + 1]).await);
    assert_eq!(f.boards.get(&board(), &vec![1; MAX_BATCH]).await.unwrap().len(), MAX_BATCH);
    let list = |group: &str, limit| ListTasks {
        board: board(),
        group: group.to_owned(),
        visible_only: false,
        after: None,
        limit,
    };
    for limit in [0, MAX_BATCH + 1] {
        assert_invalid(&f.boards.list(list("g", limit)).await);
        assert_invalid(&f.boards.groups(&board(), None, limit).await);
        assert_invalid(&f.boards.boards(None, limit).await);
    }
    assert_invalid(&f.boards.list(list(&long, 1)).await);
    assert_invalid(&f.boards.groups(&board(), Some(&long), 1).await);
    assert_eq!(f.boards.list(list(&long[1..], 1)).await, Ok(TaskPage::default()));
}
