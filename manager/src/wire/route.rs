//! Routing rules, in and out.

use jobbers_common::{
    name::{QueueName, TaskName},
    routing::{RouteKey, RouteRule, WeightedQueue},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::value::NameDoc;

/// A routing rule and the tasks it is for.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RoutingRule)]
pub struct Rule {
    /// The tasks' name.
    #[schema(value_type = NameDoc)]
    pub name: TaskName,
    /// Their version. Default: every version without a rule of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// How they find their queue.
    pub route: Route,
}

/// How tasks find their queue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// The queue.
    #[schema(value_type = NameDoc)]
    pub queue: QueueName,
    /// Its share, relative to the others'.
    #[schema(minimum = 1)]
    pub weight: u32,
}

/// Which rule.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RuleParams {
    /// The tasks' name.
    #[param(value_type = NameDoc)]
    pub name: TaskName,
    /// Their version; left out for the rule of all versions.
    pub version: Option<u32>,
}

impl From<RuleParams> for RouteKey {
    fn from(params: RuleParams) -> Self {
        Self { name: params.name, version: params.version }
    }
}

/// All routing rules.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RoutingRules)]
pub struct RuleListView {
    /// In the order of their names and versions.
    pub(crate) rules: Vec<Rule>,
}

impl From<(&RouteKey, &RouteRule)> for Rule {
    fn from((key, rule): (&RouteKey, &RouteRule)) -> Self {
        let route = match rule.clone() {
            RouteRule::Single { queue } => Route::Single { queue },
            RouteRule::Weighted { queues } => Route::Weighted {
                queues: queues.into_iter().map(|share| Share { queue: share.queue, weight: share.weight }).collect(),
            },
            RouteRule::RoundRobin { queues } => Route::RoundRobin { queues },
            RouteRule::Hash { parameter, queues } => Route::Hash { parameter, queues },
        };
        Self { name: key.name.clone(), version: key.version, route }
    }
}

impl From<Route> for RouteRule {
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
