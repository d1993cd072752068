//! What every Jobbers process must agree on.
//!
//! The task and its lifecycle, policies, backoff, routing, limits, and the [`engine::Engine`] trait. This crate does no I/O:
//! it opens no socket or file, reads no clock and no environment, and names no database, HTTP or command-line crate. Time
//! enters through [`time::Clock`].
//!
//! Start reading at [`task`], then [`lifecycle`], then [`engine`].

#[macro_use]
mod stored_number;

pub mod access;
pub mod audit_log;
pub mod backoff;
pub mod board;
pub mod dead_letter;
pub mod dependency;
pub mod draft;
pub mod duration;
pub mod engine;
pub mod error_kind;
pub mod exact;
pub mod failure;
pub mod gate;
pub mod history;
pub mod label;
pub mod lifecycle;
pub mod limits;
pub mod metadata;
pub mod metrics;
pub mod name;
pub mod number;
pub mod panic;
pub mod payload;
pub mod policy;
pub mod progress;
pub mod queue;
pub mod rate;
pub mod registry;
pub mod routing;
pub mod schedule;
pub mod settling;
pub mod signal;
pub mod suspicion;
pub mod task;
pub mod task_kind;
pub mod template;
pub mod text;
pub mod time;
pub mod tombstone;
pub mod trace;
pub mod transition;
pub mod unique;
pub mod worker;
pub mod workflow;
