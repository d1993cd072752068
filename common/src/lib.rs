//! What every Jobbers process must agree on.
//!
//! The task and its lifecycle, policies, backoff, routing, limits, and the [`engine::Engine`] trait. This crate does no I/O:
//! it opens no socket or file, reads no clock and no environment, and names no database, HTTP or command-line crate. Time
//! enters through [`time::Clock`].
//!
//! Start reading at [`task`], then [`lifecycle`], then [`engine`].

pub mod values;

pub mod access;
pub mod audit_log;
pub mod dependency;
pub mod engine;
mod error;
pub mod history;
pub mod metrics;
pub mod outcome;
pub mod payload;
pub mod queue;
pub mod schedule;
pub mod submission;
pub mod task;
pub mod worker;
pub mod workflow;

pub use jobbers_terms::{lifecycle, limits, name, policy, time};
