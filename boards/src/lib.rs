//! Fronts for clients of other task stores, over the boards of an engine ([`jobbers_common::engine::boards`]).
//!
//! A front translates one wire format into commits and takes, and keeps no state of its own. It does not decide what is
//! stored, and knows no engine. Start reading at [`masstasker`] and [`taskstore`].

pub mod masstasker;
pub mod taskstore;

/// The owner that bridges write with ([`jobbers_common::engine::boards::task::BoardTask::owner`]).
///
/// A client's id has 32 bits, so no client is this owner. What has it was changed by a bridge last. TaskStore's clients read
/// it as the lowest id that they can read.
pub const BRIDGE_OWNER: i64 = i64::MIN;
