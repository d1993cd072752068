//! The worker from outside: tasks of this program on a store in memory, and how the tasks end.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "an expectation that fails here is a failed test")]

mod authors;
mod bench;
mod clients;
mod examples;
mod kit;
mod running;
mod stores;
