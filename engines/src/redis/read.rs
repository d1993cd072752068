//! What callers read: tasks, lists, counts, health; and the wait for the end of a task.

pub(super) mod awaiting;
pub(super) mod health;
pub(super) mod list;
pub(super) mod tasks;
