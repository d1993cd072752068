//! Who may see and do what: signing in, access keys, the audit log.

pub(super) mod audit;
pub(super) mod keys;
pub(super) mod sign_in;
