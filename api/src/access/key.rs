//! Access keys, in and out. Their text is in the answer that issues it, and in no other.

use std::{fmt, time::Duration};

use jobbers_common::{
    access::{AccessKey, Pattern},
    name::KeyId,
    time::Timestamp,
    values::duration,
};
use serde::{Deserialize, Serialize};

use crate::{
    openapi::ToSchema,
    value::{DurationDoc, Rfc3339},
};

/// A key to create. It has a role, scopes, or both.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKey)]
pub struct NewKeyRequest {
    /// What it is for, such as the name of the program that uses it. 1 to 128 bytes.
    pub name: String,
    /// What it may do: `viewer`, `submitter`, `worker`, `operator` or `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Further scopes, such as `queues:read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The queues that it is restricted to: names, or beginnings with a star, such as `team-a.*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<Pattern>,
    /// The names of tasks that it is restricted to, in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub tasks: Vec<Pattern>,
    /// The boards that it is restricted to, in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub boards: Vec<Pattern>,
    /// For how long it is valid. Default: until it is revoked.
    #[serde(default, with = "duration::text::option", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub expires_in: Option<Duration>,
}

/// How a key gets a new secret.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = KeyRotation)]
pub struct RotateKeyRequest {
    /// For how long its earlier secrets stay valid. Default: `24h`.
    #[serde(default, with = "duration::text::option", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DurationDoc>)]
    pub keep: Option<Duration>,
}

/// Whether a key signs clients in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It does.
    Valid,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
}

/// An access key without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Key)]
pub struct KeyView {
    /// Its id, which its text contains.
    #[schema(value_type = String)]
    pub id: KeyId,
    /// What people call it.
    pub name: String,
    /// Whether it signs clients in.
    pub state: KeyState,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Its scopes besides those of its role.
    pub scopes: Vec<String>,
    /// The queues that it is restricted to; absent for no restriction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<Pattern>,
    /// The names of tasks that it is restricted to; absent for no restriction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub tasks: Vec<Pattern>,
    /// The boards that it is restricted to; absent for no restriction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub boards: Vec<Pattern>,
    /// How many of its secrets sign clients in: more than one while a rotation goes on.
    pub valid_secrets: usize,
    /// When it was created.
    pub created_at: Rfc3339,
    /// Who created it.
    pub created_by: String,
    /// The hour in which it was used last; absent if it was never used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Rfc3339>,
    /// From when on it signs no client in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Rfc3339>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Rfc3339>,
}

/// A key, and its text, which is not shown again.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = IssuedKey)]
pub struct IssuedKeyView {
    /// The text to sign in with, `jb_<id>_<secret>`.
    pub key: String,
    /// The key.
    pub about: KeyView,
}

/// All keys.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Keys)]
pub struct KeyListView {
    /// In the order of their ids.
    pub keys: Vec<KeyView>,
}

impl KeyView {
    /// A key as it is at a time.
    #[must_use]
    pub fn of(key: &AccessKey, now: Timestamp) -> Self {
        let state = match key {
            AccessKey { revoked_at: Some(_), .. } => KeyState::Revoked,
            AccessKey { expires_at: Some(end), .. } if *end <= now => KeyState::Expired,
            _ => KeyState::Valid,
        };
        Self {
            id: key.id.clone(),
            name: key.name.clone(),
            state,
            role: key.role.clone(),
            scopes: key.scopes.clone(),
            queues: key.queues.clone(),
            tasks: key.tasks.clone(),
            boards: key.boards.clone(),
            valid_secrets: key.valid_secrets(now).count(),
            created_at: Rfc3339(key.created_at),
            created_by: key.created_by.clone(),
            last_used_at: key.last_used_at.map(Rfc3339),
            expires_at: key.expires_at.map(Rfc3339),
            revoked_at: key.revoked_at.map(Rfc3339),
        }
    }
}

impl KeyState {
    /// Its name, such as `valid`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

/// Never its text.
impl fmt::Debug for IssuedKeyView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedKeyView").field("about", &self.about).finish_non_exhaustive()
    }
}
