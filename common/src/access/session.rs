//! A session: a person who has signed in at the pages with an access key.

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::name::KeyId;

/// Whose session it is. The store keeps it under the digest of a random text, which the person's browser has. Stored, so fields
/// are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The key that it was begun with.
    pub key: KeyId,
    /// The secret of that key that was given: the session ends with it.
    pub secret: Digest,
}
