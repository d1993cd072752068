//! Signals from outside on the wire.

use std::{fmt, time::Duration};

use jobbers_common::{
    dependency::signal::{AwaitedSignal, ExternalSignal, OnTimeout, SignalState},
    lifecycle::Status,
    name::{SignalName, TaskId},
    values::duration,
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
#[cfg(feature = "openapi")]
use utoipa::{
    PartialSchema,
    openapi::{RefOr, Schema},
};

use crate::{
    openapi::ToSchema,
    value::{DurationDoc, NameDoc, OnTimeoutDoc, Rfc3339, SignalStateDoc, StatusDoc, TaskIdDoc},
};

/// A signal to wait for: its name, or an object that also says how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalRequest(pub AwaitedSignal);

/// A signal to wait for, and how long it may take.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignalWithTimeout)]
pub struct Awaited {
    /// Its name, among those of the task.
    #[schema(value_type = NameDoc)]
    pub name: SignalName,
    /// How long it may take from when the task waits for no other task. Default: without end.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub timeout: Option<Duration>,
    /// What follows if it takes longer. Default: `abort`.
    #[serde(default)]
    #[schema(value_type = OnTimeoutDoc, required = false)]
    pub on_timeout: OnTimeout,
}

impl<'de> Deserialize<'de> for SignalRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SignalVisitor)
    }
}

impl Serialize for SignalRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AwaitedSignal { name, timeout, on_timeout } = self.0.clone();
        Awaited { name, timeout, on_timeout }.serialize(serializer)
    }
}

struct SignalVisitor;

impl<'de> Visitor<'de> for SignalVisitor {
    type Value = SignalRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signal's name, or an object with name, timeout and on_timeout")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<SignalRequest, E> {
        let name = SignalName::new(name).map_err(E::custom)?;
        Ok(SignalRequest(AwaitedSignal { name, timeout: None, on_timeout: OnTimeout::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SignalRequest, A::Error> {
        let Awaited { name, timeout, on_timeout } = Awaited::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SignalRequest(AwaitedSignal { name, timeout, on_timeout }))
    }
}

#[cfg(feature = "openapi")]
impl PartialSchema for SignalRequest {
    fn schema() -> RefOr<Schema> {
        utoipa::openapi::OneOfBuilder::new()
            .item(NameDoc::schema())
            .item(Awaited::schema())
            .description(Some("A signal to wait for: its name, or an object that also says how long it may take."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl ToSchema for SignalRequest {
    fn name() -> std::borrow::Cow<'static, str> {
        "AwaitedSignal".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((OnTimeoutDoc::name().into_owned(), OnTimeoutDoc::schema()));
        schemas.push((DurationDoc::name().into_owned(), DurationDoc::schema()));
    }
}

/// A signal to send.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SendSignal)]
pub struct SendSignal {
    /// Its name, among those of the task.
    #[schema(value_type = NameDoc)]
    pub name: SignalName,
    /// If the task does not exist yet: for how long the signal is kept for it, at most a day. Default: it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "duration::text::option")]
    #[schema(value_type = Option<DurationDoc>)]
    pub keep_for: Option<Duration>,
}

/// What a signal did.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SignalledTask)]
pub struct SignalledView {
    /// The task's id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// Whether it came for the first time.
    pub is_new: bool,
    /// The task's status now, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StatusDoc>)]
    pub status: Option<Status>,
    /// Until when it is kept for the task, if that does not exist yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<Rfc3339>,
}

/// A signal of a task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = ExternalSignal)]
pub struct SignalView {
    /// Its name.
    #[schema(value_type = NameDoc)]
    pub name: SignalName,
    /// How far it is.
    #[schema(value_type = SignalStateDoc)]
    pub state: SignalState,
    /// How long it may take. Absent: without end.
    #[serde(default, with = "duration::text::option", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub timeout: Option<Duration>,
    /// Until when it must come, once the task waits for no other task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Rfc3339>,
    /// What follows if it takes longer.
    #[schema(value_type = OnTimeoutDoc)]
    pub on_timeout: OnTimeout,
    /// When it came or timed out, or when the task ended without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Rfc3339>,
}

impl From<&ExternalSignal> for SignalView {
    fn from(signal: &ExternalSignal) -> Self {
        let ExternalSignal { name, state, timeout, due, on_timeout, at } = signal;
        let (due, at) = (due.map(Rfc3339), at.map(Rfc3339));
        Self { name: name.clone(), state: *state, timeout: *timeout, due, on_timeout: *on_timeout, at }
    }
}
