//! The files of a store: opened, migrated, kept within their bounds, and checked for what they lost. It knows no task.

pub(super) mod address;
pub(super) mod clock;
pub(super) mod connection;
pub(super) mod damage;
pub(super) mod error;
pub(super) mod heartbeats;
pub(super) mod log_length;
pub(super) mod mark;
pub(super) mod meta;
pub(super) mod quota;
pub(super) mod reserve;
pub(super) mod schema;
pub(super) mod stall;
pub(super) mod statements;
pub(super) mod steps;
