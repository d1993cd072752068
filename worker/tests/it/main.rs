//! The worker from outside: tasks of this program on a store in memory, and how the tasks end.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "an expectation that fails here is a failed test")]

mod awaiting;
mod bench;
mod blocking;
mod cancelling;
mod canvas;
mod declarations;
mod declared;
mod draining;
mod encoding;
mod errors;
mod examples;
mod faulty;
mod handles;
mod hooks;
mod kit;
mod layers;
mod leases;
mod outages;
mod outbox;
mod parents;
mod queues;
mod refusals;
mod settling;
mod states;
mod submitting;
mod unknown;
