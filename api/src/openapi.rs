//! What describes the types of this crate: utoipa, or nothing without the feature `openapi`.

#[cfg(not(feature = "openapi"))]
pub(crate) use jobbers_undescribed::{IntoParams, ToSchema};
#[cfg(feature = "openapi")]
pub(crate) use utoipa::{IntoParams, ToSchema};
