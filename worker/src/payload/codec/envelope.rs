//! How what a codec encoded is stored: as JSON where the API promises JSON, `{"jobbers:codec":"ID","jobbers:data":"BASE64"}`, and
//! as the text `jobbers:codec:ID:BASE64` where it promises a message. The id comes first also where a program sorts the fields.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use jobbers_common::payload::{CODEC_FIELD, Payload};
use serde::Deserialize;

use super::error::CodecError;

/// What separates a content type, which is empty for JSON, from the bytes of a payload.
const END_OF_TYPE: u8 = 0;

/// What a codec encoded, and its id.
pub(super) struct Encoded<'a> {
    pub(super) codec: &'a str,
    pub(super) bytes: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(rename = "jobbers:codec")]
    codec: &'a str,
    #[serde(rename = "jobbers:data")]
    data: &'a str,
}

impl<'a> Encoded<'a> {
    pub(super) fn into_payload(self) -> Payload {
        // A legal id needs no escape.
        let Self { codec, bytes } = self;
        Payload::json(format!(r#"{{"{CODEC_FIELD}":"{codec}","jobbers:data":"{}"}}"#, STANDARD.encode(bytes)))
    }

    pub(super) fn of_payload(payload: &'a Payload) -> Result<Self, CodecError> {
        let damaged = |problem: &dyn std::fmt::Display| CodecError::Damaged(problem.to_string());
        let Envelope { codec, data } = payload.decode().map_err(|error| damaged(&error))?;
        let bytes = STANDARD.decode(data).map_err(|error| damaged(&error))?;
        Ok(Self { codec, bytes })
    }

    pub(super) fn into_text(self) -> String {
        let Self { codec, bytes } = self;
        format!("{CODEC_FIELD}:{codec}:{}", STANDARD.encode(bytes))
    }

    /// What a message holds; `None` for a message that no codec encoded.
    pub(super) fn of_text(text: &'a str) -> Option<Result<Self, CodecError>> {
        let rest = text.strip_prefix(CODEC_FIELD)?.strip_prefix(':')?;
        let Some((codec, data)) = rest.split_once(':') else {
            return Some(Err(CodecError::Damaged("the codec's id has no end".to_owned())));
        };
        let bytes = STANDARD.decode(data).map_err(|error| CodecError::Damaged(error.to_string()));
        Some(bytes.map(|bytes| Self { codec, bytes }))
    }
}

/// A payload with its content type as one piece, for a codec.
pub(super) fn frame(payload: &Payload) -> Vec<u8> {
    let content_type = payload.content_type.as_deref().unwrap_or_default();
    [content_type.as_bytes(), &[END_OF_TYPE], &payload.bytes].concat()
}

/// The payload of [`frame`].
pub(super) fn unframe(framed: Vec<u8>) -> Result<Payload, String> {
    let end = framed.iter().position(|byte| *byte == END_OF_TYPE).ok_or("what it decoded has no content type")?;
    let content_type = std::str::from_utf8(&framed[..end]).map_err(|_| "what it decoded has no content type")?;
    let content_type = (!content_type.is_empty()).then(|| content_type.into());
    Ok(Payload { content_type, bytes: Bytes::from(framed).slice(end + 1..) })
}
