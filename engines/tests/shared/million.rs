//! A million commits of a board from many callers at once, and what is there after a restart.

use std::{collections::BTreeMap, sync::Arc};

use jobbers_common::engine::boards::{
    Boards, Commit, CommitAnswer, Committed, Create, ListTasks, Selection, task::Content,
};
use jobbers_law::conformance::boards::{board, commit, create};

const COMMITS: u64 = 1_000_000;
const CALLERS: u64 = 100;
/// Each caller leaves a task in so many.
const LEAVE: u64 = 100;

async fn done(boards: &dyn Boards, commit: Commit) -> Committed {
    match boards.commit(commit).await.unwrap() {
        CommitAnswer::Done(committed) => committed,
        refused => panic!("{refused:?}"),
    }
}

/// A task that says something.
fn saying(data: String) -> Create {
    Create { content: Content { data: data.into(), ..Content::default() }, ..create("g") }
}

/// Each commit creates a task, and most delete the one that their caller created before. Returns what must be left: what
/// each revision says.
pub(crate) async fn commit_a_million(boards: Arc<dyn Boards>) -> BTreeMap<u64, String> {
    let callers: Vec<_> = (0..CALLERS).map(|caller| tokio::spawn(work(Arc::clone(&boards), caller))).collect();
    let (mut left, mut highest, mut sum) = (BTreeMap::new(), 0, 0);
    for caller in callers {
        let (revisions, kept) = caller.await.unwrap();
        highest = highest.max(*revisions.last().unwrap());
        sum += revisions.iter().map(|revision| u128::from(*revision)).sum::<u128>();
        left.extend(kept);
    }
    // A million different numbers, the highest of which is a million: dense, and none given out twice.
    let all = u128::from(COMMITS);
    assert_eq!((highest, sum), (COMMITS, all * (all + 1) / 2));
    left
}

/// The revisions that a caller was given, ascending, and the tasks that it left.
async fn work(boards: Arc<dyn Boards>, caller: u64) -> (Vec<u64>, Vec<(u64, String)>) {
    let (mut revisions, mut kept, mut before) = (Vec::new(), Vec::new(), None);
    for n in 0..COMMITS / CALLERS {
        let data = format!("{caller}-{n}");
        let delete = before.take().map(Selection::Revision).into_iter().collect();
        let committed = done(&*boards, Commit { delete, create: vec![saying(data.clone())], ..commit() }).await;
        let revision = committed.created[0].revision;
        revisions.push(revision);
        if n % LEAVE == LEAVE - 1 {
            kept.push((revision, data));
        } else {
            before = Some(revision);
        }
    }
    (revisions, kept)
}

/// Of the store that was opened again: it holds what must be left and nothing else, and no revision comes again.
pub(crate) async fn assert_left(boards: &dyn Boards, left: &BTreeMap<u64, String>) {
    let (mut found, mut after) = (BTreeMap::new(), None);
    loop {
        let list = ListTasks { board: board(), group: "g".to_owned(), visible_only: false, after, limit: 1_000 };
        let page = boards.list(list).await.unwrap();
        found.extend(
            page.tasks.into_iter().map(|task| (task.revision, String::from_utf8(task.content.data.to_vec()).unwrap())),
        );
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert!(found == *left, "{} tasks are there, and {} were left", found.len(), left.len());
    let committed = done(boards, Commit { create: vec![create("g")], ..commit() }).await;
    assert!(committed.created[0].revision > COMMITS, "{committed:?}");
}
