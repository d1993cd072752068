//! Defaults < address file of a running system < file < environment < flags.

mod error;
#[cfg(feature = "cli")]
mod layers;
mod variables;

#[cfg(feature = "cli")]
pub use self::layers::{SiteKeys, is_flag, layered, layered_on_site};
pub use self::{error::ConfigError, variables::of_variables};
