//! Values as people and JSON write them: durations, numbers of any size, texts within a bound.
//!
//! It knows no task.

pub mod counted;
pub mod duration;
pub mod exact;
pub mod number;
#[macro_use]
mod stored_number;
pub mod text;
