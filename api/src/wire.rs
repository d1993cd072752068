//! How JSON, payloads, paths and cookies are read and written, with errors that name the place.
//!
//! It knows no operation.

pub mod cookie;
pub mod json;
pub mod path;
pub mod payload;
