//! Chooses the queue of a submission. A pure function of the rules, the submission and one random draw.
//!
//! The rules of one task's name are ranges of versions that are disjoint or nested ([`check_place`] ensures it), so
//! that each version has one most specific rule, whatever the order in which they were stored.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    name::{QueueName, TaskName},
    payload::Payload,
    values::exact::Exact,
};

mod explicit;
mod find;
mod turns;
mod versions;

pub use explicit::{ExplicitQueue, QueueForbidden, check_explicit};
pub use find::{RuleOverlap, check_place, find_rule};
pub use turns::Turns;
pub use versions::{EmptyRange, Versions};

/// The tasks of a rule. Keys are in the order of names; for one name, a range comes before those within it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RouteKey {
    /// The task's name.
    pub name: TaskName,
    /// Its versions, except those of a narrower rule.
    #[serde(default, rename = "version", skip_serializing_if = "Versions::is_all")]
    pub versions: Versions,
}

/// `resize`, `resize@3`, `resize@2-5`.
impl fmt::Display for RouteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.versions.is_all() { self.name.fmt(f) } else { write!(f, "{}@{}", self.name, self.versions) }
    }
}

/// A queue and its share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedQueue {
    /// The queue.
    pub queue: QueueName,
    /// Its share, relative to the others'; at least 1.
    pub weight: u32,
}

/// How the tasks of a [`RouteKey`] find their queue. Stored, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRule {
    /// Where tasks go that name no queue.
    #[serde(flatten)]
    pub route: Route,
    /// The rule for tasks that name one.
    #[serde(default, skip_serializing_if = "ExplicitQueue::is_allowed")]
    pub explicit_queue: ExplicitQueue,
}

impl From<Route> for RouteRule {
    fn from(route: Route) -> Self {
        Self { route, explicit_queue: ExplicitQueue::Allow }
    }
}

impl RouteRule {
    /// Every queue the rule names.
    pub fn queues(&self) -> impl Iterator<Item = &QueueName> {
        self.route.queues()
    }

    /// Checks that the route has a queue and no share of 0.
    ///
    /// # Errors
    /// The problem, in a sentence.
    pub fn validate(&self) -> Result<(), String> {
        self.route.validate()
    }
}

/// Where tasks go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Route {
    /// All to one.
    Single {
        /// The queue.
        queue: QueueName,
    },
    /// By chance, in proportion to the weights.
    Weighted {
        /// The queues and their shares.
        queues: Vec<WeightedQueue>,
    },
    /// One after the other, by a counter of the manager.
    RoundRobin {
        /// The queues.
        queues: Vec<QueueName>,
    },
    /// By a top-level field of the JSON parameters: equal values always meet in one queue.
    Hash {
        /// The field's name.
        parameter: String,
        /// The queues.
        queues: Vec<QueueName>,
    },
}

impl Route {
    /// Every queue it names.
    fn queues(&self) -> impl Iterator<Item = &QueueName> {
        let (one, weighted, plain) = match self {
            Self::Single { queue } => (Some(queue), None, None),
            Self::Weighted { queues } => (None, Some(queues), None),
            Self::RoundRobin { queues } | Self::Hash { queues, .. } => (None, None, Some(queues)),
        };
        one.into_iter()
            .chain(weighted.into_iter().flatten().map(|share| &share.queue))
            .chain(plain.into_iter().flatten())
    }

    fn validate(&self) -> Result<(), String> {
        if self.queues().next().is_none() {
            return Err("a routing rule must name at least one queue".to_owned());
        }
        match self {
            Self::Weighted { queues } if queues.iter().any(|share| share.weight == 0) => {
                Err("a weight must be at least 1".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The random number and the count that a choice may need.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    /// Any number, uniform over `u64`; feeds `weighted`.
    pub random: u64,
    /// How many tasks of this key were routed before; feeds `round_robin`.
    pub count: u64,
}

/// The text by which `hash` knows a top-level field of JSON parameters: the value written in canonical form, so that
/// two spellings of one value (escapes, blanks, `1` and `1.0`) give the same text in every process, and two numbers never
/// do. `None` if the field does not exist, or the parameters are not an object.
#[must_use]
pub fn field_text(parameters: &Payload, field: &str) -> Option<String> {
    Exact::field(&parameters.bytes, field).map(|value| value.to_string())
}

/// The queue of a route. `parameter` looks up a top-level field of the parameters ([`field_text`]); a task without it
/// hashes like an empty one. `None` only for a route without queues.
#[must_use]
pub fn choose<'a>(
    route: &'a Route,
    draw: Draw,
    parameter: impl FnOnce(&str) -> Option<String>,
) -> Option<&'a QueueName> {
    let pick = |queues: &'a [QueueName], n: u64| {
        let len = u64::try_from(queues.len()).ok().filter(|len| *len > 0)?;
        queues.get(usize::try_from(n % len).ok()?)
    };
    match route {
        Route::Single { queue } => Some(queue),
        Route::RoundRobin { queues } => pick(queues, draw.count),
        Route::Hash { parameter: field, queues } => {
            pick(queues, xxh3_64(parameter(field).unwrap_or_default().as_bytes()))
        }
        Route::Weighted { queues } => {
            let total: u64 = queues.iter().map(|share| u64::from(share.weight)).sum();
            let mut rest = draw.random.checked_rem(total)?;
            queues
                .iter()
                .find(|share| {
                    let weight = u64::from(share.weight);
                    let hit = rest < weight;
                    rest = rest.saturating_sub(weight);
                    hit
                })
                .map(|share| &share.queue)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn weights_are_shares() {
        let rule = Route::Weighted {
            queues: vec![
                WeightedQueue { queue: queue("a"), weight: 3 },
                WeightedQueue { queue: queue("b"), weight: 1 },
            ],
        };
        let hits = (0..400)
            .filter(|&random| choose(&rule, Draw { random, count: 0 }, nothing).unwrap().as_str() == "a")
            .count();
        assert_eq!(hits, 300);
    }

    #[test]
    fn round_robin_takes_turns() {
        let rule = Route::RoundRobin { queues: vec![queue("a"), queue("b"), queue("c")] };
        let turns: Vec<_> =
            (0..4).map(|count| choose(&rule, Draw { random: 7, count }, nothing).unwrap().as_str()).collect();
        assert_eq!(turns, ["a", "b", "c", "a"]);
    }

    #[test]
    fn equal_values_meet_in_one_queue() {
        let rule =
            Route::Hash { parameter: "user".to_owned(), queues: (0..8).map(|n| queue(&format!("q{n}"))).collect() };
        let at = |value: &str, random| {
            choose(&rule, Draw { random, count: random }, |field| {
                assert_eq!(field, "user");
                Some(value.to_owned())
            })
        };
        assert_eq!(at("42", 1), at("42", 2));
        assert!((0..100).map(|n| at(&n.to_string(), 0)).any(|queue| queue != at("0", 0)));
    }

    #[test]
    fn one_value_in_two_spellings_is_one_text() {
        let text = |json: &'static str| field_text(&Payload::json(json), "user");
        assert_eq!(text(r#"{"user":"A/b"}"#), text(r#"{ "user" : "\u0041\/b" }"#));
        assert_eq!(text(r#"{"user":[1, 2]}"#), Some("[1,2]".to_owned()));
        assert_eq!(text(r#"{"user":9007199254740993}"#), Some("9007199254740993".to_owned()));
        assert_eq!(text(r#"{"user":1.10}"#), text(r#"{"user":11e-1}"#));
        assert_ne!(
            text(r#"{"user":12345678901234567890123456789}"#),
            text(r#"{"user":12345678901234567890123456780}"#)
        );
        assert_eq!(text(r#"{"user":1e400}"#), Some("1e400".to_owned()));
        assert_eq!(field_text(&Payload::json("[1]"), "0"), None);
        assert_ne!(text(r#"{"user":1}"#), text(r#"{"user":"1"}"#));
        assert_eq!((text(r#"{"other":1}"#), text("[1]"), text("")), (None, None, None));
    }

    #[test]
    fn a_rule_without_queues_is_refused() {
        assert!(Route::RoundRobin { queues: vec![] }.validate().is_err());
        let zero = Route::Weighted { queues: vec![WeightedQueue { queue: queue("a"), weight: 0 }] };
        assert!(zero.validate().is_err());
        assert_eq!(choose(&zero, Draw { random: 0, count: 0 }, nothing), None);
    }
}
