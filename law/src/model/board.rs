//! A board: one map of tasks by revision.

use std::collections::{BTreeMap, BTreeSet};

use jobbers_common::{
    engine::{
        Result,
        backup::{BoardPiece, Restored},
        boards::{
            BoardCount, Commit, CommitAnswer, Committed, Conflicts, GroupCount, ListTasks, Placed, Selection, Take,
            TakeAnswer, TaskPage, Update,
            task::{BoardTask, BoardTime},
            validate::{changed_twice, validate_changes},
        },
    },
    limits::MAX_BOARD_PAGE_BYTES,
    name::BoardName,
};
use xxhash_rust::xxh3::xxh3_64;

/// A board.
#[derive(Debug, Clone, Default)]
pub(super) struct Board {
    revision: u64,
    tasks: BTreeMap<u64, BoardTask>,
    marks: BTreeSet<String>,
    /// The revision at which a group last received a task, or a task of it moved to an earlier time.
    woken_at: BTreeMap<String, u64>,
    /// How many random takes there were.
    draws: u64,
}

/// What a commit changes, when nothing conflicts.
struct Plan<'a> {
    delete: BTreeSet<u64>,
    update: Vec<(&'a Update, u64)>,
}

impl Board {
    pub(super) fn commit(&mut self, commit: &Commit, now: BoardTime) -> Result<CommitAnswer> {
        if commit.once.as_ref().is_some_and(|mark| self.marks.contains(mark)) {
            return Ok(CommitAnswer::AlreadyDone);
        }
        let (plan, conflicts) = self.plan(commit, now)?;
        if !conflicts.is_empty() {
            return Ok(CommitAnswer::Conflict(conflicts));
        }
        self.marks.extend(commit.once.clone());
        Ok(CommitAnswer::Done(self.apply(commit, plan, now)))
    }

    fn plan<'a>(&self, commit: &'a Commit, now: BoardTime) -> Result<(Plan<'a>, Conflicts)> {
        let mut conflicts = Conflicts { required: self.missing(&commit.require), ..Conflicts::default() };
        let mut plan = Plan { delete: BTreeSet::new(), update: Vec::new() };
        for selection in &commit.delete {
            let selected = self.select(selection);
            if selected.is_empty() {
                push_once(&mut conflicts.deleted, selection.revision());
            }
            plan.delete.extend(&selected);
            conflicts.owned.extend(self.held(commit, &selected, now));
        }
        let mut changed = plan.delete.clone();
        for update in &commit.update {
            let selected = self.select(&update.which);
            if selected.is_empty() {
                push_once(&mut conflicts.updated, update.which.revision());
            }
            conflicts.owned.extend(self.held(commit, &selected, now));
            for revision in selected {
                let earlier = plan.update.iter().find(|(_, updated)| *updated == revision);
                match earlier {
                    Some((earlier, _)) if earlier.changes_the_same(update) => {}
                    _ if !changed.insert(revision) => return Err(changed_twice(revision)),
                    _ => plan.update.push((update, revision)),
                }
            }
        }
        validate_changes(changed.len() + commit.create.len())?;
        let mut seen = BTreeSet::new();
        conflicts.owned.retain(|revision| seen.insert(*revision));
        Ok((plan, conflicts))
    }

    /// Those of these revisions that do not exist, each once.
    fn missing(&self, revisions: &[u64]) -> Vec<u64> {
        let mut missing = Vec::new();
        for revision in revisions.iter().filter(|revision| !self.tasks.contains_key(revision)) {
            push_once(&mut missing, Some(*revision));
        }
        missing
    }

    fn select(&self, selection: &Selection) -> Vec<u64> {
        let is_selected = |task: &&BoardTask| match selection {
            Selection::Revision(revision) => task.revision == *revision,
            Selection::Group(group) => task.group == *group,
            Selection::AnyLabel(labels) => {
                labels.iter().any(|(label, value)| task.content.labels.get(label) == Some(value))
            }
        };
        self.tasks.values().filter(is_selected).map(|task| task.revision).collect()
    }

    /// Those of these tasks that another owner holds.
    fn held(&self, commit: &Commit, revisions: &[u64], now: BoardTime) -> Vec<u64> {
        let is_held = |task: &BoardTask| commit.check_owner && task.at > now && task.owner != commit.owner;
        revisions.iter().copied().filter(|revision| self.tasks.get(revision).is_some_and(is_held)).collect()
    }

    fn apply(&mut self, commit: &Commit, plan: Plan<'_>, now: BoardTime) -> Committed {
        let mut committed = Committed { deleted: plan.delete.len(), ..Committed::default() };
        self.tasks.retain(|revision, _| !plan.delete.contains(revision));
        for (update, revision) in plan.update {
            let Some(mut task) = self.tasks.remove(&revision) else { continue };
            let before = (task.group.clone(), task.at);
            task.group = update.group.clone().unwrap_or(task.group);
            task.at = update.at.map_or(task.at, |at| at.resolve(now));
            task.content = update.content.clone().unwrap_or(task.content);
            let wakes = task.group != before.0 || task.at < before.1;
            committed.updated.push(self.put(task, commit.owner, wakes));
        }
        for create in &commit.create {
            let (group, content) = (create.group.clone(), create.content.clone());
            let task = BoardTask { revision: 0, group, at: create.at.resolve(now), owner: 0, content };
            committed.created.push(self.put(task, commit.owner, true));
        }
        committed
    }

    /// Stores a task at the next revision.
    fn put(&mut self, task: BoardTask, owner: i64, wakes: bool) -> Placed {
        self.revision += 1;
        let revision = self.revision;
        if wakes {
            self.woken_at.insert(task.group.clone(), revision);
        }
        let placed = Placed { revision, group: task.group.clone(), at: task.at };
        self.tasks.insert(revision, BoardTask { revision, owner, ..task });
        placed
    }

    pub(super) fn take(&mut self, take: &Take, clock: BoardTime) -> TakeAnswer {
        let now = take.now.unwrap_or(clock);
        let missing = self.missing(&take.require);
        let mut answer = TakeAnswer { task: None, missing, next_at: None, now, revision: self.revision };
        if !answer.missing.is_empty() {
            return answer;
        }
        let ordered = self.ordered(&take.group);
        let visible = ordered.iter().take_while(|task| task.at <= now).count();
        if visible == 0 {
            answer.next_at = ordered.first().map(|task| task.at);
            return answer;
        }
        let random = xxh3_64(&self.draws.to_le_bytes());
        let task = ordered[take.order.place(random, visible)].clone();
        self.draws += 1;
        answer.task = Some(match take.lease {
            None => task,
            Some(lease) => {
                self.tasks.remove(&task.revision);
                let at = now.saturating_add(i64::try_from(lease).unwrap_or(i64::MAX));
                answer.revision = self.put(BoardTask { at, ..task }, take.owner, false).revision;
                self.tasks[&answer.revision].clone()
            }
        });
        answer
    }

    /// The tasks of a group by time and revision.
    fn ordered(&self, group: &str) -> Vec<&BoardTask> {
        let mut ordered: Vec<&BoardTask> = self.tasks.values().filter(|task| task.group == group).collect();
        ordered.sort_by_key(|task| (task.at, task.revision));
        ordered
    }

    /// Whether a task may have become visible in a group since the board was at a revision.
    pub(super) fn has_changed(&self, group: &str, seen: u64) -> bool {
        self.woken_at.get(group).is_some_and(|woken_at| *woken_at > seen)
    }

    pub(super) fn get(&self, revisions: &[u64]) -> Vec<Option<BoardTask>> {
        revisions.iter().map(|revision| self.tasks.get(revision).cloned()).collect()
    }

    pub(super) fn list(&self, list: &ListTasks, now: BoardTime) -> TaskPage {
        let ordered = self.ordered(&list.group);
        let total = ordered.len() as u64;
        let is_listed = |task: &BoardTask| {
            (!list.visible_only || task.at <= now) && list.after.is_none_or(|after| (task.at, task.revision) > after)
        };
        let listed: Vec<&BoardTask> = ordered.into_iter().filter(|task| is_listed(task)).collect();
        let mut bytes = 0;
        let fits = |task: &&&BoardTask| {
            let is_next = bytes < MAX_BOARD_PAGE_BYTES;
            bytes += task.content.bytes();
            is_next
        };
        let tasks: Vec<BoardTask> =
            listed.iter().take(list.limit).take_while(fits).map(|task| (*task).clone()).collect();
        let next = tasks.last().filter(|_| tasks.len() < listed.len()).map(|task| (task.at, task.revision));
        TaskPage { tasks, next, total }
    }

    pub(super) fn marks(&self) -> Vec<String> {
        self.marks.iter().cloned().collect()
    }

    pub(super) fn restore(&mut self, piece: &BoardPiece) -> Vec<Restored> {
        self.marks.extend(piece.marks.iter().cloned());
        self.revision = self.revision.max(piece.counter());
        let mut restored = Vec::with_capacity(piece.tasks.len());
        for task in &piece.tasks {
            restored.push(match self.tasks.get(&task.revision) {
                Some(known) if known == task => Restored::Already,
                Some(_) => Restored::Conflict,
                None => {
                    self.woken_at.insert(task.group.clone(), self.revision);
                    self.tasks.insert(task.revision, task.clone());
                    Restored::Done
                }
            });
        }
        restored
    }

    /// Whether anything was ever committed to it.
    pub(super) fn exists(&self) -> bool {
        self.revision > 0 || !self.marks.is_empty()
    }

    pub(super) fn count(&self, name: &BoardName) -> BoardCount {
        BoardCount { board: name.clone(), revision: self.revision, tasks: self.tasks.len() as u64 }
    }

    pub(super) fn groups(&self, after: Option<&str>, limit: usize) -> Vec<GroupCount> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for task in self.tasks.values().filter(|task| after.is_none_or(|after| task.group.as_str() > after)) {
            *counts.entry(&task.group).or_default() += 1;
        }
        let counted = counts.into_iter().take(limit);
        counted.map(|(group, tasks)| GroupCount { group: group.to_owned(), tasks }).collect()
    }
}

/// Adds a revision unless it is there.
fn push_once(list: &mut Vec<u64>, revision: Option<u64>) {
    list.extend(revision.filter(|revision| !list.contains(revision)));
}
