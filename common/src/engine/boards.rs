//! The verbs of boards ([`crate::engine::boards::task`]): one atomic commit, one take, and looks.
//!
//! A board exists once something was committed to it; before that it reads as empty. A group exists while it holds a task.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;

use crate::{
    engine::boards::task::{BoardTask, BoardTime, Content, When},
    error::Result,
    limits::BOARD_RANDOM_CHOICE,
    name::BoardName,
};

pub mod task;
pub mod validate;

/// A store of boards. Both engines have one, under the law of `conformance::boards`.
#[async_trait]
pub trait Boards: Send + Sync + std::fmt::Debug {
    /// Changes a board in one step, or reports conflicts and changes nothing.
    ///
    /// A taken mark ([`Commit::once`]) is answered first. Every check runs before any change, and all conflicts are
    /// collected; what is invalid is answered before conflicts. Then deletions, updates and creations are applied in
    /// that order, and updates and creations take the board's next revisions, in the order given. A commit that
    /// changes nothing consumes no revision. Selections are resolved inside the step. Wakes callers that wait for a group
    /// that received a task or whose task moved to an earlier time.
    ///
    /// # Errors
    /// [`crate::engine::Error::Invalid`] past a bound, also when selections find more than
    /// [`crate::limits::MAX_BOARD_CHANGES`] tasks; nothing has changed then. After a transient error the commit may have
    /// been carried out; revisions say which.
    async fn commit(&self, commit: Commit) -> Result<CommitAnswer>;

    /// Takes, or only reads, one visible task of a group.
    ///
    /// A task is visible when its time is at or before the present: [`Take::now`], or the store's clock. With a lease, the
    /// task gets a new revision, the caller as its owner, and the present plus the lease as its time. Without one, nothing
    /// changes. Missing requirements win over an empty group. A lease of 0 gives a new revision, and the task stays visible.
    ///
    /// # Errors
    /// [`crate::engine::Error::Invalid`] past a bound. After a transient error the task may have been taken; it becomes
    /// visible again when the lease is over.
    async fn take(&self, take: Take) -> Result<TakeAnswer>;

    /// Returns when a task may have become visible in the group since the board was at `seen`
    /// ([`TakeAnswer::revision`]), by a commit or an earlier time, or after `timeout`. May return early for no reason. Does
    /// not wait for the passage of time: the caller's `timeout` is at most the time to [`TakeAnswer::next_at`].
    /// Dropping the future is safe.
    async fn wait(&self, board: &BoardName, group: &str, seen: u64, timeout: Duration);

    /// Tasks by revision, in the order asked, `None` for those that do not exist.
    ///
    /// # Errors
    /// [`crate::engine::Error::Invalid`] for more than [`crate::limits::MAX_BATCH`].
    async fn get(&self, board: &BoardName, revisions: &[u64]) -> Result<Vec<Option<BoardTask>>>;

    /// A page of a group's tasks in the order of time and revision. A task that stays unchanged during the walk is listed
    /// exactly once. A page ends early, but not without a task, once its contents are
    /// [`crate::limits::MAX_BOARD_PAGE_BYTES`] together.
    ///
    /// # Errors
    /// [`crate::engine::Error::Invalid`] past a bound.
    async fn list(&self, list: ListTasks) -> Result<TaskPage>;

    /// A page of the groups that hold tasks, by name, with the number of their tasks.
    ///
    /// # Errors
    /// [`crate::engine::Error::Invalid`] past a bound.
    async fn groups(&self, board: &BoardName, after: Option<&str>, limit: usize) -> Result<Vec<GroupCount>>;

    /// A page of the boards that exist, by name, with their counters and the number of their tasks. Costs the same whatever
    /// they hold.
    ///
    /// # Errors
    /// [`crate::engine::Error::Invalid`] past a bound.
    async fn boards(&self, after: Option<&BoardName>, limit: usize) -> Result<Vec<BoardCount>>;
}

/// One atomic change of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Which board. Made on demand.
    pub board: BoardName,
    /// Who commits: the owner of what it creates and updates.
    pub owner: i64,
    /// Whether a task may be updated or deleted only by its owner while its time is in the future, by the store's clock.
    pub check_owner: bool,
    /// Revisions that must exist.
    pub require: Vec<u64>,
    /// What is deleted. Duplicates count once.
    pub delete: Vec<Selection>,
    /// What is updated. A task that is also deleted, or that two updates select which change it differently, is
    /// [`Error::Invalid`](crate::engine::Error::Invalid); updates that change the same ([`Update::changes_the_same`]) change it once.
    pub update: Vec<Update>,
    /// What is created.
    pub create: Vec<Create>,
    /// Commit only if no commit to this board was ever applied under this mark. The mark is kept for good. For what must
    /// happen once per store.
    pub once: Option<String>,
}

impl Commit {
    /// A commit that changes nothing yet.
    #[must_use]
    pub const fn new(board: BoardName, owner: i64) -> Self {
        Self {
            board,
            owner,
            check_owner: false,
            require: Vec::new(),
            delete: Vec::new(),
            update: Vec::new(),
            create: Vec::new(),
            once: None,
        }
    }
}

/// Which tasks are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The task at this revision; one that does not exist is a conflict.
    Revision(u64),
    /// All tasks of a group, visible or not. None is no conflict.
    Group(String),
    /// All tasks that have one of these labels with its value. None is no conflict.
    AnyLabel(BTreeMap<String, String>),
}

/// A change of stored tasks. What is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Which tasks.
    pub which: Selection,
    /// Their new group.
    pub group: Option<String>,
    /// Their new time.
    pub at: Option<When>,
    /// Their new content.
    pub content: Option<Content>,
}

impl Update {
    /// Whether it changes what another update changes, whichever tasks the two select.
    #[must_use]
    pub fn changes_the_same(&self, other: &Self) -> bool {
        (&self.group, self.at, &self.content) == (&other.group, other.at, &other.content)
    }
}

/// A task to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Create {
    /// Its group.
    pub group: String,
    /// Its time.
    pub at: When,
    /// What it says.
    pub content: Content,
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitAnswer {
    /// It was applied.
    Done(Committed),
    /// Nothing changed.
    Conflict(Conflicts),
    /// Nothing changed: its mark ([`Commit::once`]) is taken.
    AlreadyDone,
}

/// What an applied commit did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The created tasks, in the order given.
    pub created: Vec<Placed>,
    /// The updated tasks: update by update, those of one selection in the order of their old revisions.
    pub updated: Vec<Placed>,
    /// How many tasks were deleted.
    pub deleted: usize,
}

/// Where a task is after a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its revision.
    pub revision: u64,
    /// Its group.
    pub group: String,
    /// Its time.
    pub at: BoardTime,
}

/// Why a commit or a take changed nothing. Each list is in the order of the request, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conflicts {
    /// Required revisions that do not exist.
    pub required: Vec<u64>,
    /// Revisions to be deleted that do not exist.
    pub deleted: Vec<u64>,
    /// Revisions to be updated that do not exist.
    pub updated: Vec<u64>,
    /// Revisions to be deleted or updated that another owner holds: those to be deleted first, and those of one selection
    /// in their order.
    pub owned: Vec<u64>,
}

impl Conflicts {
    /// Whether nothing conflicts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.deleted.is_empty() && self.updated.is_empty() && self.owned.is_empty()
    }
}

/// Which task of several visible ones is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOrder {
    /// The one with the earliest time, then the lowest revision.
    FirstInFirstOut,
    /// One of the earliest [`crate::limits::BOARD_RANDOM_CHOICE`] visible tasks, earlier ones more often: so one task
    /// that kills its workers does not stop a group.
    Random,
}

impl TakeOrder {
    /// How many of the earliest visible tasks it chooses from.
    #[must_use]
    pub const fn choice(self) -> usize {
        match self {
            Self::FirstInFirstOut => 1,
            Self::Random => BOARD_RANDOM_CHOICE,
        }
    }

    /// The place of the task that is taken among the earliest visible ones, of which there are `visible`, at least one:
    /// the lower of two places that `random` says.
    #[must_use]
    pub fn place(self, random: u64, visible: usize) -> usize {
        let visible = visible.min(self.choice()).max(1);
        let [high, low] = [random >> 32, random & 0xffff_ffff].map(|half| usize::try_from(half).unwrap_or(0) % visible);
        high.min(low)
    }
}

/// A request for one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Take {
    /// Which board.
    pub board: BoardName,
    /// Which group.
    pub group: String,
    /// Which task of several.
    pub order: TakeOrder,
    /// Who takes it.
    pub owner: i64,
    /// The present as the caller sees it; `None` for the store's clock.
    pub now: Option<BoardTime>,
    /// For how many nanoseconds the task is leased; `None` only reads it.
    pub lease: Option<u64>,
    /// Revisions that must exist.
    pub require: Vec<u64>,
}

/// What a take found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeAnswer {
    /// The task, as it is now.
    pub task: Option<BoardTask>,
    /// Required revisions that do not exist. `task` is `None` then.
    pub missing: Vec<u64>,
    /// The earliest time in the group when no task is visible; `None` when the group is empty or something is missing.
    pub next_at: Option<BoardTime>,
    /// The present by which visibility was judged.
    pub now: BoardTime,
    /// The board's counter: what [`Boards::wait`] compares.
    pub revision: u64,
}

/// A request for a page of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTasks {
    /// Which board.
    pub board: BoardName,
    /// Which group.
    pub group: String,
    /// Whether only tasks are listed that are visible by the store's clock.
    pub visible_only: bool,
    /// After the task with this time and revision.
    pub after: Option<(BoardTime, u64)>,
    /// At most so many, from 1 to [`crate::limits::MAX_BATCH`].
    pub limit: usize,
}

/// A page of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// Tasks in the order of time and revision.
    pub tasks: Vec<BoardTask>,
    /// What to pass as [`ListTasks::after`] for the next page; `None` on the last.
    pub next: Option<(BoardTime, u64)>,
    /// How many tasks the group holds, visible or not.
    pub total: u64,
}

/// A group and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCount {
    /// Its name.
    pub group: String,
    /// How many tasks it holds.
    pub tasks: u64,
}

/// A board and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardCount {
    /// Its name.
    pub board: BoardName,
    /// Its counter: the latest revision given.
    pub revision: u64,
    /// How many tasks it holds.
    pub tasks: u64,
}
