//! The policy of an edge: for each end of the predecessor, whether the successor runs or is aborted.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::lifecycle::Status;

/// What the end of a predecessor means to its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DependencyPolicy {
    /// The successor runs if the predecessor completed. Any other end aborts it, and so on from successor to successor.
    #[default]
    AbortSuccessors,
    /// The successor runs, however the predecessor ended.
    RunWithFailures,
    /// The successor runs if the predecessor failed for good: it is failed, aborted, dropped or stalled. It is aborted if
    /// the predecessor completed or was cancelled.
    RunOnError,
}

jobbers_terms::stored_as_number!(DependencyPolicy);

impl DependencyPolicy {
    /// All of them. A policy's place here is its stored number and never changes.
    pub const ALL: [Self; 3] = [Self::AbortSuccessors, Self::RunWithFailures, Self::RunOnError];

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AbortSuccessors => "abort_successors",
            Self::RunWithFailures => "run_with_failures",
            Self::RunOnError => "run_on_error",
        }
    }

    /// Whether the end of a predecessor aborts the successor.
    #[must_use]
    pub const fn aborts(self, end: Status) -> bool {
        match self {
            Self::AbortSuccessors => !matches!(end, Status::Completed),
            Self::RunWithFailures => false,
            Self::RunOnError => matches!(end, Status::Completed | Status::Cancelled),
        }
    }
}

impl FromStr for DependencyPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|policy| policy.as_str() == text);
        let names = || Self::ALL.map(Self::as_str).join(", ");
        found.ok_or_else(|| format!("{text} is not a dependency's policy; these are: {}", names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_says_for_each_end_whether_the_successor_runs() {
        use DependencyPolicy::{AbortSuccessors, RunOnError, RunWithFailures};
        for end in Status::ALL.into_iter().filter(|status| status.is_finished()) {
            let failed = matches!(end, Status::Failed | Status::Aborted | Status::Dropped | Status::Stalled);
            assert_eq!(AbortSuccessors.aborts(end), end != Status::Completed, "{end}");
            assert_eq!(RunOnError.aborts(end), !failed, "{end}");
            assert!(!RunWithFailures.aborts(end), "{end}");
        }
    }
}
