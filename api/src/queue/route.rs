//! Routing rules: requests and answers as JSON.

use jobbers_common::{
    name::{QueueName, TaskName},
    queue::routing::{self, EmptyRange, ExplicitQueue, RouteKey, RouteRule, Versions, WeightedQueue},
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::{IntoParams, ToSchema},
    problem::{Code, Problem},
    value::{ExplicitQueueDoc, NameDoc, VersionsDoc, version_if_any},
    wire::json,
};

/// A routing rule and the tasks it is for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RoutingRule)]
pub struct Rule {
    /// The tasks' name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Their version, or a range of them. Of several rules for one version the narrowest holds. Default: every version.
    #[serde(default, skip_serializing_if = "Versions::is_all")]
    #[schema(value_type = Option<VersionsDoc>)]
    pub version: Versions,
    /// How they find their queue.
    #[serde(deserialize_with = "json::object")]
    pub route: Route,
    /// The rule for tasks that name a queue themselves. Default: `allow`.
    #[serde(default)]
    #[schema(value_type = Option<ExplicitQueueDoc>)]
    pub explicit_queue: ExplicitQueue,
}

/// How tasks find their queue.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Route {
    /// All to one queue.
    Single {
        /// The queue.
        #[schema(value_type = NameDoc)]
        queue: QueueName,
    },
    /// By chance, in proportion to the weights.
    Weighted {
        /// The queues and their shares.
        #[serde(deserialize_with = "json::objects")]
        queues: Vec<Share>,
    },
    /// One after the other; each manager counts for itself.
    RoundRobin {
        /// The queues.
        #[schema(value_type = Vec<NameDoc>)]
        queues: Vec<QueueName>,
    },
    /// By a top-level field of the parameters: equal values always meet in one queue.
    Hash {
        /// The field's name.
        parameter: String,
        /// The queues.
        #[schema(value_type = Vec<NameDoc>)]
        queues: Vec<QueueName>,
    },
}

/// A queue and its share.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// Its share, relative to the others'.
    #[schema(minimum = 1)]
    pub weight: u32,
}

/// What a deletion did.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = DeletedRule)]
pub struct DeletedRuleView {
    /// Whether the rule existed.
    pub deleted: bool,
}

/// Which rule.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RuleParams {
    /// The tasks' name.
    #[param(value_type = NameDoc)]
    pub name: TaskName,
    /// The version of a rule for one.
    #[serde(default, deserialize_with = "version_if_any")]
    pub version: Option<u32>,
    /// The first version of a rule for a range, unless that is open. Without any of the three: the rule of all versions.
    #[serde(default, deserialize_with = "version_if_any")]
    pub version_from: Option<u32>,
    /// The last one, unless that is open.
    #[serde(default, deserialize_with = "version_if_any")]
    pub version_to: Option<u32>,
}

impl TryFrom<RuleParams> for RouteKey {
    type Error = Problem;

    fn try_from(params: RuleParams) -> Result<Self, Problem> {
        let invalid = |detail: String| Problem::new(Code::InvalidParameter, detail);
        let versions = match (params.version, params.version_from, params.version_to) {
            (Some(version), None, None) => Versions::one(version),
            (Some(_), _, _) => {
                return Err(invalid("version can't stand beside version_from and version_to".to_owned()));
            }
            (None, from, to) => Versions::range(from, to).map_err(|empty: EmptyRange| invalid(empty.to_string()))?,
        };
        Ok(Self { name: params.name, versions })
    }
}

/// All routing rules.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = RoutingRules)]
pub struct RuleListView {
    /// In the order of their names and versions; a range comes before what lies within it.
    pub rules: Vec<Rule>,
}

impl From<(&RouteKey, &RouteRule)> for Rule {
    fn from((key, rule): (&RouteKey, &RouteRule)) -> Self {
        let route = match rule.route.clone() {
            routing::Route::Single { queue } => Route::Single { queue },
            routing::Route::Weighted { queues } => Route::Weighted {
                queues: queues.into_iter().map(|share| Share { queue: share.queue, weight: share.weight }).collect(),
            },
            routing::Route::RoundRobin { queues } => Route::RoundRobin { queues },
            routing::Route::Hash { parameter, queues } => Route::Hash { parameter, queues },
        };
        Self { name: key.name.clone(), version: key.versions, route, explicit_queue: rule.explicit_queue }
    }
}

impl From<Route> for routing::Route {
    fn from(route: Route) -> Self {
        match route {
            Route::Single { queue } => Self::Single { queue },
            Route::Weighted { queues } => Self::Weighted {
                queues: queues
                    .into_iter()
                    .map(|share| WeightedQueue { queue: share.queue, weight: share.weight })
                    .collect(),
            },
            Route::RoundRobin { queues } => Self::RoundRobin { queues },
            Route::Hash { parameter, queues } => Self::Hash { parameter, queues },
        }
    }
}
