//! The commands, a file each: their flags, what they ask, and how they show the answer.

pub mod active;
pub mod bench;
pub mod boards;
pub mod cancel;
pub mod complete;
pub mod completions;
pub mod demo;
pub mod dlq;
pub mod doctor;
pub mod explain;
pub mod list;
pub mod pages;
mod parameters;
pub mod queues;
pub mod registry;
pub mod resubmit;
pub mod roles;
pub mod routes;
pub mod scheduled;
pub mod schedules;
pub mod status;
pub mod submit;
pub mod top;
pub mod up;
pub mod workers;
pub mod workflow;
