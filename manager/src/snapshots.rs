//! What this manager knows of its store, at most seconds old: roles, routing and keys, the tasks of live workers, an overview, totals, workflows.
//!
//! Each takes an engine; none knows the whole manager.

pub(crate) mod definitions;
pub(crate) mod known_tasks;
pub(crate) mod live_config;
pub(crate) mod overview;
mod shared_reading;
pub(crate) mod total_history;
