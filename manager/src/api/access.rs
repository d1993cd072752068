//! Who may call, who has called: access keys, sessions and the audit log.

pub(super) mod audit_log;
pub(super) mod keys;
pub(super) mod session;
