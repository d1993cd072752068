//! The routes put together, with the middleware around them.
//!
//! No handler imports it.

mod forms;
mod known_parameters;
mod live_pages;
#[cfg(feature = "boards")]
pub(crate) mod masstasker;
mod middleware;
pub(crate) mod router;
mod swagger_ui;
mod taskstore;
