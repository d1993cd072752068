//! Opaque bytes with a content type: parameters, results, checkpoints. No store ever decodes them.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The content type of JSON payloads, the default.
pub const JSON: &str = "application/json";

/// The first field of a JSON payload that a client's codec encoded. Its value is the id of the codec; the bytes follow it.
pub const CODEC_FIELD: &str = "jobbers:codec";

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

    /// Whether a client's codec encoded it, so that only programs with that codec can read it.
    #[must_use]
    pub fn is_encoded(&self) -> bool {
        let fields = self.bytes.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
        let first = fields.and_then(|fields| fields.strip_prefix(b"\""));
        let rest = first.and_then(|first| first.strip_prefix(CODEC_FIELD.as_bytes()));
        self.is_json() && rest.is_some_and(|rest| rest.starts_with(b"\""))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_payload_is_known_by_its_first_field() {
        for (json, is_encoded) in [
            (r#"{"jobbers:codec":"k","jobbers:data":""}"#, true),
            ("\n{ \"jobbers:codec\" : 1}", true),
            (r#"{"jobbers:data":"","jobbers:codec":"k"}"#, false),
            (r#"{"jobbers:codecs":"k"}"#, false),
            (r#"["jobbers:codec"]"#, false),
            (r#"{"jobbers:codec"#, false),
            ("{}", false),
        ] {
            assert_eq!(Payload::json(json).is_encoded(), is_encoded, "{json}");
        }
        let text = Payload { content_type: Some("text/plain".into()), ..Payload::json(r#"{"jobbers:codec":"k"}"#) };
        assert!(!text.is_encoded());
    }
}
