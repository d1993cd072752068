//! What the author of a task writes and reads: the function and its arguments, its errors, its schedules, the registry.
//!
//! It knows neither how an attempt is run nor how tasks are claimed.

pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod extractor;
pub(crate) mod parents;
pub(crate) mod registry;
pub(crate) mod schedules;
mod submit;
pub(crate) mod task_fn;
