//! A session of the pages: `POST /session`, `DELETE /session`.

use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    value::{Rfc3339, Word},
};

/// What a session is begun with.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSession)]
pub struct SessionRequest {
    /// The text of an access key, `jb_<id>_<secret>`.
    pub key: String,
}

/// Never its key.
impl std::fmt::Debug for SessionRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionRequest { key: … }")
    }
}

/// A session that has begun.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Session)]
pub struct SessionView {
    /// The id of its key.
    #[schema(value_type = String)]
    pub key: Word,
    /// The name of its key.
    pub name: String,
    /// When it ends, unless it is ended before, by a sign-out or with its key.
    pub expires_at: Rfc3339,
}
