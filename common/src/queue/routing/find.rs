//! Which rule is the one for a task, and which rules may stand beside each other.

use std::collections::BTreeMap;

use super::{RouteKey, RouteRule, Versions};
use crate::name::TaskName;

/// Two rules that share versions, of which none holds all of the other's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOverlap {
    /// The rule that was to be put.
    pub rule: RouteKey,
    /// The rule that is there.
    pub other: RouteKey,
}

/// The rule for a task: of those whose versions hold its own, the one with the fewest.
#[must_use]
pub fn find_rule<'a>(
    routes: &'a BTreeMap<RouteKey, RouteRule>,
    name: &TaskName,
    version: u32,
) -> Option<(&'a RouteKey, &'a RouteRule)> {
    // The last key that can hold the version; going back, the narrowest that does comes first.
    let last = RouteKey { name: name.clone(), versions: Versions::one(version) };
    let mut before = routes.range(..=&last).rev().take_while(|(key, _)| key.name == *name);
    before.find(|(key, _)| key.versions.contains(version))
}

/// Checks that a rule for `key` may stand among the others: that of two rules which share versions, one holds all of the
/// other's. Otherwise neither of the two would be the more specific one.
///
/// # Errors
/// [`RuleOverlap`], which names the other.
pub fn check_place(routes: &BTreeMap<RouteKey, RouteRule>, key: &RouteKey) -> Result<(), RuleOverlap> {
    let first = RouteKey { name: key.name.clone(), versions: Versions::ALL };
    let mut others = routes.range(&first..).map(|(other, _)| other).take_while(|other| other.name == key.name);
    match others.find(|other| other.versions.crosses(key.versions)) {
        Some(other) => Err(RuleOverlap { rule: key.clone(), other: other.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::Route, *};
    use crate::name::QueueName;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    #[test]
    fn a_version_s_own_rule_wins_over_its_name_s() {
        let name = TaskName::new("resize").unwrap();
        let rule = |name: &str| RouteRule::from(Route::Single { queue: queue(name) });
        let routes = BTreeMap::from([
            (RouteKey { name: name.clone(), versions: Versions::ALL }, rule("any")),
            (RouteKey { name: name.clone(), versions: Versions::one(2) }, rule("two")),
        ]);
        assert_eq!(find_rule(&routes, &name, 2).map(|(_, rule)| rule), Some(&rule("two")));
        assert_eq!(find_rule(&routes, &name, 3).map(|(_, rule)| rule), Some(&rule("any")));
        assert_eq!(find_rule(&routes, &TaskName::new("other").unwrap(), 2), None);
    }

    /// Versions close together, so that ranges meet; and several names, so that they must be distinguished.
    fn keys() -> impl Strategy<Value = Vec<RouteKey>> {
        let end = || proptest::option::of(0_u32..12);
        let key = ("[ab]", end(), end()).prop_filter_map("a range goes upwards", |(name, from, to)| {
            let versions = Versions::range(from, to).ok()?;
            Some(RouteKey { name: TaskName::new(name).unwrap(), versions })
        });
        proptest::collection::vec(key, 0..24)
    }

    /// Puts each where it may stand, and says which were refused.
    fn put_all(keys: Vec<RouteKey>) -> (BTreeMap<RouteKey, RouteRule>, Vec<RouteKey>) {
        let mut routes = BTreeMap::new();
        let mut refused = Vec::new();
        for (at, key) in keys.into_iter().enumerate() {
            match check_place(&routes, &key) {
                Ok(()) => {
                    routes.insert(key, Route::Single { queue: queue(&format!("q{at}")) }.into());
                }
                Err(RuleOverlap { rule, other }) => {
                    assert!(rule == key && routes.contains_key(&other) && other.versions.crosses(key.versions));
                    refused.push(key);
                }
            }
        }
        (routes, refused)
    }

    proptest! {
        #[test]
        fn the_rule_of_a_version_is_the_narrowest_that_holds_it(keys in keys(), version in 0_u32..14) {
            let (routes, _) = put_all(keys);
            for name in ["a", "b"].map(|name| TaskName::new(name).unwrap()) {
                let holding = || routes.keys().filter(|key| key.name == name && key.versions.contains(version));
                let width = |key: &&RouteKey| key.versions.ends().1 - key.versions.ends().0;
                let narrowest = holding().map(|key| width(&key)).min();
                prop_assert_eq!(find_rule(&routes, &name, version).map(|(key, _)| width(&key)), narrowest);
                prop_assert!(holding().filter(|key| Some(width(key)) == narrowest).count() <= 1, "there is one answer");
            }
        }

        #[test]
        fn a_rule_is_refused_only_for_one_it_crosses(keys in keys()) {
            let (routes, refused) = put_all(keys);
            for key in &refused {
                let crossed = |other: &&RouteKey| other.name == key.name && other.versions.crosses(key.versions);
                prop_assert!(routes.keys().any(|other| crossed(&other)), "{key}");
            }
            for (one, other) in routes.keys().flat_map(|one| routes.keys().map(move |other| (one, other))) {
                prop_assert!(one.name != other.name || !one.versions.crosses(other.versions), "{one} {other}");
            }
        }

        #[test]
        fn which_rule_holds_does_not_depend_on_the_order_they_came_in(keys in keys(), version in 0_u32..14) {
            let (routes, _) = put_all(keys);
            let (again, refused) = put_all(routes.keys().rev().cloned().collect());
            prop_assert!(refused.is_empty());
            let name = TaskName::new("a").unwrap();
            let found = |routes: &BTreeMap<_, _>| find_rule(routes, &name, version).map(|(key, _)| key.clone());
            prop_assert_eq!(found(&routes), found(&again));
        }
    }
}
