//! Values as people and JSON write them: durations, numbers of any size, texts within a bound.
//!
//! It knows no task.

pub mod counted;
pub mod exact;
pub mod number;

pub use jobbers_terms::values::{duration, text};
