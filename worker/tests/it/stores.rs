//! A store that fails, goes away or refuses.

pub(crate) mod faulty;
mod outages;
mod refusals;
