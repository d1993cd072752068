//! Notes the hour in which each key was used last.
//!
//! The store is written to once an hour and key at most, by whichever manager is first, and a manager that is refused does not
//! try again within the hour: the note is for people, and nothing is decided by it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jobbers_common::{
    access::AccessKey,
    engine::{Engine, PutMode},
    name::KeyId,
    time::Timestamp,
};
use parking_lot::Mutex;

const HOUR: i64 = Duration::from_hours(1).as_micros() as i64;

/// The hour that this manager noted last, or tried to, by key.
#[derive(Debug, Default)]
pub(crate) struct LastUse(Mutex<HashMap<KeyId, Timestamp>>);

impl LastUse {
    /// Notes that a key is used now. The store is asked in the background.
    pub(crate) fn note(&self, engine: &Arc<dyn Engine>, key: &Arc<AccessKey>, now: Timestamp) {
        let hour = hour_of(now);
        if key.last_used_at.is_some_and(|at| at >= hour) || !self.is_first(&key.id, hour) {
            return;
        }
        let (engine, stored) = (Arc::clone(engine), Arc::clone(key));
        tokio::spawn(async move {
            let used = AccessKey { last_used_at: Some(hour), ..AccessKey::clone(&stored) };
            if let Err(error) = engine.put_key(used, PutMode::Unchanged(AccessKey::clone(&stored))).await {
                tracing::debug!(key = %stored.id, %error, "the last use of a key was not noted");
            }
        });
    }

    fn is_first(&self, id: &KeyId, hour: Timestamp) -> bool {
        let mut noted = self.0.lock();
        if noted.get(id).is_some_and(|at| *at >= hour) {
            return false;
        }
        // Keys that were deleted do not stay for ever.
        noted.retain(|_, at| *at >= hour);
        noted.insert(id.clone(), hour);
        true
    }
}

/// The beginning of the hour of a time.
fn hour_of(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.as_micros().div_euclid(HOUR) * HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_noted_once() {
        let (last_use, id) = (LastUse::default(), KeyId::new("0123456789").unwrap());
        let at = |micros| hour_of(Timestamp::from_micros(micros));
        assert_eq!((at(HOUR - 1), at(HOUR), at(-1)), (at(0), Timestamp::from_micros(HOUR), at(-HOUR)));
        assert!(last_use.is_first(&id, at(HOUR)) && !last_use.is_first(&id, at(2 * HOUR - 1)));
        assert!(last_use.is_first(&id, at(2 * HOUR)) && !last_use.is_first(&id, at(HOUR)), "no clock goes back");
    }
}
