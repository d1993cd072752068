//! The front of TaskStore over the wire, with a plain HTTP client: the conformance list of the reference, the three
//! dialects, bad input, and the map-reduce of the original's documentation.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed expectation is a failed test")]

#[macro_use]
mod store;

mod bad_input;
mod claims;
mod dialects;
mod lists;
mod map_reduce;
mod sequence;
mod updates;
