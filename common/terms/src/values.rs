//! Values as people and JSON write them: durations, and texts within a bound.

pub mod duration;
mod stored_number;
pub mod text;
