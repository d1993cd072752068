//! Dead letters, in and out.

use std::{borrow::Cow, collections::HashSet};

use jobbers_archive::{Filter, Group, Letter, LetterState, Selection, Summary};
use jobbers_common::{
    lifecycle::Status,
    limits::{MAX_BATCH, MAX_JSON_DEPTH},
    name::{QueueName, TaskId, TaskName, WorkerId},
    task::{AttemptError, FailureKind},
};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::{
    task_view::{AttemptView, TaskView},
    value::{LetterStateDoc, NameDoc, Rfc3339, StatusDoc},
};
use crate::{
    dead_letters::order::{MAX_RATE, MIN_RATE, Order},
    json,
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
    version: Option<u32>,
    /// Another spelling of `name`.
    #[param(value_type = Option<NameDoc>)]
    task_name: Option<TaskName>,
    /// Another spelling of `version`.
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
    pub(crate) fn filter(&self) -> Result<Filter> {
        if !(1..=MAX_BATCH).contains(&self.limit) {
            let detail = format!("a limit is 1 to {MAX_BATCH}, not {}", self.limit);
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        let both = |detail| Problem::new(Code::InvalidParameter, format!("the query: {detail}"));
        Ok(Filter {
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
        #[derive(Debug, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        pub struct $name {
            /// Those of these tasks, at most 1,000: sent again is the latest of each task, deleted are all of them.
            #[serde(default)]
            #[schema(value_type = Option<Vec<NameDoc>>)]
            ids: Option<Vec<TaskId>>,
            /// Another spelling of `ids`.
            #[serde(default)]
            #[schema(value_type = Option<Vec<NameDoc>>)]
            task_ids: Option<Vec<TaskId>>,
            /// Filter: of tasks in this queue.
            #[serde(default)]
            #[schema(value_type = Option<NameDoc>)]
            queue: Option<QueueName>,
            /// Filter: of tasks of this name.
            #[serde(default)]
            #[schema(value_type = Option<NameDoc>)]
            name: Option<TaskName>,
            /// Filter: of this version.
            #[serde(default)]
            version: Option<u32>,
            /// Another spelling of `name`.
            #[serde(default)]
            #[schema(value_type = Option<NameDoc>)]
            task_name: Option<TaskName>,
            /// Another spelling of `version`.
            #[serde(default)]
            task_version: Option<u32>,
            /// Filter: that ended so.
            #[serde(default)]
            #[schema(value_type = Option<StatusDoc>)]
            status: Option<Status>,
            /// Filter: whose last error holds this text; `A` to `Z` match in upper or lower case.
            #[serde(default)]
            #[schema(min_length = 1)]
            error: Option<String>,
            /// Filter: whose last error has this fingerprint.
            #[serde(default)]
            #[schema(min_length = 1)]
            fingerprint: Option<String>,
            /// Filter: that failed at or after this time.
            #[serde(default)]
            failed_after: Option<Rfc3339>,
            /// Filter: that failed before this time.
            #[serde(default)]
            failed_before: Option<Rfc3339>,
            /// With a filter: at most this many, the oldest first. 1 to 1,000.
            #[serde(default)]
            #[schema(minimum = 1, maximum = 1000, default = 100)]
            limit: Option<usize>,
            /// However many match, as one operation. Without a filter: every dead letter.
            #[serde(default)]
            all: bool,
            /// Tell what would be changed, and change nothing.
            #[serde(default)]
            pub(crate) dry_run: bool,
            $($own)*
        }

        impl $name {
            /// The dead letters that are meant.
            ///
            /// # Errors
            /// [`Code::InvalidRequest`], [`Code::BatchTooLarge`].
            pub(crate) fn selection(&self) -> Result<Selection> {
                for (field, text) in [("error", &self.error), ("fingerprint", &self.fingerprint)] {
                    check_restricts(field, text.as_deref())?;
                }
                let both = |detail| Problem::new(Code::InvalidRequest, detail);
                let name = either(("name", &self.name), ("task_name", &self.task_name)).map_err(both)?;
                let version = either(("version", &self.version), ("task_version", &self.task_version)).map_err(both)?;
                let ids = either(("ids", &self.ids), ("task_ids", &self.task_ids)).map_err(both)?;
                let filter = Filter {
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
        pub(crate) reset_retry_count: bool,
        /// Into this queue instead of the one they were in.
        #[serde(default)]
        #[schema(value_type = Option<NameDoc>)]
        pub(crate) to_queue: Option<QueueName>,
        /// A merge patch (RFC 7396) of their parameters: an object, nested at most 64 deep. What comes of it must fit the
        /// schema that the task's workers registered, as a submission's parameters must.
        #[serde(default)]
        #[schema(value_type = Option<Object>)]
        pub(crate) parameters: Option<Box<RawValue>>,
        /// At most this many tasks per second; 0.001 to 10,000.
        #[serde(default)]
        #[schema(minimum = 0.001, maximum = 10_000)]
        pub(crate) rate: Option<f64>,
    }
}

impl ResubmitRequest {
    /// How they are to be sent.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for a rate out of bounds and a patch that is no object; [`Code::JsonTooDeep`].
    pub(crate) fn order(self) -> Result<Order> {
        if self.rate.is_some_and(|rate| !(MIN_RATE..=MAX_RATE).contains(&rate)) {
            let detail = format!("a rate is {MIN_RATE} to {MAX_RATE} tasks a second");
            return Err(Problem::new(Code::InvalidRequest, detail).at("/rate"));
        }
        // The RFC has anything else take the place of all parameters: hardly ever meant, and not to be undone.
        if self.parameters.as_ref().is_some_and(|patch| !json::is_object(patch)) {
            let detail =
                "a patch of parameters is a JSON object, of what is to change; anything else would replace them";
            return Err(Problem::new(Code::InvalidRequest, detail).at("/parameters"));
        }
        if self.parameters.as_ref().is_some_and(|patch| json::is_deeper_than(patch.get(), MAX_JSON_DEPTH)) {
            let detail = format!("the patch is nested at most {MAX_JSON_DEPTH} deep");
            return Err(Problem::new(Code::JsonTooDeep, detail).at("/parameters"));
        }
        let Self { to_queue, parameters, reset_retry_count, rate, .. } = self;
        Ok(Order { to_queue, parameters, reset_retry_count, rate })
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
fn select(ids: Option<(&[TaskId], &str)>, filter: Filter, limit: Option<usize>, all: bool) -> Result<Selection> {
    let refused = |detail: &str| Problem::new(Code::InvalidRequest, detail);
    let is_filtered = filter != Filter::default();
    let Some((ids, field)) = ids else {
        if !is_filtered && !all {
            return Err(refused("say either ids, or at least one field of the filter, or all"));
        }
        let filter = Filter { state: Some(LetterState::Dead), ..filter };
        return Ok(Selection::Matching(Box::new(filter), bound(limit, all)?));
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
    match ids.iter().position(|id| !seen.insert(id)) {
        Some(twice) => Err(refused("a task is named twice").at(format!("/{field}/{twice}"))),
        None => Ok(Selection::Tasks(ids.to_vec())),
    }
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
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetterEntry)]
pub struct LetterView<'a> {
    /// The task.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its queue.
    #[schema(value_type = NameDoc)]
    queue: &'a QueueName,
    /// Its name.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Its version.
    version: u32,
    /// How it ended.
    #[schema(value_type = StatusDoc)]
    status: Status,
    /// When it ended.
    failed_at: Rfc3339,
    /// After how many attempts.
    attempt: u32,
    /// The worker that ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<NameDoc>)]
    worker: Option<&'a WorkerId>,
    /// The kind of its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// The message of its last failure.
    error: &'a str,
    /// What that message has in common with others of its cause.
    fingerprint: &'a str,
    /// Its state: `dead`, `resubmitting`, `resubmitted`, or `superseded` when the task went on without it.
    #[schema(value_type = LetterStateDoc)]
    state: &'static str,
    /// When it was sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    resubmitted_at: Option<Rfc3339>,
    /// The operation that sends or sent it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
}

impl<'a> From<&'a Summary> for LetterView<'a> {
    fn from(letter: &'a Summary) -> Self {
        Self {
            id: &letter.id,
            queue: &letter.queue,
            name: &letter.name,
            version: letter.version,
            status: letter.status,
            failed_at: letter.failed_at.into(),
            attempt: letter.attempt,
            worker: letter.worker.as_ref(),
            kind: letter.kind.map(FailureKind::as_str),
            error: &letter.error,
            fingerprint: &letter.fingerprint,
            state: letter.state.as_str(),
            resubmitted_at: letter.resubmitted_at.map(Rfc3339),
            operation: letter.operation.as_deref(),
        }
    }
}

/// A page of dead letters.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetterPage)]
pub struct LetterPageView<'a> {
    /// The letters, the latest first.
    pub(crate) dead_letters: Vec<LetterView<'a>>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<&'a str>,
}

/// A dead letter with its task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub struct WholeLetterView<'a> {
    /// The fields that lists show.
    #[serde(flatten)]
    entry: LetterView<'a>,
    /// The whole task as it ended.
    task: TaskView<'a>,
}

impl<'a> From<&'a Letter> for WholeLetterView<'a> {
    fn from(letter: &'a Letter) -> Self {
        Self { entry: (&letter.summary).into(), task: (&letter.dead.task).into() }
    }
}

/// Every failure of a task.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailureHistory)]
pub struct HistoryView<'a> {
    /// The task.
    #[schema(value_type = NameDoc)]
    id: &'a TaskId,
    /// Its failures, the oldest first, over all times it was sent again.
    failures: Vec<AttemptView<'a>>,
}

impl<'a> HistoryView<'a> {
    pub(crate) fn new(id: &'a TaskId, failures: &'a [AttemptError]) -> Self {
        Self { id, failures: failures.iter().map(AttemptView::from).collect() }
    }
}

/// Dead letters by cause.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetterStats)]
pub struct StatsView<'a> {
    /// How many there are in all groups told.
    total: u64,
    /// The largest first, at most 1,000.
    groups: Vec<GroupView<'a>>,
}

/// Dead letters of one cause.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetterGroup)]
struct GroupView<'a> {
    /// Their queue.
    #[schema(value_type = NameDoc)]
    queue: &'a QueueName,
    /// Their task.
    #[schema(value_type = NameDoc)]
    name: &'a TaskName,
    /// Its version.
    version: u32,
    /// Their errors without what differs each time: numbers, ids, quoted parts.
    fingerprint: &'a str,
    /// How many there are.
    count: u64,
    /// When the first failed.
    first_seen: Rfc3339,
    /// When the last failed.
    last_seen: Rfc3339,
    /// One of their errors.
    example: &'a str,
}

impl<'a> From<&'a [Group]> for StatsView<'a> {
    fn from(groups: &'a [Group]) -> Self {
        let view = |group: &'a Group| GroupView {
            queue: &group.queue,
            name: &group.name,
            version: group.version,
            fingerprint: &group.fingerprint,
            count: group.count,
            first_seen: group.first_seen.into(),
            last_seen: group.last_seen.into(),
            example: &group.example,
        };
        Self { total: groups.iter().map(|group| group.count).sum(), groups: groups.iter().map(view).collect() }
    }
}

/// What a change would do, or a deletion did.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeadLetterChange)]
pub struct ChangeView {
    /// Whether nothing was changed.
    pub(crate) dry_run: bool,
    /// How many dead letters match.
    pub(crate) matched: u64,
    /// How many of them are, or would be, changed.
    pub(crate) changed: u64,
}
