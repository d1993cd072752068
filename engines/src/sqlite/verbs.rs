//! The verbs that change tasks and the configuration, each a function over one transaction.

pub(super) mod cycle;
pub(super) mod delete;
pub(super) mod duty;
pub(super) mod lease;
pub(super) mod maintain;
pub(super) mod prune;
pub(super) mod registered;
pub(super) mod reschedule;
pub(super) mod resubmit;
pub(super) mod session;
pub(super) mod settings;
pub(super) mod settle;
pub(super) mod submit;
