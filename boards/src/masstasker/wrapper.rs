//! Text in a message that every protobuf library knows: what a program that is not a client writes for clients to read.
//!
//! MassTasker's clients pack a message of their own into a task's `Any`. One that only has text or bytes to say packs
//! `google.protobuf.StringValue` or `BytesValue`, which come with every library.

use bytes::Bytes;
use prost::Message;

const STRING: &str = "google.protobuf.StringValue";
const BYTES: &str = "google.protobuf.BytesValue";

/// The name of a message, without the address in front.
#[must_use]
pub fn message_name(type_url: &str) -> &str {
    type_url.rsplit('/').next().unwrap_or(type_url)
}

/// The type and the bytes of an `Any` that holds this text.
#[must_use]
pub fn wrap(text: &str) -> (String, Bytes) {
    (format!("type.googleapis.com/{STRING}"), text.to_owned().encode_to_vec().into())
}

/// What a wrapper holds; `None` for any other message, and for one that can't be read.
#[must_use]
pub fn unwrap(type_url: &str, value: &[u8]) -> Option<Bytes> {
    match message_name(type_url) {
        STRING => String::decode(value).ok().map(Bytes::from),
        BYTES => Bytes::decode(value).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_text_is_read_back_and_other_messages_are_left_alone() {
        let (type_url, value) = wrap("{\"ä\": 1}");
        assert_eq!(type_url, "type.googleapis.com/google.protobuf.StringValue");
        // Field 1, of 9 bytes.
        assert!(value.starts_with(b"\x0a\x09{"), "{value:?}");
        assert_eq!(unwrap(&type_url, &value), Some(Bytes::from("{\"ä\": 1}")));
        assert_eq!(unwrap("google.protobuf.BytesValue", b"\x0a\x02\x00\xff"), Some(Bytes::from_static(b"\x00\xff")));
        assert_eq!(unwrap("x/google.protobuf.StringValue", b"\x0a\x01\xff"), None, "no text");
        assert_eq!(unwrap("example.org/jobs.Resize", b"\x0a\x01a"), None);
        assert_eq!((message_name("example.org/jobs.Resize"), message_name("resize")), ("jobs.Resize", "resize"));
    }
}
