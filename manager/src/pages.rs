//! The pages for people, which [`jobbers_pages`] makes; without the feature `pages`, an error that names it.

#[cfg(feature = "pages")]
pub(crate) use jobbers_pages::{FORM_TOKEN, PageSettings, routes};

#[cfg(not(feature = "pages"))]
pub(crate) use self::absent::{FORM_TOKEN, PageSettings, routes};

#[cfg(not(feature = "pages"))]
mod absent;
