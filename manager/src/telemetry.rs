//! What a manager counts and times, and the gauges that it reads from the store.
//!
//! It takes what it observes, and knows no request.

pub(crate) mod gauges;
pub(crate) mod meters;
