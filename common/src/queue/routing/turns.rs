//! What a choice between queues draws: chance, and whose turn it is.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Draw, Route, RouteKey};

/// Counts, for each rule by itself, how many tasks it has routed: two rules that take turns don't take each other's.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<RouteKey, u64>>);

impl Turns {
    /// What the next choice by this rule needs. `random` is asked only where chance decides.
    pub fn draw(&self, key: &RouteKey, route: &Route, random: impl FnOnce() -> u64) -> Draw {
        match route {
            Route::Weighted { .. } => Draw { random: random(), count: 0 },
            Route::RoundRobin { .. } => Draw { random: 0, count: self.take(key) },
            Route::Single { .. } | Route::Hash { .. } => Draw { random: 0, count: 0 },
        }
    }

    /// Forgets deleted rules.
    pub fn retain(&self, exists: impl Fn(&RouteKey) -> bool) {
        self.lock().retain(|key, _| exists(key));
    }

    fn take(&self, key: &RouteKey) -> u64 {
        let mut turns = self.lock();
        // Looked up by reference first: the key is a name, and this is asked for each task.
        if let Some(turn) = turns.get_mut(key) {
            let count = *turn;
            *turn = turn.wrapping_add(1);
            return count;
        }
        turns.insert(key.clone(), 1);
        0
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RouteKey, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{name::TaskName, queue::routing::Versions};

    #[test]
    fn each_rule_takes_its_own_turns() {
        let turns = Turns::default();
        let rule = |name: &str| RouteKey { name: TaskName::new(name).unwrap(), versions: Versions::ALL };
        let route = Route::RoundRobin { queues: Vec::new() };
        let mut draw = |name: &str| turns.draw(&rule(name), &route, || unreachable!()).count;
        assert_eq!(["a", "b", "a", "b", "a"].map(&mut draw), [0, 0, 1, 1, 2]);
        turns.retain(|key| key.name.as_str() == "b");
        assert_eq!(["a", "b"].map(&mut draw), [0, 2], "a was forgotten");
    }
}
