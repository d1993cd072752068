//! Who looks at a page, and how the page asks the API on their behalf.
//!
//! It makes no HTML.

pub(super) mod ask;
pub(super) mod ready;
pub(super) mod shared;
pub(super) mod token;
pub(super) mod typed;
