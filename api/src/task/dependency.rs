//! Dependencies of tasks on the wire.

use std::fmt;

use jobbers_common::{
    dependency::{Dependencies, Dependency, DependencyPolicy, EndedPredecessor},
    engine::dependencies::NewDependency,
    lifecycle::Status,
    name::TaskId,
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

use super::signal::SignalView;
use crate::{
    openapi::ToSchema,
    value::{DependencyPolicyDoc, StatusDoc, TaskIdDoc},
};

/// A task to wait for: its id, or an object that also says what its end means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyRequest(pub Dependency);

/// A task to wait for, and what its end means.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DependencyWithPolicy)]
pub struct Edge {
    /// The task's id: one that is stored, or a task of the same batch.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// What its end means. Default: `abort_successors`.
    #[serde(default)]
    #[schema(value_type = DependencyPolicyDoc, required = false)]
    pub policy: DependencyPolicy,
}

impl<'de> Deserialize<'de> for DependencyRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EdgeVisitor)
    }
}

impl Serialize for DependencyRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Dependency { on, policy } = self.0.clone();
        Edge { id: on, policy }.serialize(serializer)
    }
}

struct EdgeVisitor;

impl<'de> Visitor<'de> for EdgeVisitor {
    type Value = DependencyRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a task's id, or an object with id and policy")
    }

    fn visit_str<E: de::Error>(self, id: &str) -> Result<DependencyRequest, E> {
        let on = TaskId::new(id).map_err(E::custom)?;
        Ok(DependencyRequest(Dependency { on, policy: DependencyPolicy::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DependencyRequest, A::Error> {
        let Edge { id, policy } = Edge::deserialize(MapAccessDeserializer::new(map))?;
        Ok(DependencyRequest(Dependency { on: id, policy }))
    }
}

#[cfg(feature = "openapi")]
impl PartialSchema for DependencyRequest {
    fn schema() -> RefOr<Schema> {
        utoipa::openapi::OneOfBuilder::new()
            .item(TaskIdDoc::schema())
            .item(Edge::schema())
            .description(Some("A task to wait for: its id, or an object that also says what its end means."))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl ToSchema for DependencyRequest {
    fn name() -> std::borrow::Cow<'static, str> {
        "Dependency".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((DependencyPolicyDoc::name().into_owned(), DependencyPolicyDoc::schema()));
    }
}

/// Tasks that a stored task is to wait for too.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AddDependenciesToTask)]
pub struct AddToTask {
    /// The tasks, 1 to 100: each an id, or an object that also says what its end means.
    #[schema(min_items = 1, max_items = 100)]
    pub depends_on: Vec<DependencyRequest>,
}

/// A dependency between stored tasks.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewDependency)]
pub struct NewDependencyRequest {
    /// The task that waits. It has not started.
    #[schema(value_type = TaskIdDoc)]
    pub run: TaskId,
    /// The task that it waits for. It is not over.
    #[schema(value_type = TaskIdDoc)]
    pub after: TaskId,
    /// What its end means. Default: `abort_successors`.
    #[serde(default)]
    #[schema(value_type = DependencyPolicyDoc, required = false)]
    pub policy: DependencyPolicy,
}

impl From<NewDependency> for NewDependencyRequest {
    fn from(dependency: NewDependency) -> Self {
        let NewDependency { run, after, policy } = dependency;
        Self { run, after, policy }
    }
}

impl From<NewDependencyRequest> for NewDependency {
    fn from(request: NewDependencyRequest) -> Self {
        let NewDependencyRequest { run, after, policy } = request;
        Self { run, after, policy }
    }
}

/// Dependencies between stored tasks.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AddDependencies)]
pub struct AddDependencies {
    /// The dependencies, 1 to 100: all of them are added, or none.
    #[schema(min_items = 1, max_items = 100)]
    pub dependencies: Vec<NewDependencyRequest>,
}

/// The result for dependencies that were to be added.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AddedDependencies {
    /// How many are new.
    pub added: usize,
    /// How many existed before.
    pub existing: usize,
}

impl AddedDependencies {
    /// What the store answered for each: whether it is new.
    pub fn new(answers: &[bool]) -> Self {
        let added = answers.iter().filter(|is_new| **is_new).count();
        Self { added, existing: answers.len() - added }
    }
}

/// How many tasks a task waits for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Dependencies)]
pub struct DependenciesView {
    /// How many tasks and signals it waited for, since its submission or since they were added.
    pub total: u32,
    /// How many of these tasks have signalled their end, and of these signals have come or timed out. The task runs when this
    /// is `total`.
    pub signals: u32,
    /// Whether it ends by itself, as completed, once `signals` is `total`: no worker runs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spontaneous: bool,
    /// The other tasks while it waits, by their ids, the first 100. Not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<DependencyView>,
    /// Its signals from outside, by their names. Not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<SignalView>,
    /// If the task is aborted because of a predecessor: which one, and how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted_by: Option<EndedPredecessorView>,
}

/// A predecessor that has ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = EndedPredecessor)]
pub struct EndedPredecessorView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// How it ended.
    #[schema(value_type = StatusDoc)]
    pub status: Status,
}

/// A task that is waited for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = OpenDependency)]
pub struct DependencyView {
    /// Its id.
    #[schema(value_type = TaskIdDoc)]
    pub id: TaskId,
    /// What its end means.
    #[schema(value_type = DependencyPolicyDoc)]
    pub policy: DependencyPolicy,
}

impl From<&Dependencies> for DependenciesView {
    fn from(dependencies: &Dependencies) -> Self {
        let Dependencies { total, signals, is_spontaneous, waits_for, external, aborted_by } = dependencies;
        let external = external.iter().map(SignalView::from).collect();
        let waits_for =
            waits_for.iter().map(|edge| DependencyView { id: edge.on.clone(), policy: edge.policy }).collect();
        let aborted_by = aborted_by
            .as_ref()
            .map(|EndedPredecessor { id, status }| EndedPredecessorView { id: id.clone(), status: *status });
        Self { total: *total, signals: *signals, spontaneous: *is_spontaneous, waits_for, external, aborted_by }
    }
}
