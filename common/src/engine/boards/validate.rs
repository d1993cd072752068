//! The bounds of requests to boards, which every engine checks before it looks at its store.

use std::collections::{BTreeMap, HashSet};

use super::{Commit, ListTasks, Selection, Take};
use crate::{
    engine::{boards::task::Content, limit::validate_limit},
    error::{Error, Result},
    limits::{
        MAX_BATCH, MAX_BOARD_CHANGES, MAX_BOARD_COMMIT_BYTES, MAX_BOARD_GROUP_BYTES, MAX_BOARD_LABELS,
        MAX_BOARD_SELECTIONS, MAX_BOARD_TEXT_BYTES,
    },
};

impl Commit {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`], also for a revision that is both deleted and updated, or updated twice.
    pub fn validate(&self) -> Result<()> {
        let named = self.delete.len() + self.update.len() + self.create.len();
        validate_changes(named)?;
        at_most("required revisions", self.require.len(), MAX_BOARD_CHANGES)?;
        let selections = || self.delete.iter().chain(self.update.iter().map(|update| &update.which));
        selections().try_for_each(Selection::validate)?;
        let searches = selections().map(Selection::searches).sum();
        at_most("groups and labels that select tasks", searches, MAX_BOARD_SELECTIONS)?;
        let groups = self.update.iter().filter_map(|update| update.group.as_deref());
        groups.chain(self.create.iter().map(|create| create.group.as_str())).try_for_each(validate_group)?;
        self.contents().try_for_each(Content::validate)?;
        at_most("bytes of a mark", self.once.as_ref().map_or(0, String::len), MAX_BOARD_TEXT_BYTES)?;
        at_most("bytes of tasks in a commit", self.bytes(), MAX_BOARD_COMMIT_BYTES)?;
        let mut deleted = HashSet::new();
        deleted.extend(self.delete.iter().filter_map(Selection::revision));
        let mut changed = deleted;
        let mut updated = self.update.iter().filter_map(|update| update.which.revision());
        match updated.find(|revision| !changed.insert(*revision)) {
            Some(revision) => Err(changed_twice(revision)),
            None => Ok(()),
        }
    }

    /// The contents that it stores.
    pub fn contents(&self) -> impl Iterator<Item = &Content> {
        let updated = self.update.iter().filter_map(|update| update.content.as_ref());
        updated.chain(self.create.iter().map(|create| &create.content))
    }

    /// The bytes of the contents that it stores.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.contents().map(Content::bytes).sum()
    }
}

/// The error of a commit that changes the task of a revision twice.
#[must_use]
pub fn changed_twice(revision: u64) -> Error {
    Error::Invalid(format!("a commit changes a task once: task {revision} is deleted and updated, or updated twice"))
}

/// Checks how many tasks a commit changes.
///
/// # Errors
/// [`Error::Invalid`] over [`MAX_BOARD_CHANGES`].
pub fn validate_changes(changes: usize) -> Result<()> {
    at_most("changes of a commit", changes, MAX_BOARD_CHANGES)
}

impl Selection {
    /// The revision that it names.
    #[must_use]
    pub const fn revision(&self) -> Option<u64> {
        match self {
            Self::Revision(revision) => Some(*revision),
            Self::Group(_) | Self::AnyLabel(_) => None,
        }
    }

    /// How many groups and labels it searches.
    fn searches(&self) -> usize {
        match self {
            Self::Revision(_) => 0,
            Self::Group(_) => 1,
            Self::AnyLabel(labels) => labels.len(),
        }
    }

    fn validate(&self) -> Result<()> {
        match self {
            Self::Revision(_) => Ok(()),
            Self::Group(group) => validate_group(group),
            Self::AnyLabel(labels) => validate_labels(labels),
        }
    }
}

impl Content {
    /// The bytes of its data, its texts and its labels.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let labels: usize = self.labels.iter().map(|(label, value)| label.len() + value.len()).sum();
        self.data.len() + self.data_type.len() + self.error.len() + labels
    }

    fn validate(&self) -> Result<()> {
        at_most("bytes of a content type", self.data_type.len(), MAX_BOARD_TEXT_BYTES)?;
        validate_labels(&self.labels)
    }
}

impl Take {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        validate_group(&self.group)?;
        at_most("required revisions", self.require.len(), MAX_BOARD_CHANGES)
    }
}

impl ListTasks {
    /// Checks the bounds every engine holds to.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn validate(&self) -> Result<()> {
        validate_group(&self.group)?;
        validate_limit(self.limit)
    }
}

/// Checks how many revisions [`super::Boards::get`] asks for.
///
/// # Errors
/// [`Error::Invalid`] for more than [`MAX_BATCH`].
pub fn validate_get(revisions: &[u64]) -> Result<()> {
    at_most("revisions of a call", revisions.len(), MAX_BATCH)
}

/// Checks the bounds of [`super::Boards::groups`].
///
/// # Errors
/// [`Error::Invalid`].
pub fn validate_groups(after: Option<&str>, limit: usize) -> Result<()> {
    after.map_or(Ok(()), validate_group)?;
    validate_limit(limit)
}

fn validate_group(group: &str) -> Result<()> {
    at_most("bytes of a group's name", group.len(), MAX_BOARD_GROUP_BYTES)
}

fn validate_labels(labels: &BTreeMap<String, String>) -> Result<()> {
    at_most("labels of a task", labels.len(), MAX_BOARD_LABELS)?;
    let mut texts = labels.iter().flat_map(|(label, value)| [label.len(), value.len()]);
    texts.try_for_each(|bytes| at_most("bytes of a label or its value", bytes, MAX_BOARD_TEXT_BYTES))
}

fn at_most(what: &str, found: usize, most: usize) -> Result<()> {
    if found <= most {
        return Ok(());
    }
    Err(Error::Invalid(format!("{what}: at most {most}, not {found}")))
}
