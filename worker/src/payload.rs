//! How parameters and results become bytes, and what codecs do with them on their way to the store and back.
//!
//! It knows no task, no attempt and no client.

pub(crate) mod codec;
pub(crate) mod encoding;
