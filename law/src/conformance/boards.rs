//! The law of [`Boards`]: what the cases of its groups share.
//!
//! A store of boards runs `board_conformance_suite!(open)`, with an `async fn open() -> BoardFixture`.

pub mod bounds;
pub mod commits;
pub mod reads;
pub mod select;
pub mod sequence;
pub mod takes;
pub mod wait;

use std::{any::Any, collections::BTreeMap, fmt, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{
        Error, Result,
        boards::{
            Boards, Commit, CommitAnswer, Committed, Conflicts, Create, ListTasks, Selection, Take, TakeAnswer,
            TakeOrder, TaskPage, Update,
            task::{BoardTask, BoardTime, Content, When},
        },
    },
    name::BoardName,
    time::{Clock, ManualClock},
};

/// A second in nanoseconds.
pub const SECOND: i64 = 1_000_000_000;
/// A lease of a minute.
pub const MINUTE: Option<u64> = Some(60_000_000_000);
/// Who commits and takes, unless a case says otherwise.
pub const ME: i64 = 7;
/// Another client.
pub const OTHER: i64 = -3;

/// Empty boards that go by a clock the case moves.
pub struct BoardFixture {
    /// The store.
    pub boards: Arc<dyn Boards>,
    /// Its clock.
    pub clock: Arc<ManualClock>,
    /// What must live as long as the store: a server, a folder.
    pub guard: Box<dyn Any + Send>,
}

impl fmt::Debug for BoardFixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.boards.fmt(f)
    }
}

#[must_use]
pub fn board() -> BoardName {
    BoardName::new("b").unwrap()
}

#[must_use]
pub fn commit() -> Commit {
    Commit::new(board(), ME)
}

/// Data without a type, labels and error.
#[must_use]
pub fn text(data: &str) -> Content {
    Content { data: data.to_owned().into(), ..Content::default() }
}

#[must_use]
pub fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
}

#[must_use]
pub fn labelled(pairs: &[(&str, &str)]) -> Content {
    Content { labels: labels(pairs), ..text("labelled") }
}

/// A task of a group, due now.
#[must_use]
pub fn create(group: &str) -> Create {
    Create { group: group.to_owned(), at: When::NOW, content: text("x") }
}

/// A task of a group, at a time.
#[must_use]
pub fn create_at(group: &str, at: i64) -> Create {
    Create { at: When::At(BoardTime(at)), ..create(group) }
}

/// An update of one task that changes nothing but its revision and owner.
#[must_use]
pub fn touch(revision: u64) -> Update {
    Update { which: Selection::Revision(revision), group: None, at: None, content: None }
}

#[must_use]
pub fn revision(revision: u64) -> Selection {
    Selection::Revision(revision)
}

#[must_use]
pub fn group(name: &str) -> Selection {
    Selection::Group(name.to_owned())
}

/// A take of the first task of a group, by the store's clock.
#[must_use]
pub fn take(group: &str, lease: Option<u64>) -> Take {
    Take {
        board: board(),
        group: group.to_owned(),
        order: TakeOrder::FirstInFirstOut,
        owner: ME,
        now: None,
        lease,
        require: Vec::new(),
    }
}

pub fn assert_invalid<T: fmt::Debug>(answer: &Result<T>) {
    assert!(matches!(answer, Err(Error::Invalid(_))), "{answer:?}");
}

impl BoardFixture {
    pub fn now(&self) -> BoardTime {
        self.clock.now().into()
    }

    pub fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub async fn try_commit(&self, commit: Commit) -> Result<CommitAnswer> {
        self.boards.commit(commit).await
    }

    /// A commit that must be applied.
    pub async fn commit(&self, commit: Commit) -> Committed {
        match self.try_commit(commit).await.unwrap() {
            CommitAnswer::Done(committed) => committed,
            refused => panic!("{refused:?}"),
        }
    }

    /// A commit that must conflict, and change nothing.
    pub async fn conflicts(&self, commit: Commit) -> Conflicts {
        let before = self.everything().await;
        let conflicts = match self.try_commit(commit).await.unwrap() {
            CommitAnswer::Conflict(conflicts) => conflicts,
            other => panic!("{other:?}"),
        };
        assert_eq!(self.everything().await, before, "a conflict changes nothing");
        conflicts
    }

    /// Creates tasks in one commit. Returns their revisions.
    pub async fn create(&self, create: Vec<Create>) -> Vec<u64> {
        let committed = self.commit(Commit { create, ..commit() }).await;
        committed.created.iter().map(|placed| placed.revision).collect()
    }

    /// A commit that must be refused, and change nothing.
    pub async fn assert_refused(&self, commit: Commit) {
        let before = self.everything().await;
        assert_invalid(&self.try_commit(commit).await);
        assert_eq!(self.everything().await, before, "what is refused changes nothing");
    }

    pub async fn take(&self, take: Take) -> TakeAnswer {
        self.boards.take(take).await.unwrap()
    }

    /// The revision of the task that a take found.
    pub async fn taken(&self, take: Take) -> Option<u64> {
        self.take(take).await.task.map(|task| task.revision)
    }

    pub async fn get(&self, revision: u64) -> Option<BoardTask> {
        self.boards.get(&board(), &[revision]).await.unwrap().remove(0)
    }

    pub async fn page(&self, group: &str, after: Option<(BoardTime, u64)>, limit: usize) -> TaskPage {
        let list = ListTasks { board: board(), group: group.to_owned(), visible_only: false, after, limit };
        self.boards.list(list).await.unwrap()
    }

    /// All tasks of a group, by pages of `limit`.
    pub async fn list(&self, group: &str, limit: usize) -> Vec<BoardTask> {
        let (mut tasks, mut after) = (Vec::new(), None);
        loop {
            let page = self.page(group, after, limit).await;
            assert!(page.tasks.len() <= limit, "{page:?}");
            tasks.extend(page.tasks);
            after = page.next;
            if after.is_none() {
                return tasks;
            }
        }
    }

    /// The revisions of a group, in its order.
    pub async fn revisions(&self, group: &str) -> Vec<u64> {
        self.list(group, 1_000).await.iter().map(|task| task.revision).collect()
    }

    /// The groups and their counts.
    pub async fn groups(&self) -> Vec<(String, u64)> {
        let counts = self.boards.groups(&board(), None, 1_000).await.unwrap();
        counts.into_iter().map(|count| (count.group, count.tasks)).collect()
    }

    /// The board's counter.
    pub async fn counter(&self) -> u64 {
        self.take(take("no such group", None)).await.revision
    }

    /// The counter and every task.
    pub async fn everything(&self) -> (u64, Vec<BoardTask>) {
        let mut tasks = Vec::new();
        for (group, count) in self.groups().await {
            let listed = self.list(&group, 1_000).await;
            assert_eq!(listed.len() as u64, count, "tasks of group {group:?}");
            tasks.extend(listed);
        }
        (self.counter().await, tasks)
    }
}

/// Every case of the law of boards, each as a test. `open` is an `async fn() -> BoardFixture`.
#[macro_export]
macro_rules! board_conformance_suite {
    ($open:ident) => {
        $crate::conformance_group!($open, boards_commit:
            revisions_are_dense_from_1
            a_failure_consumes_no_revision
            every_board_counts_for_itself
            a_created_task_is_stored_as_it_was_given
            bytes_of_any_kind_come_back_unchanged
            times_are_exact_at_both_ends
            an_update_changes_what_it_names
            an_update_moves_a_task_to_another_group
            an_old_revision_is_gone
            updates_take_their_revisions_before_creations
            a_deletion_counts_a_task_once
            all_conflicts_are_collected
            a_required_task_may_be_deleted
            a_task_is_changed_once
            a_mark_is_used_once
            a_taken_mark_is_answered_first
            an_empty_commit_changes_nothing
            of_many_commits_at_once_that_delete_a_task_one_is_applied
            many_commits_at_once_take_dense_revisions
        );
        $crate::conformance_group!($open, boards_select:
            a_group_is_deleted_with_what_is_not_visible
            a_group_is_updated_in_the_order_of_revisions
            any_of_several_labels_selects
            labels_follow_their_task
            a_selection_that_finds_nothing_is_no_conflict
            a_selection_and_a_conflict_change_nothing
            selections_that_overlap_are_refused
            a_task_that_two_updates_change_alike_is_changed_once
            a_task_selected_twice_for_deletion_counts_once
            another_owner_changes_what_is_held_only_when_its_time_has_come
            an_owner_is_not_checked_unless_asked
            a_selection_over_the_bound_is_refused
        );
        $crate::conformance_group!($open, boards_take:
            tasks_are_taken_by_time_and_then_by_revision
            a_task_of_the_future_is_invisible
            a_task_is_visible_at_its_very_time
            a_take_gives_a_new_revision_an_owner_and_a_time
            a_take_goes_by_the_caller_s_present
            a_peek_changes_nothing
            a_lease_of_nothing_leaves_the_task_visible
            a_lease_past_the_end_of_time_ends_there
            a_take_says_when_the_next_task_is_visible
            missing_requirements_win_over_an_empty_group
            a_take_from_a_board_that_does_not_exist_finds_nothing
            an_old_revision_does_not_find_a_taken_task
            many_takers_at_once_hold_a_task_each
            a_random_take_chooses_among_the_first
        );
        $crate::conformance_group!($open, boards_wait:
            a_created_task_wakes_all_that_wait_for_its_group
            a_task_of_the_future_wakes_too
            a_task_that_moves_to_an_earlier_time_wakes
            a_task_that_moves_to_the_group_wakes
            what_happens_between_take_and_wait_is_not_missed
            a_group_that_was_empty_meanwhile_wakes
            a_wait_ends_by_itself
            a_wait_that_is_dropped_harms_no_other
        );
        $crate::conformance_group!($open, boards_reads:
            tasks_are_read_in_the_order_asked
            a_group_is_listed_page_by_page
            a_list_of_what_is_visible_ends_at_the_present
            a_walk_survives_changes
            groups_are_listed_page_by_page
            a_group_exists_while_it_holds_a_task
            an_empty_name_is_a_group
            boards_are_listed_page_by_page
            a_page_of_large_tasks_ends_early
            looks_past_their_bounds_are_refused
        );
        $crate::conformance_group!($open, boards_bounds:
            a_commit_is_as_large_as_its_bounds
            a_commit_past_its_bounds_is_refused
            a_take_past_its_bounds_is_refused
        );
        $crate::conformance_group!($open, boards_sequence:
            random_operations_on_boards_answer_as_the_model_does
        );
    };
}
