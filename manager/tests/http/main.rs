//! The manager over real HTTP, on the reference engine, and `parade` on both others.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed expectation is a failed test")]

mod access;
mod archive;
mod boards;
mod described;
mod fault;
mod history;
mod leases;
mod overview;
mod pages;
mod parade;
mod server;
mod serving;
mod settings;
mod tasks;
