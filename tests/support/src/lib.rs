//! What tests of whole processes need: real programs, stores that are started for one test, side effects that can be
//! counted, and faults.
//!
//! A failed expectation in here is a failed test, so it panics and says what was expected. Nothing here is part of the
//! product. Start reading at [`program`].

#![expect(clippy::expect_used, reason = "an expectation that fails here is a failed test")]

pub mod api;
pub mod authority;
pub mod binaries;
pub mod collector;
pub mod effects;
pub mod fault_proxy;
pub mod mariadb_server;
pub mod port;
pub mod postgres_server;
pub mod program;
pub mod prometheus;
pub mod recording_proxy;
pub mod redis_fleet;
pub mod redis_server;
pub mod redis_user;
pub mod shims;
pub mod small_disk;
pub mod tls;
mod unprivileged;
pub mod wait;

pub use jobbers_api::client::http_client;
