//! What each way of submitting needs: ids, the span of a submission, the JSON Schema of its parameters.
//!
//! It knows no request and no store.

pub(crate) mod ids;
pub(crate) mod parameter_schema;
pub(crate) mod sends;
