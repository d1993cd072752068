//! The threads of an open store: one writes for all callers, some read, one watches for other processes, and callers wait.

pub(super) mod commit_listener;
pub(super) mod lookout;
pub(super) mod page_check;
pub(super) mod readers;
pub(super) mod result_slot;
pub(super) mod shared;
pub(super) mod waiters;
pub(super) mod watch;
pub(super) mod writer;
