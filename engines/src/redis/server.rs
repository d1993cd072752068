//! The way to the server: its address, its connections, and the callers that wait for its messages.

pub(super) mod address;
pub(super) mod awaited_tasks;
pub(super) mod batches;
pub(super) mod connection;
pub(super) mod connection_health;
pub(super) mod connection_probe;
pub(super) mod cycles;
pub(super) mod durability;
pub(super) mod failure;
pub(super) mod following;
pub(super) mod heartbeats;
pub(super) mod line;
pub(super) mod notifications;
pub(super) mod pressure;
pub(super) mod primary;
pub(super) mod replication;
pub(super) mod store;
pub(super) mod tls;
