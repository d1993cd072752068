//! How this program was built, as its build script found it.

use serde::Serialize;

/// A build profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BuildProfile {
    /// `dev`, `release` or `dist`.
    pub name: &'static str,
    /// `0` to `3`.
    pub opt_level: &'static str,
    /// Whether debug assertions are on, so that no figure means anything.
    pub debug_assertions: bool,
}

impl BuildProfile {
    /// That of this program.
    #[must_use]
    pub const fn own() -> Self {
        Self {
            name: env!("JOBBERS_BUILD_PROFILE"),
            opt_level: env!("JOBBERS_BUILD_OPT_LEVEL"),
            debug_assertions: cfg!(debug_assertions),
        }
    }
}
