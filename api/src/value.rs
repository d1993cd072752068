//! Small values: points in time, durations, names, statuses; and how OpenAPI describes them.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use jobbers_common::{
    audit_log::{ChangeResult, Way},
    dependency::{
        DependencyPolicy,
        signal::{OnTimeout, SignalState},
    },
    lifecycle::Status,
    policy::backoff::Backoff,
    task::{
        dead_letter::{LetterState, OperationState},
        unique::OnDuplicate,
    },
    time::Timestamp,
    workflow::RunState,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
#[cfg(feature = "openapi")]
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        OneOfBuilder, RefOr,
        schema::{AdditionalProperties, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type},
    },
};

/// The highest version of a task on the wire: described as `int32`, so that clients in any language can hold it.
const HIGHEST_VERSION: u32 = i32::MAX as u32;

/// Bytes that are written as text.
pub const TEXT: &str = "text";
/// Bytes that are written as base64.
pub const BASE64: &str = "base64";

/// Reads the version of a task.
///
/// # Errors
/// For one that is too high, or no number.
pub fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    match version {
        0..=HIGHEST_VERSION => Ok(version),
        _ => Err(de::Error::custom(format_args!("{version} is over the highest version, {HIGHEST_VERSION}"))),
    }
}

/// The same where it may be absent.
///
/// # Errors
/// Like [`version`].
pub fn version_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    struct Version(u32);
    impl<'de> Deserialize<'de> for Version {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            version(deserializer).map(Self)
        }
    }
    Ok(Option::<Version>::deserialize(deserializer)?.map(|version| version.0))
}

/// A name or an id in a list of a request: one of many, so one that can't be any does not refuse the others. It names nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked<T> {
    /// A legal one.
    Legal(T),
    /// The beginning of what was sent in its place.
    Illegal(String),
}

/// How much of an illegal name an answer repeats, in characters.
const EXCERPT: usize = 64;

impl<T> Asked<T> {
    /// The name, if it can be one.
    pub const fn legal(&self) -> Option<&T> {
        match self {
            Self::Legal(name) => Some(name),
            Self::Illegal(_) => None,
        }
    }

    /// The legal ones among them, in their order.
    pub fn all_legal(asked: &[Self]) -> Vec<T>
    where
        T: Clone,
    {
        asked.iter().filter_map(|it| it.legal().cloned()).collect()
    }

    /// Each with its answer: `answers` are those of the legal ones, in their order; the others get `otherwise`.
    pub fn with_answers<A: Clone>(asked: &[Self], answers: &[A], otherwise: &A) -> impl Iterator<Item = (Self, A)>
    where
        T: Clone,
    {
        let mut answers = answers.iter();
        asked.iter().map(move |it| {
            let answer = it.legal().and_then(|_| answers.next()).unwrap_or(otherwise);
            (it.clone(), answer.clone())
        })
    }
}

impl<T> From<T> for Asked<T> {
    fn from(name: T) -> Self {
        Self::Legal(name)
    }
}

impl<T: fmt::Display> fmt::Display for Asked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Legal(name) => name.fmt(f),
            Self::Illegal(text) => text.fmt(f),
        }
    }
}

impl<T: fmt::Display> Serialize for Asked<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, T: FromStr> Deserialize<'de> for Asked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text: Option<String> = serde_json::from_str(raw.get()).ok();
        let legal = text.as_deref().and_then(|text| text.parse().ok());
        Ok(legal.map_or_else(
            || Self::Illegal(text.as_deref().unwrap_or(raw.get()).chars().take(EXCERPT).collect()),
            Self::Legal,
        ))
    }
}

/// A point in time, RFC 3339 with microseconds, e.g. `2026-11-21T08:30:00.25Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rfc3339(pub Timestamp);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        jiff::Timestamp::from(*self).fmt(f)
    }
}

impl From<Timestamp> for Rfc3339 {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match jiff::Timestamp::from_microsecond(self.0.as_micros()) {
            Ok(at) => serializer.collect_str(&at),
            Err(error) => Err(serde::ser::Error::custom(error)),
        }
    }
}

impl<'de> Deserialize<'de> for Rfc3339 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let at = jiff::Timestamp::from_str(&text).ok().or_else(|| clamped(&text)).ok_or_else(|| {
            let text: String = text.chars().take(EXCERPT).collect();
            de::Error::custom(format_args!("{text:?} is not a time of RFC 3339 such as 2026-11-21T08:30:00Z"))
        })?;
        Ok(Self(Timestamp::from_micros(at.as_microsecond())))
    }
}

/// The last or the first time of the type, for a time of RFC 3339 within a day of its ends, which it does not hold.
fn clamped(text: &str) -> Option<jiff::Timestamp> {
    let pieces = jiff::fmt::temporal::Pieces::parse(text).ok()?;
    pieces.time().zip(pieces.offset())?;
    Some(if pieces.date().year() < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX })
}

impl From<Rfc3339> for jiff::Timestamp {
    /// The same moment; the bounds of the type for one beyond them.
    fn from(Rfc3339(at): Rfc3339) -> Self {
        let bound = if at.as_micros() < 0 { Self::MIN } else { Self::MAX };
        Self::from_microsecond(at.as_micros()).unwrap_or(bound)
    }
}

/// A word of a fixed list, written without a copy. A client reads words that are newer than itself, too.
pub type Word = Cow<'static, str>;

/// A duration as seconds, for what was measured.
#[must_use]
pub fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// Values in one parameter, separated by commas; the parameter may be repeated too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commas<T>(pub Vec<T>);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Commas<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let values = text.split(',').filter(|part| !part.is_empty()).map(|part| T::from_str(part.trim()));
        values.collect::<Result<_, _>>().map(Self).map_err(de::Error::custom)
    }
}

/// Gives a type of another crate its place in the OpenAPI document.
macro_rules! described {
    ($(#[doc = $doc:literal])+ $type:ident as $name:literal, $schema:expr) => {
        $(#[doc = $doc])+
        pub struct $type;

        #[cfg(feature = "openapi")]
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                let described: ObjectBuilder = $schema;
                described.description(Some(concat!($($doc),+).trim_ascii())).into()
            }
        }

        #[cfg(feature = "openapi")]
        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                $name.into()
            }
        }
    };
}

#[cfg(feature = "openapi")]
fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

#[cfg(feature = "openapi")]
fn one_of<'a>(values: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    text().enum_values(Some(values.into_iter().map(str::to_owned)))
}

described! {
    /// An identifier: 1 to 128 characters of `A-Z a-z 0-9 . _ : / -`. Percent-encode it in paths.
    NameDoc as "Name", text().min_length(Some(1)).max_length(Some(128)).pattern(Some("^[A-Za-z0-9._:/-]+$"))
}
described! {
    /// A queue's name, or a pattern of names, in which `*` matches any characters or none, and is not beside another `*`.
    QueuePatternDoc as "QueuePattern",
    text().min_length(Some(1)).max_length(Some(128)).pattern(Some(r"^\*?([A-Za-z0-9._:/-]+\*?)*$"))
}
described! {
    /// A task's id: 1 to 128 characters of `A-Z a-z 0-9 . _ : / - = % + @`, and not `.` or `..`. Percent-encode it in paths.
    TaskIdDoc as "TaskId", text().min_length(Some(1)).max_length(Some(128)).pattern(Some("^[A-Za-z0-9._:/=%+@-]+$"))
}
described! {
    /// The status of a task. All but `waiting`, `scheduled`, `submitted` and `started` are over.
    StatusDoc as "Status", one_of(Status::ALL.map(Status::as_str))
}
described! {
    /// How the delay grows from retry to retry.
    BackoffDoc as "Backoff",
    one_of([Backoff::Constant, Backoff::Linear, Backoff::Exponential, Backoff::ExponentialJitter].map(Backoff::as_str))
}
described! {
    /// What happens when the heartbeats of a running task stay away although its worker lives.
    OnStallDoc as "OnStall", one_of(["stall", "retry", "fail"])
}
described! {
    /// What a submission does when another task holds its unique key: `reject` refuses it, `return` answers with that
    /// task, `replace` cancels that task, `keep_last` makes that task what the submission says; the latter two refuse it if
    /// that task runs.
    OnDuplicateDoc as "OnDuplicate", one_of(OnDuplicate::ALL.map(OnDuplicate::as_str))
}
described! {
    /// What the end of a task means to one that waits for it. `abort_successors`: that one runs if the task completed,
    /// and is aborted after any other end, and so are those that wait for it. `run_with_failures`: it runs after any end.
    /// `run_on_error`: it runs if the task is failed, stalled, dropped or aborted, and is aborted if it completed or was
    /// cancelled.
    DependencyPolicyDoc as "DependencyPolicy", one_of(DependencyPolicy::ALL.map(DependencyPolicy::as_str))
}
described! {
    /// What follows if a signal has not come in time. `abort`: the task is aborted, and the tasks that wait for it go by their
    /// policies. `run`: the task runs all the same, once it waits for nothing else.
    OnTimeoutDoc as "OnTimeout", one_of(OnTimeout::ALL.map(OnTimeout::as_str))
}
described! {
    /// How far a signal is. `unneeded`: the task ended before it came.
    SignalStateDoc as "SignalState", one_of(SignalState::ALL.map(SignalState::as_str))
}
described! {
    /// Where a run of a workflow is. `completed`, `failed` and `cancelled` are over.
    RunStateDoc as "WorkflowState", one_of(RunState::ALL.map(RunState::as_str))
}
described! {
    /// The rule for a submission that names a queue itself: `allow` sends it there; `forbid` refuses it, unless the queue
    /// is one that the rule may choose for it.
    ExplicitQueueDoc as "ExplicitQueue", one_of(["allow", "forbid"])
}
described! {
    /// What a stopping worker does with the task.
    OnShutdownDoc as "OnShutdown", one_of(["finish", "requeue", "fail"])
}
described! {
    /// What the order of a role's queues means.
    QueueOrderDoc as "QueueOrder", one_of(["strict", "weighted"])
}
described! {
    /// Whether the task is kept in the dead-letter store when it fails for good.
    DeadLetterDoc as "DeadLetterPolicy", one_of(["none", "save"])
}
described! {
    /// How a task ends when its tries are used up.
    ExhaustedDoc as "Exhausted", one_of(["failed", "aborted"])
}
described! {
    /// What has become of a dead letter.
    LetterStateDoc as "DeadLetterState", one_of(LetterState::ALL.map(LetterState::as_str))
}
described! {
    /// The state of an operation that sends dead letters again.
    OperationStateDoc as "ResubmitOperationState", one_of(OperationState::ALL.map(OperationState::as_str))
}
described! {
    /// The outcome of a change.
    ChangeResultDoc as "ChangeResult", one_of(ChangeResult::ALL.map(ChangeResult::as_str))
}
described! {
    /// By which way a change came.
    WayDoc as "Way", one_of(Way::ALL.map(Way::as_str))
}
described! {
    /// What of a task a list shows only when it is asked for.
    IncludeDoc as "Include", one_of(["parameters", "result", "errors"])
}
described! {
    /// How bytes are written: as they are, for they are UTF-8, or as base64.
    DataEncodingDoc as "DataEncoding", one_of([TEXT, BASE64])
}
described! {
    /// Any JSON value, kept as it was sent.
    AnyJsonDoc as "AnyJson", ObjectBuilder::new().schema_type(utoipa::openapi::schema::SchemaType::AnyValue)
}

#[cfg(feature = "openapi")]
impl PartialSchema for Rfc3339 {
    fn schema() -> RefOr<Schema> {
        text().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).into()
    }
}

#[cfg(feature = "openapi")]
impl ToSchema for Rfc3339 {
    fn name() -> Cow<'static, str> {
        "Time".into()
    }
}

/// A duration: `500ms`, `10s`, `5m`, `2h`, `1d`; a bare number is seconds.
pub struct DurationDoc;

#[cfg(feature = "openapi")]
impl PartialSchema for DurationDoc {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(text().pattern(Some("^[0-9.]+ *(us|ms|s|m|h|d)?$")))
            .item(ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0)))
            .description(Some("A duration: 500ms, 10s, 5m, 2h, 1d; a bare number is seconds."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl ToSchema for DurationDoc {
    fn name() -> Cow<'static, str> {
        "Duration".into()
    }
}

/// One version, or a range of them.
pub struct VersionsDoc;

#[cfg(feature = "openapi")]
impl PartialSchema for VersionsDoc {
    fn schema() -> RefOr<Schema> {
        let version = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).maximum(Some(u32::MAX));
        let range = ObjectBuilder::new().property("from", version()).property("to", version());
        let range = range.min_properties(Some(1)).additional_properties(Some(AdditionalProperties::FreeForm(false)));
        OneOfBuilder::new()
            .item(version())
            .item(range)
            .description(Some(
                "A version, or a range of versions: `from` and `to` belong to it, and either may be left out.",
            ))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl ToSchema for VersionsDoc {
    fn name() -> Cow<'static, str> {
        "Versions".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_as_rfc_3339() {
        let at: Rfc3339 = serde_json::from_str("\"2026-11-21T10:30:00.25+02:00\"").unwrap();
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-11-21T08:30:00.25Z\"");
        assert!(serde_json::from_str::<Rfc3339>("\"tomorrow\"").is_err());
    }

    #[test]
    fn lists_are_split_at_commas() {
        let statuses: Commas<Status> = serde_json::from_str("\"failed, stalled\"").unwrap();
        assert_eq!(statuses.0, [Status::Failed, Status::Stalled]);
        assert!(serde_json::from_str::<Commas<Status>>("\"failed,lost\"").is_err());
    }
}
