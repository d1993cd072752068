//! What a task declares besides its function: the defaults of its submissions, its unique key, the schema of its parameters.
//!
//! It calls no task function and knows no client.

pub(crate) mod defaults;
pub(crate) mod schema;
pub(crate) mod uniqueness;
