//! Access keys, sessions, and the log of what clients changed.

pub mod audit_log;
pub mod key;
pub mod session;
