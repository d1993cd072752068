//! A run of a workflow: how far it is.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::Workflow;
use crate::{
    lifecycle::Status,
    name::{WorkflowId, WorkflowName},
    time::Timestamp,
};

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Its tasks are being submitted, piece by piece.
    Submitting,
    /// All its tasks are stored, and some are not over.
    Running,
    /// Over: every node completed, or was not needed.
    Completed,
    /// Over: a node failed for good, or was aborted because of one.
    Failed,
    /// Over: it was cancelled.
    Cancelled,
}

jobbers_terms::stored_as_number!(RunState);

impl RunState {
    /// All of them. A state's place here is its stored number and never changes.
    pub const ALL: [Self; 5] = [Self::Submitting, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// The name on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submitting => "submitting",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether all its nodes are over.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RunState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        let names = || Self::ALL.map(Self::as_str).join(", ");
        found.ok_or_else(|| format!("{text} is not a state of a workflow; these are: {}", names()))
    }
}

/// How each node of a run ended, as far as that was seen: a letter per node, in their order. It outlives the tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ends(String);

impl Ends {
    const LIVE: u8 = b'-';

    /// No end was seen yet.
    #[must_use]
    pub fn none(nodes: usize) -> Self {
        Self("-".repeat(nodes))
    }

    /// How a node ended; `None` while it is not known to be over.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<Status> {
        let letter = self.0.as_bytes().get(place)?;
        Status::from_code(letter.wrapping_sub(b'0')).filter(|status| status.is_finished())
    }

    /// Notes how a node ended, or that it is not over.
    pub fn set(&mut self, place: usize, end: Option<Status>) {
        let letter = end.filter(|end| end.is_finished()).map_or(Self::LIVE, |end| b'0' + end.code());
        let mut letters = std::mem::take(&mut self.0).into_bytes();
        if let Some(at) = letters.get_mut(place) {
            *at = letter;
        }
        self.0 = letters.into_iter().map(char::from).collect();
    }

    /// Notes many ends at once.
    pub fn set_all(&mut self, ends: impl IntoIterator<Item = (usize, Option<Status>)>) {
        let mut letters = std::mem::take(&mut self.0).into_bytes();
        for (place, end) in ends {
            if let Some(at) = letters.get_mut(place) {
                *at = end.filter(|end| end.is_finished()).map_or(Self::LIVE, |end| b'0' + end.code());
            }
        }
        self.0 = letters.into_iter().map(char::from).collect();
    }

    /// The places of the nodes that are not known to be over, from one on.
    pub fn open_from(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let letters = self.0.bytes().enumerate().skip(place);
        letters.filter(|(_, letter)| *letter == Self::LIVE).map(|(place, _)| place)
    }

    /// How many nodes are known to be over.
    #[must_use]
    pub fn count_over(&self) -> usize {
        self.0.bytes().filter(|letter| *letter != Self::LIVE).count()
    }

    /// How many nodes ended at each finished status, as far as that was seen.
    pub fn counts(&self) -> impl Iterator<Item = (Status, u64)> + use<> {
        let mut letters = [0_u64; 256];
        for letter in self.0.bytes() {
            letters[usize::from(letter)] += 1;
        }
        let finished = Status::ALL.into_iter().filter(|status| status.is_finished());
        finished.map(move |status| (status, letters[usize::from(b'0' + status.code())]))
    }

    /// Whether every node is over.
    #[must_use]
    pub fn are_all_known(&self) -> bool {
        !self.0.as_bytes().contains(&Self::LIVE)
    }
}

/// A run of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its identity: a ULID unless the client chose one. The ids of its tasks begin with it.
    pub id: WorkflowId,
    /// What it is a run of, for people and for filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WorkflowName>,
    /// Where it is.
    pub state: RunState,
    /// How many nodes it has.
    pub nodes: u32,
    /// How many of them, in their order, are stored as tasks.
    pub submitted: u32,
    /// 1, and one more with each retry.
    pub attempt: u32,
    /// How its nodes ended.
    pub ends: Ends,
    /// The place up to which the latest look read nodes that were not over; the next one goes on there.
    #[serde(default)]
    pub looked: u32,
    /// Whether it is being cancelled.
    #[serde(default)]
    pub cancel_requested: bool,
    /// Why the store took a piece of it not in, until it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Why it fails although its nodes were only cancelled: the store refused some of them for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// A digest of what the client sent: the same id with another digest is a conflict.
    pub digest: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its latest attempt began.
    pub started_at: Timestamp,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// When there is something to do about it: tasks to submit or to look at, or the run to delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

/// For how long the manager that submits a run has it to itself between two pieces. Past it another one goes on: nothing is
/// submitted twice, so a wrong guess costs a call.
pub const SUBMITTER_ALONE: Duration = Duration::from_secs(5);
/// The shortest and the longest pause between two looks at a run.
pub const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

impl Run {
    /// A run that begins now.
    #[must_use]
    pub fn new(id: WorkflowId, name: Option<WorkflowName>, workflow: &Workflow, digest: u64, now: Timestamp) -> Self {
        Self {
            id,
            name,
            state: RunState::Submitting,
            nodes: u32::try_from(workflow.len()).unwrap_or(u32::MAX),
            submitted: 0,
            attempt: 1,
            ends: Ends::none(workflow.len()),
            looked: 0,
            cancel_requested: false,
            refusal: None,
            failure: None,
            digest,
            created_at: now,
            started_at: now,
            finished_at: None,
            next_at: Some(now.after(SUBMITTER_ALONE)),
        }
    }

    /// The run once its nodes are stored up to a place.
    #[must_use]
    pub fn with_submitted(mut self, submitted: u32, now: Timestamp) -> Self {
        self.submitted = submitted;
        self.refusal = None;
        if submitted >= self.nodes {
            self.state = RunState::Running;
            self.next_at = Some(now.after(PAUSES.0));
        } else {
            self.next_at = Some(now.after(SUBMITTER_ALONE));
        }
        self
    }

    /// The run when the store did not take its next piece in, and may later.
    #[must_use]
    pub fn with_refusal(mut self, reason: String, now: Timestamp, retry_after: Duration) -> Self {
        self.refusal = Some(reason);
        self.next_at = Some(now.after(retry_after.max(Duration::from_secs(1))));
        self
    }

    /// The run as it is to be cancelled.
    #[must_use]
    pub fn with_cancel(mut self, now: Timestamp) -> Self {
        self.cancel_requested = true;
        self.next_at = Some(now);
        self
    }

    /// The run when all its nodes are over, and until when it is kept.
    #[must_use]
    pub fn ended(mut self, state: RunState, now: Timestamp, kept: Duration) -> Self {
        self.state = state;
        self.finished_at = Some(now);
        self.next_at = Some(now.after(kept));
        self
    }

    /// The run when nodes are still open: looked at again after a pause that grows with its age, so that a long run costs
    /// little.
    #[must_use]
    pub fn looked_at(mut self, looked: usize, now: Timestamp) -> Self {
        self.looked = u32::try_from(looked).unwrap_or_default();
        self.next_at = Some(now.after((now.since(self.started_at) / 20).clamp(PAUSES.0, PAUSES.1)));
        self
    }

    /// The run after it was over, because some of its tasks were sent again or replaced by themselves.
    #[must_use]
    pub fn reopened(mut self, now: Timestamp) -> Self {
        self.state = RunState::Running;
        self.looked = 0;
        self.cancel_requested = false;
        self.started_at = now;
        self.finished_at = None;
        self.next_at = Some(now.after(PAUSES.0));
        self
    }

    /// The run once more, for the nodes that are `again`.
    #[must_use]
    pub fn retried(mut self, again: &[bool], now: Timestamp) -> Self {
        self.ends.set_all(again.iter().enumerate().filter(|(_, again)| **again).map(|(place, _)| (place, None)));
        self.state = RunState::Submitting;
        self.submitted = 0;
        self.looked = 0;
        self.attempt += 1;
        self.cancel_requested = false;
        self.refusal = None;
        self.failure = None;
        self.started_at = now;
        self.finished_at = None;
        self.next_at = Some(now.after(SUBMITTER_ALONE));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_remembered_by_place() {
        let mut ends = Ends::none(4);
        ends.set(1, Some(Status::Completed));
        ends.set_all([(2, Some(Status::Failed)), (3, Some(Status::Started))]);
        assert_eq!((ends.get(0), ends.get(1), ends.get(2)), (None, Some(Status::Completed), Some(Status::Failed)));
        assert_eq!(ends.get(3), None, "what runs is not over");
        assert_eq!(ends.open_from(1).collect::<Vec<_>>(), [3]);
        assert_eq!((ends.count_over(), ends.are_all_known()), (2, false));
        let counts: Vec<_> = ends.counts().filter(|(_, nodes)| *nodes > 0).collect();
        assert_eq!(counts, [(Status::Completed, 1), (Status::Failed, 1)]);
        ends.set(2, None);
        assert_eq!(ends.count_over(), 1);
    }

    #[test]
    fn states_keep_their_names_and_numbers() {
        for state in RunState::ALL {
            assert_eq!(RunState::from_code(state.code()), Some(state));
            assert_eq!(state.as_str().parse::<RunState>().unwrap(), state);
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert!("done".parse::<RunState>().is_err());
    }
}
