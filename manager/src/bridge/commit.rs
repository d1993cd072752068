//! Changes of several tasks of a board, each by its revision, in as few commits as possible.

use jobbers_boards::BRIDGE_OWNER;
use jobbers_common::{
    engine::{
        Error, Result,
        boards::{
            Boards, Commit, CommitAnswer, Committed, Create, Placed, Selection, Update,
            task::{Content, When},
        },
    },
    name::{BoardName, TaskId},
};

/// Most tasks of one commit.
const MOST_TASKS: usize = 500;
/// Bytes of contents from which on a commit takes no further task.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What happens to one task of a board.
#[derive(Debug, Clone)]
pub(super) struct TaskChange {
    /// The native task.
    pub(super) id: TaskId,
    /// The board's task.
    pub(super) revision: u64,
    /// The change.
    pub(super) what: What,
}

/// The kinds of changes.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// It gets this time, and this content if given.
    Put(When, Option<Content>),
    /// It is deleted, and this takes its place.
    Replace(Option<Create>),
}

impl TaskChange {
    fn bytes(&self) -> usize {
        match &self.what {
            What::Put(_, content) => content.as_ref().map_or(0, Content::bytes),
            What::Replace(create) => create.as_ref().map_or(0, |create| create.content.bytes()),
        }
    }
}

/// How a list of changes ended. What is in neither list was not changed, because of `failure`.
#[derive(Debug, Default)]
pub(super) struct CarriedOut {
    /// The native tasks whose board's task was changed, with its new place unless it was deleted.
    pub(super) done: Vec<(TaskId, Option<Placed>)>,
    /// Those whose board's task no longer has the revision.
    pub(super) lost: Vec<TaskId>,
    /// What the store answered to the first commit that failed. It may have been carried out.
    pub(super) failure: Option<Error>,
}

/// Changes what still has the revision, and reports what has not.
pub(super) async fn carry_out(boards: &dyn Boards, board: &BoardName, changes: Vec<TaskChange>) -> CarriedOut {
    let mut carried = CarriedOut::default();
    let mut changes = changes.into_iter().peekable();
    while changes.peek().is_some() {
        let (mut piece, mut bytes) = (Vec::new(), 0);
        while let Some(next) =
            changes.next_if(|next| piece.is_empty() || piece.len() < MOST_TASKS && bytes + next.bytes() <= MOST_BYTES)
        {
            bytes += next.bytes();
            piece.push(next);
        }
        if let Err(error) = carry_out_piece(boards, board, piece, &mut carried).await {
            carried.failure = Some(error);
            break;
        }
    }
    carried
}

/// Each conflict leaves out the tasks that it names, so this ends.
async fn carry_out_piece(
    boards: &dyn Boards,
    board: &BoardName,
    mut piece: Vec<TaskChange>,
    carried: &mut CarriedOut,
) -> Result<()> {
    while !piece.is_empty() {
        match boards.commit(commit(board, &piece)).await? {
            CommitAnswer::Done(committed) => {
                carried.done.extend(pair(piece, committed));
                return Ok(());
            }
            CommitAnswer::Conflict(conflicts) => {
                let missing = [conflicts.deleted, conflicts.updated].concat();
                let (lost, left): (Vec<_>, Vec<_>) =
                    piece.into_iter().partition(|change| missing.is_empty() || missing.contains(&change.revision));
                carried.lost.extend(lost.into_iter().map(|change| change.id));
                piece = left;
            }
            CommitAnswer::AlreadyDone => {
                return Err(Error::Defect("a commit without a mark was answered by one".into()));
            }
        }
    }
    Ok(())
}

fn commit(board: &BoardName, piece: &[TaskChange]) -> Commit {
    let mut commit = Commit::new(board.clone(), BRIDGE_OWNER);
    for TaskChange { revision, what, .. } in piece {
        let which = Selection::Revision(*revision);
        match what {
            What::Put(at, content) => {
                commit.update.push(Update { which, group: None, at: Some(*at), content: content.clone() });
            }
            What::Replace(create) => {
                commit.delete.push(which);
                commit.create.extend(create.clone());
            }
        }
    }
    commit
}

fn pair(piece: Vec<TaskChange>, committed: Committed) -> impl Iterator<Item = (TaskId, Option<Placed>)> {
    let mut updated = committed.updated.into_iter();
    piece.into_iter().map(move |change| match change.what {
        What::Put(..) => (change.id, updated.next()),
        What::Replace(_) => (change.id, None),
    })
}
