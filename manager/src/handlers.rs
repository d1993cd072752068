//! What the handlers of all operations share: extractors, entity tags, the way to the archive, and their part of the OpenAPI
//! document.
//!
//! It knows no operation.

pub(crate) mod archive;
pub(crate) mod described;
pub(crate) mod etag;
pub(crate) mod examples;
pub(crate) mod extract;
pub(crate) mod problem;
