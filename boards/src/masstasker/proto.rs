//! The messages, the service and a client of the API, generated from `proto/masstasker.proto`; a test holds them to it.

#![expect(
    missing_docs,
    unused_qualifications,
    clippy::allow_attributes_without_reason,
    clippy::too_many_lines,
    reason = "generated code"
)]

include!("../../proto/masstasker.generated");

/// The declarations of the API, as reflection answers them.
pub const DESCRIPTORS: &[u8] = include_bytes!("../../proto/masstasker.descriptors");
