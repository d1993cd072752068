//! Dead letters: this manager's part in keeping them. They know what they need of it, and not the whole.
//!
//! One manager at a time keeps the archive; which one, a duty in the store says ([`keeper`]). That one moves what the
//! store's outbox holds into the archive, and sends letters again ([`sender`]); the others pass requests on to it ([`pass_on`]).
//! The duty only keeps the work in one place: should two managers believe to have it, the archive's transactions and the
//! store's receipts still make each letter arrive once and be sent once.

pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod finding;
pub(crate) mod gauges;
pub(crate) mod holding;
pub(crate) mod keeper;
mod meters;
pub(crate) mod order;
pub(crate) mod pass_on;
mod patch;
mod sender;
pub(crate) mod view;
