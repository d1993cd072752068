//! The attempts of a worker, from claim to settlement: their state, their leases, their metrics, and what they miss.
//!
//! It runs no task function and calls no store.

pub(crate) mod attempt;
mod finished;
pub(crate) mod leases;
pub(crate) mod meters;
mod missing;
pub(crate) mod state;
pub(crate) mod undecodable;
