//! Payloads on the wire, either way: JSON as it is, other bytes as base64 text with their content type beside it.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use jobbers_common::{
    limits::MAX_JSON_DEPTH,
    payload::{JSON, Payload},
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{
    problem::{Code, Problem, Result, invalid},
    wire::json,
};

/// Longest content type, in bytes.
const MOST_TYPE_BYTES: usize = 255;

/// Reads a field that may be absent, and in which `null` is a value like any other. For `deserialize_with`.
///
/// # Errors
/// Those of the deserializer.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A payload as an answer shows it, and its content type unless it is JSON. A worker's bytes need not be the JSON they are
/// declared as; then they are shown as plain bytes.
#[must_use]
pub fn shown(payload: Option<&Payload>) -> (Option<Box<RawValue>>, Option<String>) {
    let Some(payload) = payload else { return (None, None) };
    if payload.is_json()
        && let Ok(raw) = serde_json::from_slice::<Box<RawValue>>(&payload.bytes)
    {
        return (Some(raw), None);
    }
    let content_type = if payload.is_json() { "application/octet-stream" } else { payload.content_type() };
    (serde_json::value::to_raw_value(&BASE64_STANDARD.encode(&payload.bytes)).ok(), Some(content_type.to_owned()))
}

/// The payload that was [`shown`] so.
///
/// # Errors
/// When it has a content type and is no base64 text.
pub fn payload_of(raw: &RawValue, content_type: Option<&str>) -> Result<Payload, NoBase64> {
    let Some(content_type) = content_type else { return Ok(Payload::json(raw.get().as_bytes().to_vec())) };
    let bytes = serde_json::from_str::<String>(raw.get()).ok().and_then(|text| BASE64_STANDARD.decode(text).ok());
    Ok(Payload { content_type: Some(content_type.into()), bytes: bytes.ok_or(NoBase64)?.into() })
}

/// A payload with a content type whose text is not base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bytes that are no base64")]
pub struct NoBase64;

/// A payload as a request has it.
#[derive(Debug)]
pub struct Sent<'a> {
    /// The name of its field, to which `_content_type` is added for that of its type.
    pub field: &'static str,
    /// What it is.
    pub text: Option<&'a RawValue>,
    /// Its type, unless it is JSON.
    pub content_type: Option<&'a str>,
    /// The bound on its bytes.
    pub max_bytes: usize,
}

impl Sent<'_> {
    /// The payload; its bytes are copied.
    ///
    /// # Errors
    /// [`Code::PayloadTooLarge`], [`Code::JsonTooDeep`]; [`Code::InvalidRequest`] for what is no content type, or no base64.
    pub fn payload(&self) -> Result<Option<Payload>> {
        self.read(|text| Bytes::copy_from_slice(text.get().as_bytes()))
    }

    /// The same; JSON is carried on as the part of `body` that it is.
    ///
    /// # Errors
    /// Like [`Sent::payload`].
    pub fn payload_in(&self, body: &Bytes) -> Result<Option<Payload>> {
        self.read(|text| body.slice_ref(text.get().as_bytes()))
    }

    fn read(&self, json: impl FnOnce(&RawValue) -> Bytes) -> Result<Option<Payload>> {
        let payload = match (self.text, self.content_type) {
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                let field = format!("{}_content_type", self.field);
                return Err(invalid(&field, format!("needs {}", self.field)));
            }
            (Some(text), None | Some(JSON)) => {
                if json::is_deeper_than(text.get(), MAX_JSON_DEPTH) {
                    let detail = format!("{}: nested at most {MAX_JSON_DEPTH} deep", self.field);
                    return Err(Problem::new(Code::JsonTooDeep, detail).at(format!("/{}", self.field)));
                }
                Payload::json(json(text))
            }
            (Some(text), Some(content_type)) => self.opaque(text, content_type)?,
        };
        if payload.len() > self.max_bytes {
            let detail = format!("{}: at most {} bytes, not {}", self.field, self.max_bytes, payload.len());
            return Err(Problem::new(Code::PayloadTooLarge, detail).at(format!("/{}", self.field)));
        }
        Ok(Some(payload))
    }

    fn opaque(&self, text: &RawValue, content_type: &str) -> Result<Payload> {
        let field = format!("{}_content_type", self.field);
        let is_legal = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        if content_type.len() > MOST_TYPE_BYTES || !content_type.bytes().all(is_legal) || !has_two_parts(content_type) {
            return Err(invalid(&field, format!("is a type such as image/png of at most {MOST_TYPE_BYTES} bytes")));
        }
        payload_of(text, Some(content_type))
            .map_err(|NoBase64| invalid(self.field, format!("is base64 text beside {field}")))
    }
}

fn has_two_parts(content_type: &str) -> bool {
    content_type.split_once('/').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, content_type: Option<&str>) -> Result<Option<Payload>> {
        let text = serde_json::from_str::<&RawValue>(text).unwrap();
        Sent { field: "result", text: Some(text), content_type, max_bytes: 20 }.payload()
    }

    #[test]
    fn json_is_kept_as_it_is_and_other_bytes_are_base64() {
        let json = Payload::json(&b"{\"n\": 1.0}"[..]);
        assert_eq!(read(r#"{"n": 1.0}"#, None), Ok(Some(json.clone())));
        assert_eq!(read(r#"{"n": 1.0}"#, Some("application/json")), Ok(Some(json)));
        let png = Payload { content_type: Some("image/png".into()), bytes: Bytes::from_static(b"\x00\x01") };
        assert_eq!(read(r#""AAE=""#, Some("image/png")), Ok(Some(png)));
        assert_eq!(read("null", None), Ok(Some(Payload::json(&b"null"[..]))), "a value like any other");
    }

    #[test]
    fn what_is_neither_is_refused_by_field() {
        for (text, content_type, pointer) in [
            ("7", "image/png", "/result"),
            (r#""%%%""#, "image/png", "/result"),
            (r#""AAE""#, "image/png", "/result"),
            (r#""AAE=""#, "png", "/result_content_type"),
            (r#""AAE=""#, "image/", "/result_content_type"),
            (r#""AAE=""#, "image/p\u{e4}g", "/result_content_type"),
            (r#""AAE=""#, "", "/result_content_type"),
        ] {
            let problem = read(text, Some(content_type)).unwrap_err();
            assert_eq!((problem.code(), problem.pointer()), (Code::InvalidRequest, Some(pointer)), "{text}");
        }
        let alone = Sent { field: "result", text: None, content_type: Some("image/png"), max_bytes: 20 };
        assert_eq!(alone.payload().unwrap_err().pointer(), Some("/result_content_type"));
        let large = format!("{:?}", "x".repeat(20));
        assert_eq!(read(&large, None).unwrap_err().code(), Code::PayloadTooLarge);
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        assert_eq!(read(&deep, None).unwrap_err().code(), Code::JsonTooDeep);
    }
}
