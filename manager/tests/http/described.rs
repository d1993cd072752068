//! What the description of the API promises: operations, examples, errors.

pub(crate) mod contract;
mod errors;
mod openapi;
