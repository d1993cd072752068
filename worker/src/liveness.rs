//! What keeps a worker alive for its store: the registration, the renewal of leases, and pauses when the store does not answer.
//!
//! It claims no task and runs none.

pub(crate) mod outage;
pub(crate) mod registrar;
pub(crate) mod renewal;
