//! Fronts for clients of other task stores, over the boards of an engine ([`jobbers_common::engine::boards`]).
//!
//! A front translates one wire format into commits and takes, and keeps no state of its own. It does not decide what is
//! stored, and knows no engine. Start reading at [`masstasker`] and [`taskstore`].

pub mod masstasker;
pub mod taskstore;
