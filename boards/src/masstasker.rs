//! MassTasker over gRPC: `masstasker.MassTasker` with Update, Query, BulkSet and Debug.
//!
//! Each call becomes one commit, one take or a walk over lists of the board [`BOARD`]; the id of a task is its revision.
//! What belongs to a call beyond that is here: waiting for a task (`query.rs`), and giving back what its caller did not
//! get (`undelivered.rs`). TLS is the listener's; who may call, the host decides (`gate.rs`).
//!
//! A program without the feature `grpc` has the names and the settings alone. Start reading at `serving.rs`, then
//! `service.rs`.

use jobbers_common::name::BoardName;

#[cfg(feature = "grpc")]
mod bootstrap;
#[cfg(feature = "grpc")]
mod connections;
#[cfg(feature = "grpc")]
mod debug;
#[cfg(feature = "grpc")]
mod detached;
#[cfg(feature = "grpc")]
mod fields;
#[cfg(feature = "grpc")]
mod front;
pub mod gate;
#[cfg(feature = "grpc")]
pub mod proto;
#[cfg(feature = "grpc")]
mod query;
#[cfg(feature = "grpc")]
mod service;
#[cfg(feature = "grpc")]
mod serving;
mod settings;
#[cfg(feature = "grpc")]
mod translate;
#[cfg(feature = "grpc")]
mod undelivered;
pub mod wrapper;

#[cfg(feature = "grpc")]
pub use self::serving::serve;
pub use self::settings::{DEFAULT_MAX_MESSAGE_BYTES, HIGHEST_MAX_MESSAGE_BYTES, Settings};

/// The board that holds the tasks of MassTasker's clients.
pub const BOARD: &str = "masstasker";
/// The port that MassTasker's clients expect.
pub const DEFAULT_PORT: u16 = 50_053;

/// The board's name.
#[must_use]
pub fn board() -> BoardName {
    #[expect(clippy::expect_used, reason = "eight letters")]
    BoardName::new(BOARD).expect("a legal board name")
}
