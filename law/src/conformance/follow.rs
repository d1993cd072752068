//! What follows a move of a task: one file for each feature, as in the engines.

pub mod added_dependencies;
pub mod bytes;
pub mod dependencies;
pub mod fan_in;
pub mod gates;
pub mod graphs;
pub mod history;
pub mod letters;
pub mod limits;
pub mod parents;
pub mod refusals;
pub mod signals;
pub mod spontaneous;
pub mod suspicion;
pub mod tombstones;
pub mod unique;
