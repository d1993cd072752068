//! What `jobbers top` shows: a look at the manager, what changed since the one before, and the picture of it.
//!
//! Everything comes from the manager's HTTP API. Nothing is kept beyond the last two looks; for what was an hour ago there
//! are the dashboards. Start reading at [`state`], then [`steer`] and `press`, then [`view`].

pub(crate) mod action;
mod columns;
pub(crate) mod keys;
pub(crate) mod navigation;
pub(crate) mod order;
mod press;
mod rows;
pub(crate) mod screen;
mod sections;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod steer;
mod tables;
pub(crate) mod view;
