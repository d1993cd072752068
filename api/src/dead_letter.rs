//! Dead letters: requests and answers as JSON.

pub mod operation;

use std::{borrow::Cow, collections::HashSet};

use jobbers_common::{
    lifecycle::Status,
    limits::MAX_BATCH,
    name::{QueueName, TaskId, TaskName, WorkerId},
    task::{AttemptError, dead_letter::LetterState},
    time::Timestamp,
};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::{
    task::view::{AttemptView, TaskView},
    value::{Asked, LetterStateDoc, NameDoc, Rfc3339, StatusDoc, TaskIdDoc, Word, version_if_any},
};
use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem, Result},
};

/// The default limit.
pub const DEFAULT_LIMIT: usize = 100;

const fn default_limit() -> usize {
    DEFAULT_LIMIT
}

/// Which dead letters to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LetterParams {
    /// Of tasks in this queue.
    #[param(value_type = Option<NameDoc>)]
    queue: Option<QueueName>,
    /// Of tasks of this name.
    #[param(value_type = Option<NameDoc>)]
    name: Option<TaskName>,
    /// Of this version.
    #[serde(default, deserialize_with = "version_if_any")]
    version: Option<u32>,
    /// Another spelling of `name`.
    #[param(value_type = Option<NameDoc>)]
    task_name: Option<TaskName>,
    /// Another spelling of `version`.
    #[serde(default, deserialize_with = "version_if_any")]
    task_version: Option<u32>,
    /// That ended so: `failed`, `stalled` or `dropped`.
    #[param(value_type = Option<StatusDoc>)]
    status: Option<Status>,
    /// Whose last error holds this text; `A` to `Z` match in upper or lower case.
    error: Option<String>,
    /// Whose last error has this fingerprint, as the statistics tell it.
    fingerprint: Option<String>,
    /// That failed at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    failed_after: Option<Rfc3339>,
    /// That failed before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    failed_before: Option<Rfc3339>,
    /// Their state; `all` for all. Default: `dead`, those that are not handled yet.
    #[param(value_type = Option<LetterStateDoc>)]
    state: Option<StateParam>,
    /// At most this many.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 1000, default = 100)]
    pub limit: usize,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// A state, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateParam {
    All,
    One(LetterState),
}

impl<'de> Deserialize<'de> for StateParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        if text == "all" {
            return Ok(Self::All);
        }
        LetterState::ALL.into_iter().find(|state| state.as_str() == text).map(Self::One).ok_or_else(|| {
            let known = LetterState::ALL.map(LetterState::as_str).join(", ");
            de::Error::custom(format_args!("{text:?} is no state: {known} or all"))
        })
    }
}

impl LetterParams {
    /// The filter they spell.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for a limit out of bounds, and for both spellings of one field.
    pub fn filter(&self) -> Result<LetterFilter> {
        if !(1..=MAX_BATCH).contains(&self.limit) {
            let detail = format!("a limit is 1 to {MAX_BATCH}, not {}", self.limit);
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let both = |detail| Problem::new(Code::InvalidParameter, format!("the query: {detail}"));
        Ok(LetterFilter {
            queue: self.queue.clone(),
            name: either(("name", &self.name), ("task_name", &self.task_name)).map_err(both)?.cloned(),
            version: either(("version", &self.version), ("task_version", &self.task_version)).map_err(both)?.copied(),
            status: self.status,
            error: self.error.clone(),
            fingerprint: self.fingerprint.clone(),
            failed_after: self.failed_after.map(|at| at.0),
            failed_before: self.failed_before.map(|at| at.0),
            state: match self.state {
                None => Some(LetterState::Dead),
                Some(StateParam::All) => None,
                Some(StateParam::One(state)) => Some(state),
            },
        })
    }
}

/// Which dead letters are meant; a field that is `None` does not restrict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LetterFilter {
    /// Of tasks in this queue.
    pub queue: Option<QueueName>,
    /// Of tasks of this name.
    pub name: Option<TaskName>,
    /// Of this version.
    pub version: Option<u32>,
    /// That ended with this status.
    pub status: Option<Status>,
    /// Whose last error contains this text.
    pub error: Option<String>,
    /// Whose last error has this fingerprint.
    pub fingerprint: Option<String>,
    /// That failed at this time or later.
    pub failed_after: Option<Timestamp>,
    /// That failed before this time.
    pub failed_before: Option<Timestamp>,
    /// That are in this state.
    pub state: Option<LetterState>,
}

/// Which dead letters a request changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LetterSelection {
    /// Those of these tasks.
    Tasks(Vec<TaskId>),
    /// Those that match and are dead, the oldest first, up to this number.
    Matching(Box<LetterFilter>, usize),
}

/// The value of a field that has two spellings, of which a request uses one.
fn either<'a, T>(
    (name, value): (&str, &'a Option<T>),
    (alias, other): (&str, &'a Option<T>),
) -> std::result::Result<Option<&'a T>, String> {
    match (value, other) {
        (Some(_), Some(_)) => Err(format!("{name} and {alias} are the same; send one of them")),
        (value, other) => Ok(value.as_ref().or(other.as_ref())),
    }
}

/// A body that says which dead letters are meant, by `ids` or by a filter; with fields of its own.
macro_rules! selecting {
    ($(#[$meta:meta])* $name:ident { $($own:tt)* }) => {
        #[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        pub struct $name {
            /// Those of these tasks, at most 1,000: sent again is the latest of each task, deleted are all of them. One that
            /// has no dead letter, or can't be an id, changes nothing for the others.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<Vec<TaskIdDoc>>)]
            pub ids: Option<Vec<Asked<TaskId>>>,
            /// Another spelling of `ids`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<Vec<TaskIdDoc>>)]
            pub task_ids: Option<Vec<Asked<TaskId>>>,
            /// Filter: of tasks in this queue.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<NameDoc>)]
            pub queue: Option<QueueName>,
            /// Filter: of tasks of this name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<NameDoc>)]
            pub name: Option<TaskName>,
            /// Filter: of this version.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "version_if_any")]
            pub version: Option<u32>,
            /// Another spelling of `name`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<NameDoc>)]
            pub task_name: Option<TaskName>,
            /// Another spelling of `version`.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "version_if_any")]
            pub task_version: Option<u32>,
            /// Filter: that ended so.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<StatusDoc>)]
            pub status: Option<Status>,
            /// Filter: whose last error holds this text; `A` to `Z` match in upper or lower case.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(min_length = 1)]
            pub error: Option<String>,
            /// Filter: whose last error has this fingerprint.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(min_length = 1)]
            pub fingerprint: Option<String>,
            /// Filter: that failed at or after this time.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub failed_after: Option<Rfc3339>,
            /// Filter: that failed before this time.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub failed_before: Option<Rfc3339>,
            /// With a filter: at most this many, the oldest first. 1 to 1,000.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(minimum = 1, maximum = 1000, default = 100)]
            pub limit: Option<usize>,
            /// However many match, as one operation. Without a filter: every dead letter.
            #[serde(default)]
            pub all: bool,
            /// Tell what would be changed, and change nothing.
            #[serde(default)]
            pub dry_run: bool,
            $($own)*
        }

        impl $name {
            /// The dead letters that are meant.
            ///
            /// # Errors
            /// [`Code::InvalidRequest`], [`Code::BatchTooLarge`].
            pub fn selection(&self) -> Result<LetterSelection> {
                for (field, text) in [("error", &self.error), ("fingerprint", &self.fingerprint)] {
                    check_restricts(field, text.as_deref())?;
                }
                let both = |detail| Problem::new(Code::InvalidRequest, detail);
                let name = either(("name", &self.name), ("task_name", &self.task_name)).map_err(both)?;
                let version = either(("version", &self.version), ("task_version", &self.task_version)).map_err(both)?;
                let ids = either(("ids", &self.ids), ("task_ids", &self.task_ids)).map_err(both)?;
                let filter = LetterFilter {
                    queue: self.queue.clone(),
                    name: name.cloned(),
                    version: version.copied(),
                    status: self.status,
                    error: self.error.clone(),
                    fingerprint: self.fingerprint.clone(),
                    failed_after: self.failed_after.map(|at| at.0),
                    failed_before: self.failed_before.map(|at| at.0),
                    state: None,
                };
                let spelling = if self.task_ids.is_some() { "task_ids" } else { "ids" };
                select(ids.map(|ids| (ids.as_slice(), spelling)), filter, self.limit, self.all)
            }
        }
    };
}

selecting! {
    /// Dead letters to delete.
    #[schema(as = DeleteDeadLetters)]
    DeleteRequest {}
}

selecting! {
    /// Dead letters to send again, and how.
    #[schema(as = ResubmitDeadLetters)]
    ResubmitRequest {
        /// Whether attempts and crashes are counted from the start. If not, they go on: a task that had used up its retries
        /// fails for good at its next failure.
        #[serde(default = "yes")]
        #[schema(default = true)]
        pub reset_retry_count: bool,
        /// Into this queue instead of the one they were in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<NameDoc>)]
        pub to_queue: Option<QueueName>,
        /// A merge patch (RFC 7396) of their parameters: an object, nested at most 64 deep. What comes of it must fit the
        /// schema that the task's workers registered, as a submission's parameters must.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        pub parameters: Option<Box<RawValue>>,
        /// At most this many tasks per second; 0.001 to 10,000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 0.001, maximum = 10_000)]
        pub rate: Option<f64>,
    }
}

/// An empty text, perhaps from a missing value, must not select every dead letter.
fn check_restricts(field: &str, text: Option<&str>) -> Result<()> {
    if text == Some("") {
        let detail = format!("an empty {field} restricts nothing; leave it out, and say all for every dead letter");
        return Err(Problem::new(Code::InvalidRequest, detail).at(format!("/{field}")));
    }
    Ok(())
}

const fn yes() -> bool {
    true
}

/// The selection of a body: its ids with the name of their field, or its filter.
fn select(
    ids: Option<(&[Asked<TaskId>], &str)>,
    filter: LetterFilter,
    limit: Option<usize>,
    all: bool,
) -> Result<LetterSelection> {
    let refused = |detail: &str| Problem::new(Code::InvalidRequest, detail);
    let is_filtered = filter != LetterFilter::default();
    let Some((ids, field)) = ids else {
        if !is_filtered && !all {
            return Err(refused("say either ids, or at least one field of the filter, or all"));
        }
        let filter = LetterFilter { state: Some(LetterState::Dead), ..filter };
        return Ok(LetterSelection::Matching(Box::new(filter), bound(limit, all)?));
    };
    if is_filtered || all {
        return Err(refused("say either ids or a filter, not both"));
    }
    bound(limit, false)?;
    if ids.is_empty() {
        return Err(refused("no task is named").at(format!("/{field}")));
    }
    if ids.len() > MAX_BATCH {
        let detail = format!("a request names at most {MAX_BATCH} tasks, not {}", ids.len());
        return Err(Problem::new(Code::BatchTooLarge, detail).at(format!("/{field}")));
    }
    let mut seen = HashSet::with_capacity(ids.len());
    let named_once: Vec<_> = ids.iter().filter_map(Asked::legal).filter(|id| seen.insert(*id)).cloned().collect();
    if named_once.is_empty() {
        return Err(refused("none of these can be the id of a task").at(format!("/{field}")));
    }
    Ok(LetterSelection::Tasks(named_once))
}

fn bound(limit: Option<usize>, all: bool) -> Result<usize> {
    match limit {
        Some(_) if all => Err(Problem::new(Code::InvalidRequest, "say either limit or all").at("/limit")),
        None if all => Ok(usize::MAX),
        None => Ok(DEFAULT_LIMIT),
        Some(limit) if (1..=MAX_BATCH).contains(&limit) => Ok(limit),
        Some(limit) => {
            let detail = format!("a limit is 1 to {MAX_BATCH}, not {limit}; for more, say all");
            Err(Problem::new(Code::InvalidRequest, detail).at("/limit"))
        }
    }
}

/// A dead letter, as lists show it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterEntry)]
pub struct LetterView {
    /// The task.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// How it ended.
    #[schema(value_type = StatusDoc)]
    pub status: Status,
    /// When it ended.
    pub failed_at: Rfc3339,
    /// After how many attempts.
    pub attempt: u32,
    /// The worker that ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    pub worker: Option<WorkerId>,
    /// The kind of its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub kind: Option<Word>,
    /// The message of its last failure; empty if it is hidden.
    pub error: String,
    /// What that message has in common with others of its cause; of a sensitive task, the kind of the error.
    pub fingerprint: String,
    /// Its state: `dead`, `resubmitting`, `resubmitted`, or `superseded` when the task went on without it.
    #[schema(value_type = LetterStateDoc)]
    pub state: LetterState,
    /// When it was sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resubmitted_at: Option<Rfc3339>,
    /// The operation that sends or sent it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Present and true for a sensitive task: what it held and said is hidden. `POST /dead-letter-queue/{task_id}/reveal`
    /// shows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensitive: bool,
}

/// A page of dead letters.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterPage)]
pub struct LetterPageView {
    /// The letters, the latest first.
    pub dead_letters: Vec<LetterView>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A dead letter with its task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetter)]
pub struct WholeLetterView {
    /// The fields that lists show.
    #[serde(flatten)]
    pub entry: LetterView,
    /// The whole task as it ended.
    pub task: TaskView,
}

/// Every failure of a task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = FailureHistory)]
pub struct HistoryView {
    /// The task.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Its failures, the oldest first, over all times it was sent again.
    pub failures: Vec<AttemptView>,
}

impl HistoryView {
    /// The failures of this task.
    pub fn new(id: &TaskId, failures: &[AttemptError]) -> Self {
        Self { id: id.clone(), failures: failures.iter().map(AttemptView::from).collect() }
    }
}

/// Dead letters by cause.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterStats)]
pub struct StatsView {
    /// How many there are in all groups told.
    pub total: u64,
    /// The largest first, at most 1,000.
    pub groups: Vec<GroupView>,
}

/// Dead letters of one cause.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterGroup)]
pub struct GroupView {
    /// Their queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// Their task.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Its version.
    pub version: u32,
    /// Their errors without what differs each time: numbers, ids, quoted parts.
    pub fingerprint: String,
    /// How many there are.
    pub count: u64,
    /// When the first failed.
    pub first_seen: Rfc3339,
    /// When the last failed.
    pub last_seen: Rfc3339,
    /// One of their errors.
    pub example: String,
}

/// What a change would do, or a deletion did.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterChange)]
pub struct ChangeView {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// How many dead letters match.
    pub matched: u64,
    /// How many of them are, or would be, changed.
    pub changed: u64,
}
