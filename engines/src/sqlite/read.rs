//! What callers read: tasks, lists, counts, health.

pub(super) mod health;
pub(super) mod list;
pub(super) mod tasks;
