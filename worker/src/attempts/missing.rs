//! What the attempts of a worker need and it does not have: each is logged once.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Most ids of codecs that are remembered: they come from the store.
const MOST_CODECS: usize = 64;

/// The types of states that attempts asked for, and the ids of the codecs of their payloads.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    states: Mutex<BTreeSet<&'static str>>,
    codecs: Mutex<BTreeSet<String>>,
}

impl Missing {
    /// Notes that the worker has no state of this type. Returns true for the first time.
    pub(crate) fn note_state(&self, type_name: &'static str) -> bool {
        self.states.lock().insert(type_name)
    }

    /// The types of states that were missing since the last call.
    pub(crate) fn take_states(&self) -> BTreeSet<&'static str> {
        std::mem::take(&mut *self.states.lock())
    }

    /// Notes that the worker has no codec of this id. Returns true for the first time.
    pub(crate) fn note_codec(&self, id: &str) -> bool {
        let mut codecs = self.codecs.lock();
        codecs.len() < MOST_CODECS && codecs.insert(id.to_owned())
    }
}
