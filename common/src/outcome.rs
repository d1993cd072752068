//! What an attempt's outcome does to its task: one decision, made the same way by every runtime and every engine.
//!
//! It knows no store's rows.

pub mod panic;
pub mod settling;
pub mod transition;
