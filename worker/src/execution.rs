//! Running one attempt: its lane, the layers and hooks around it, and how it ended.
//!
//! It claims nothing and settles nothing: the fetcher takes what has ended.

pub(crate) mod executor;
pub(crate) mod hooks;
pub(crate) mod lanes;
pub(crate) mod layer;
