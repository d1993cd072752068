//! Deletes tasks of boards that are past a rule.
//!
//! A board's task has no end, so nothing deletes it by itself. Only tasks that are visible go: a lease is a time in the
//! future. A task that a client takes or changes meanwhile has another revision, and stays.

use std::time::Duration;

use async_trait::async_trait;
use jobbers_common::{
    engine::{
        Error, Result,
        boards::{
            Boards, Commit, CommitAnswer, ListTasks, Selection,
            task::{BoardTask, BoardTime},
        },
    },
    limits::{MAX_BATCH, MAX_BOARD_GROUP_BYTES},
    name::BoardName,
    values::duration,
};
use serde::Deserialize;

use crate::pass::{Batch, Pass, Round};

/// The owner of what the cleaner deletes.
const CLEANER: i64 = 0;

/// How long tasks of a board are kept, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardRule {
    /// Which board.
    pub board: BoardName,
    /// Which group of it; `None` for each of its groups.
    #[serde(default)]
    pub group: Option<String>,
    /// How long a task is kept after it became visible.
    #[serde(default, with = "duration::text::option")]
    pub max_age: Option<Duration>,
    /// How many tasks of a group are kept: the latest. Tasks that are not visible count too, and stay.
    #[serde(default)]
    pub max_tasks: Option<u64>,
}

impl BoardRule {
    /// Checks that it restricts something.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub fn validate(&self) -> Result<(), String> {
        if self.max_age.is_none() && self.max_tasks.is_none() {
            return Err(format!("the rule for board {} needs max_age or max_tasks", self.board));
        }
        if self.group.as_ref().is_some_and(|group| group.len() > MAX_BOARD_GROUP_BYTES) {
            return Err(format!("the name of a group has at most {MAX_BOARD_GROUP_BYTES} bytes"));
        }
        Ok(())
    }

    /// How many of the first tasks of a group are past it. `total` is the size of the group.
    fn count_past(&self, tasks: &[BoardTask], total: u64, now: BoardTime) -> usize {
        let by_age = self.max_age.map_or(0, |age| {
            let nanoseconds = i64::try_from(age.as_nanos()).unwrap_or(i64::MAX);
            let limit = BoardTime(now.0.saturating_sub(nanoseconds));
            tasks.partition_point(|task| task.at < limit)
        });
        let excess = self.max_tasks.map_or(0, |most| total.saturating_sub(most));
        by_age.max(usize::try_from(excess).unwrap_or(usize::MAX).min(tasks.len()))
    }
}

/// Applies rules, one after the other.
#[derive(Debug, Clone)]
pub struct BoardRetention {
    rules: Vec<BoardRule>,
    /// The board that must exist: a user named it on the command line.
    expected: Option<BoardName>,
}

/// Where the pass is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct PassCursor {
    rule: usize,
    /// The group under way.
    group: Option<String>,
    /// In a dry run, how many of its tasks were counted, and after which one to go on.
    counted: u64,
    after: Option<(BoardTime, u64)>,
}

impl BoardRetention {
    /// A pass that applies these rules. `expected` must exist when the pass begins.
    #[must_use]
    pub const fn new(rules: Vec<BoardRule>, expected: Option<BoardName>) -> Self {
        Self { rules, expected }
    }

    /// The place after a group.
    async fn next_group(&self, boards: &dyn Boards, at: &PassCursor) -> Result<Option<PassCursor>> {
        let Some(rule) = self.rules.get(at.rule) else { return Ok(None) };
        let next = match (&rule.group, &at.group) {
            (Some(group), None) => Some(group.clone()),
            (Some(_), Some(_)) => None,
            (None, after) => boards.groups(&rule.board, after.as_deref(), 1).await?.pop().map(|next| next.group),
        };
        if next.is_some() {
            return Ok(Some(PassCursor { rule: at.rule, group: next, ..PassCursor::default() }));
        }
        Ok((at.rule + 1 < self.rules.len()).then(|| PassCursor { rule: at.rule + 1, ..PassCursor::default() }))
    }

    async fn check_expected(&self, boards: &dyn Boards) -> Result<()> {
        let Some(board) = &self.expected else { return Ok(()) };
        let mut after = None;
        loop {
            let page = boards.boards(after.as_ref(), MAX_BATCH).await?;
            if page.iter().any(|found| found.board == *board) {
                return Ok(());
            }
            after = page.last().filter(|_| page.len() == MAX_BATCH).map(|last| last.board.clone());
            if after.is_none() {
                return Err(Error::Invalid(format!(
                    "the store has no board {board}; `jobbers boards` lists its boards"
                )));
            }
        }
    }
}

#[async_trait]
impl Pass for BoardRetention {
    fn name(&self) -> &'static str {
        "boards"
    }

    async fn run_once(&self, round: Round<'_>, cursor: Option<String>) -> Result<Batch> {
        let cursor = match cursor {
            Some(cursor) => PassCursor::read(&cursor)?,
            None => {
                self.check_expected(round.boards).await?;
                PassCursor::default()
            }
        };
        let (Some(rule), Some(group)) = (self.rules.get(cursor.rule), &cursor.group) else {
            let next = self.next_group(round.boards, &cursor).await?;
            return Ok(Batch { next: next.map(|next| next.write()), ..Batch::default() });
        };
        let (board, group) = (rule.board.clone(), group.clone());
        let list = ListTasks { board, group, visible_only: true, after: cursor.after, limit: MAX_BATCH };
        let page = round.boards.list(list).await?;
        let total = page.total.saturating_sub(cursor.counted);
        let past = &page.tasks[..rule.count_past(&page.tasks, total, round.now.into())];
        let removed = if round.dry_run { past.len() as u64 } else { delete(round.boards, &rule.board, past).await? };
        let next = match page.next.filter(|_| past.len() == page.tasks.len()) {
            // What was deleted is gone, and what changed meanwhile has another place: go on from the front.
            Some(_) if !round.dry_run => Some(PassCursor { after: None, ..cursor }),
            Some(after) => Some(PassCursor { after: Some(after), counted: cursor.counted + removed, ..cursor }),
            None => self.next_group(round.boards, &cursor).await?,
        };
        Ok(Batch { removed, next: next.map(|next| next.write()), ..Batch::default() })
    }
}

/// Deletes those of these tasks that have not changed since. Returns how many.
async fn delete(boards: &dyn Boards, board: &BoardName, tasks: &[BoardTask]) -> Result<u64> {
    let mut revisions: Vec<u64> = tasks.iter().map(|task| task.revision).collect();
    while !revisions.is_empty() {
        let delete = revisions.iter().copied().map(Selection::Revision).collect();
        match boards.commit(Commit { delete, ..Commit::new(board.clone(), CLEANER) }).await? {
            CommitAnswer::Done(done) => return Ok(done.deleted as u64),
            CommitAnswer::Conflict(changed) => revisions.retain(|revision| !changed.deleted.contains(revision)),
            CommitAnswer::AlreadyDone => break,
        }
    }
    Ok(0)
}

impl PassCursor {
    fn write(&self) -> String {
        let (at, revision) = self.after.map_or((0, 0), |(at, revision)| (at.0, revision));
        let group = self.group.as_ref().map(|group| format!("={group}")).unwrap_or_default();
        format!("{}|{}|{}|{at}|{revision}|{group}", self.rule, self.counted, u8::from(self.after.is_some()))
    }

    fn read(text: &str) -> Result<Self> {
        let mut parts = text.splitn(6, '|');
        let mut next = || parts.next().unwrap_or_default();
        let (rule, counted, has_place, at, revision, group) = (next(), next(), next(), next(), next(), next());
        let wrong = || Error::Invalid(format!("{text:?} is no place in boards"));
        let after = (BoardTime(at.parse().map_err(|_| wrong())?), revision.parse().map_err(|_| wrong())?);
        Ok(Self {
            rule: rule.parse().map_err(|_| wrong())?,
            group: group.strip_prefix('=').map(str::to_owned),
            counted: counted.parse().map_err(|_| wrong())?,
            after: (has_place == "1").then_some(after),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        for cursor in [
            PassCursor::default(),
            PassCursor { rule: 2, group: Some(String::new()), counted: 7, after: Some((BoardTime(i64::MIN), 9)) },
            PassCursor { group: Some("a|=b".to_owned()), ..PassCursor::default() },
        ] {
            assert_eq!(PassCursor::read(&cursor.write()), Ok(cursor));
        }
        for text in ["", "1", "x|0|0|0|0|", "0|0|0|a|0|=g"] {
            assert!(matches!(PassCursor::read(text), Err(Error::Invalid(_))), "{text}");
        }
    }
}
