//! The verbs that change tasks and the configuration, each a call of a script.

pub(super) mod duty;
pub(super) mod matching;
pub(super) mod prune;
pub(super) mod queues;
pub(super) mod reschedule;
pub(super) mod resubmit;
pub(super) mod session;
pub(super) mod settings;
pub(super) mod submit;
pub(super) mod upkeep;
pub(super) mod work;
