//! Listeners and connections: where a manager listens, which client a request comes from, the request's own name and key, and which
//! web pages may ask.
//!
//! It knows no route and no store.

pub(crate) mod client_address;
pub(crate) mod guard;
pub(crate) mod idempotency;
pub(crate) mod identity;
pub(crate) mod listeners;
pub(crate) mod passed_on;
pub(crate) mod request_id;
pub(crate) mod server;
pub(crate) mod version;
