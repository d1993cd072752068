//! What pages are made of: the frame, words and numbers, charts, graphs, payloads, and what an action did.
//!
//! It knows no single page.

pub(super) mod chart;
pub(super) mod done;
pub(super) mod frame;
pub(super) mod graph;
pub(super) mod payload;
pub(super) mod words;
