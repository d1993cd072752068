//! The law of [`Engine`](jobbers_common::engine::Engine): what each engine must do, twice.
//!
//! [`conformance`] has a case for every promise of the trait; each engine runs all of them as tests of its own. [`model`] is
//! the same law as a small program in memory: random sequences compare an engine with it, and unit tests use it as a store.
//! [`double`] passes calls on to a store and fails where a test wants it to. For tests only.
//!
//! Start reading at `model/state.rs`, then `conformance/submit.rs`.

pub mod conformance;
pub mod double;
pub mod model;
