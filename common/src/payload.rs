//! Opaque bytes with a content type: parameters, results, checkpoints. No store ever decodes them.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The content type of JSON payloads, the default.
pub const JSON: &str = "application/json";

/// Bytes and what they are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// `None` means `application/json`, by far the commonest, so that it costs nothing to store.
    #[serde(default)]
    pub content_type: Option<Box<str>>,
    /// The bytes, exactly as they came.
    pub bytes: Bytes,
}

impl Payload {
    /// A JSON payload. The caller vouches that `bytes` are one JSON document.
    #[must_use]
    pub fn json(bytes: impl Into<Bytes>) -> Self {
        Self { content_type: None, bytes: bytes.into() }
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// When `value` can't be JSON (a map with keys that aren't strings, say).
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::json)
    }

    /// Reads the JSON as a `T`.
    ///
    /// # Errors
    /// When the bytes are not JSON or not a `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.bytes)
    }

    /// Whether it is JSON.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.content_type.is_none()
    }

    /// The content type's name.
    #[must_use]
    pub fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or(JSON)
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl fmt::Debug for Payload {
    /// Never the bytes: payloads stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({}, {} bytes)", self.content_type(), self.len())
    }
}
