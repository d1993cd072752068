//! Bytes in a journal: JSON where that keeps every byte, otherwise base64.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jobbers_common::payload::Payload;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Bytes as a line holds them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bytes {
    /// A JSON document, byte for byte.
    Json(Box<RawValue>),
    /// Any bytes.
    Base64(String),
}

impl Bytes {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let is_one_line = !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        let json =
            serde_json::from_slice::<&RawValue>(bytes).ok().filter(|raw| is_one_line && raw.get().len() == bytes.len());
        json.map_or_else(|| Self::Base64(STANDARD.encode(bytes)), |raw| Self::Json(raw.to_owned()))
    }

    pub(super) fn read(&self) -> Result<bytes::Bytes, String> {
        match self {
            Self::Json(raw) => Ok(bytes::Bytes::copy_from_slice(raw.get().as_bytes())),
            Self::Base64(text) => STANDARD.decode(text).map(bytes::Bytes::from).map_err(|error| error.to_string()),
        }
    }
}

/// A payload as a line holds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PayloadLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<Box<str>>,
    #[serde(rename = "as")]
    bytes: Bytes,
}

impl PayloadLine {
    pub(super) fn of(payload: &Payload) -> Self {
        Self { content_type: payload.content_type.clone(), bytes: Bytes::of(&payload.bytes) }
    }

    pub(super) fn read(&self) -> Result<Payload, String> {
        Ok(Payload { content_type: self.content_type.clone(), bytes: self.bytes.read()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were_and_json_stays_readable() {
        for (bytes, is_json) in [
            (&b"{\"a\": [1.50,  1e400, 123456789012345678901]}"[..], true),
            (b"null", true),
            (b"{\n}", false),
            (b" 1", false),
            (b"1 ", false),
            (b"", false),
            (b"\xff\x00", false),
            (b"{} {}", false),
        ] {
            let written = serde_json::to_string(&Bytes::of(bytes)).unwrap();
            assert!(!written.contains('\n'));
            let read: Bytes = serde_json::from_str(&written).unwrap();
            assert_eq!(read.read().unwrap(), bytes);
            assert_eq!(matches!(read, Bytes::Json(_)), is_json, "{written}");
        }
    }

    #[test]
    fn json_of_any_depth_comes_back() {
        let deep = [vec![b'['; 1_000], vec![b']'; 1_000]].concat();
        let written = serde_json::to_string(&Bytes::of(&deep)).unwrap();
        assert_eq!(serde_json::from_str::<Bytes>(&written).unwrap().read().unwrap(), deep);
    }
}
