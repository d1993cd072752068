//! Commands about what a system is set to do: queues, roles, routes, schedules, workflows and keys.

pub mod apply;
pub mod keys;
pub mod queues;
pub mod roles;
pub mod routes;
pub mod schedules;
pub mod workflow;
