//! MassTasker over the wire: a client generated from our own copy of the declarations, against a server on each store.
//!
//! [`wire`] has a test for each point of how MassTasker behaves, [`differences`] one for each deliberate difference, and
//! [`patterns`] one for each pattern of its document.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed expectation is a failed test")]

#[macro_use]
mod stores;
mod differences;
mod gone;
mod limits;
mod patterns;
mod server;
mod silent;
mod waiting;
mod wire;
