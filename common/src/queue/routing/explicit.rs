//! Submissions that name a queue themselves, where a rule forbids it.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{Draw, Route, RouteKey, RouteRule, choose, find_rule};
use crate::name::{QueueName, TaskName};

/// The rule for a submission that names a queue itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplicitQueue {
    /// It goes to the queue it names.
    #[default]
    Allow,
    /// It is refused, unless it names a queue that the rule may choose for it.
    Forbid,
}

impl fmt::Display for ExplicitQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl ExplicitQueue {
    pub(super) const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow)
    }
}

impl RouteRule {
    /// Whether a submission may name this queue. Where the rule forbids it, one that the rule itself may choose is no harm:
    /// any queue of a rule by turns or weights, and with a hash the one for these parameters, for there equal values are
    /// to meet. `parameter` as for [`choose`].
    pub fn permits(&self, queue: &QueueName, parameter: impl FnOnce(&str) -> Option<String>) -> bool {
        match (self.explicit_queue, &self.route) {
            (ExplicitQueue::Allow, _) => true,
            (ExplicitQueue::Forbid, Route::Hash { .. }) => {
                choose(&self.route, Draw { random: 0, count: 0 }, parameter) == Some(queue)
            }
            (ExplicitQueue::Forbid, route) => route.queues().any(|named| named == queue),
        }
    }
}

/// A submission named a queue where the rule for its task forbids it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the routing rule of {rule} forbids to name queue {queue}; it routes to {}", list(queues))]
pub struct QueueForbidden {
    /// Whose rule.
    pub rule: RouteKey,
    /// What was named.
    pub queue: QueueName,
    /// The queues of the rule.
    pub queues: Vec<QueueName>,
}

fn list(queues: &[QueueName]) -> String {
    queues.iter().map(QueueName::as_str).collect::<Vec<_>>().join(", ")
}

/// Checks whether a submission may name this queue.
///
/// # Errors
/// [`QueueForbidden`] by [`RouteRule::permits`] of the rule for its task; without a rule everything is allowed.
pub fn check_explicit(
    routes: &BTreeMap<RouteKey, RouteRule>,
    name: &TaskName,
    version: u32,
    queue: &QueueName,
    parameter: impl FnOnce(&str) -> Option<String>,
) -> Result<(), QueueForbidden> {
    match find_rule(routes, name, version) {
        Some((key, rule)) if !rule.permits(queue, parameter) => {
            Err(QueueForbidden { rule: key.clone(), queue: queue.clone(), queues: rule.queues().cloned().collect() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Versions, *};

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn forbidding(route: Route) -> RouteRule {
        RouteRule { route, explicit_queue: ExplicitQueue::Forbid }
    }

    #[test]
    fn where_naming_a_queue_is_forbidden_only_what_the_rule_may_choose_is_permitted() {
        let (a, b, c) = (queue("a"), queue("b"), queue("c"));
        let turns = Route::RoundRobin { queues: vec![a.clone(), b.clone()] };
        assert!(RouteRule::from(turns.clone()).permits(&c, |_| None), "unless it is forbidden, all may be named");
        let permitted = |rule: &RouteRule| [&a, &b, &c].map(|queue| rule.permits(queue, |_| None));
        assert_eq!(permitted(&forbidding(turns)), [true, true, false]);
        assert_eq!(permitted(&forbidding(Route::Single { queue: b.clone() })), [false, true, false]);
        let hash = Route::Hash { parameter: "user".to_owned(), queues: vec![a.clone(), b.clone()] };
        let at = |user: &str| choose(&hash, Draw { random: 0, count: 0 }, |_| Some(user.to_owned())).unwrap().clone();
        let rule = forbidding(hash.clone());
        for user in ["1", "2", "3", "4"] {
            let others = [&a, &b, &c].into_iter().filter(|queue| rule.permits(queue, |_| Some(user.to_owned())));
            assert_eq!(others.collect::<Vec<_>>(), [&at(user)], "equal values are to meet");
        }
    }

    #[test]
    fn what_was_stored_before_rules_could_forbid_reads_as_it_did() {
        let stored = r#"{"kind":"single","queue":"a"}"#;
        let rule: RouteRule = serde_json::from_str(stored).unwrap();
        assert_eq!(rule, Route::Single { queue: queue("a") }.into());
        assert_eq!(serde_json::to_string(&rule).unwrap(), stored);
        let text = serde_json::to_string(&forbidding(rule.route)).unwrap();
        assert_eq!(text, r#"{"kind":"single","queue":"a","explicit_queue":"forbid"}"#);
        assert_eq!(serde_json::from_str::<RouteRule>(&text).unwrap().explicit_queue, ExplicitQueue::Forbid);
        let key: RouteKey = serde_json::from_str(r#"{"name":"t","version":2}"#).unwrap();
        assert_eq!((key.versions, key.to_string().as_str()), (Versions::one(2), "t@2"));
    }
}
