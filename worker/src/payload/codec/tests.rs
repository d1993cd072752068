//! Encoding and decoding by codecs that differ in a byte.

use bytes::Bytes;

use super::*;

/// Adds a byte to each byte, and to the front the kind's first letter.
struct Shift(&'static str, u8);

impl Codec for Shift {
    fn id(&self) -> &str {
        self.0
    }

    fn encode(&self, clear: &[u8], kind: ContentKind, _task: &str) -> Result<Vec<u8>, CodecProblem> {
        if clear.ends_with(b"panic") {
            panic!("no such key");
        }
        let kind = kind.as_str().as_bytes()[0];
        Ok([kind].into_iter().chain(clear.iter().map(|byte| byte.wrapping_add(self.1))).collect())
    }

    fn decode(&self, encoded: &[u8], kind: ContentKind) -> Result<Vec<u8>, CodecProblem> {
        let (first, rest) = encoded.split_first().ok_or("it is empty")?;
        if *first != kind.as_str().as_bytes()[0] {
            return Err("it is of another kind".into());
        }
        Ok(rest.iter().map(|byte| byte.wrapping_sub(self.1)).collect())
    }
}

fn parameters(codecs: &Codecs, payload: &Payload) -> Payload {
    codecs.encode(payload.clone(), ContentKind::Parameters, "a").unwrap()
}

#[test]
fn a_payload_of_any_content_type_comes_back_and_is_stored_as_json() {
    let codecs = Codecs::new(Shift("k1", 7));
    for content_type in [None, Some("text/csv".into())] {
        for bytes in [&b"{\"card\":4242}"[..], b"", b"\0\0"] {
            let payload = Payload { content_type: content_type.clone(), bytes: Bytes::copy_from_slice(bytes) };
            let stored = parameters(&codecs, &payload);
            let json: serde_json::Value = stored.decode().unwrap();
            assert_eq!((json["jobbers:codec"].as_str(), json.as_object().unwrap().len()), (Some("k1"), 2), "{json}");
            assert!(stored.is_json() && stored.is_encoded());
            assert_eq!(codecs.decode(stored, ContentKind::Parameters), Ok(payload));
        }
    }
}

#[test]
fn a_clear_payload_is_read_by_all_and_an_encoded_one_by_those_with_its_codec() {
    let clear = Payload::json("{}");
    let (old, new) = (Codecs::new(Shift("k1", 7)), Codecs::new(Shift("k2", 9)));
    let both = Codecs::new(Shift("k2", 9)).reading(Shift("k1", 7));
    for codecs in [&Codecs::default(), &old, &both] {
        assert_eq!(codecs.decode(clear.clone(), ContentKind::Result), Ok(clear.clone()));
    }
    assert_eq!(parameters(&Codecs::default(), &clear), clear);
    let stored = parameters(&old, &clear);
    assert_eq!(both.decode(stored.clone(), ContentKind::Parameters), Ok(clear.clone()));
    for codecs in [new, Codecs::default()] {
        let unknown = codecs.decode(stored.clone(), ContentKind::Parameters).unwrap_err();
        assert_eq!(unknown, CodecError::Unknown("k1".to_owned()));
    }
    assert_eq!(parameters(&both, &clear), parameters(&Codecs::new(Shift("k2", 9)), &clear), "the first one writes");
}

#[test]
fn an_envelope_whose_fields_were_sorted_and_spaced_is_read() {
    let codecs = Codecs::new(Shift("k1", 7));
    let clear = Payload::json("[1]");
    let value: serde_json::Value = parameters(&codecs, &clear).decode().unwrap();
    let printed = Payload::json(serde_json::to_string_pretty(&value).unwrap());
    assert_eq!(codecs.decode(printed, ContentKind::Parameters), Ok(clear));
}

#[test]
fn what_is_damaged_or_of_another_kind_is_an_error_in_words() {
    let codecs = Codecs::new(Shift("k1", 7));
    let decode = |payload: Payload| codecs.decode(payload, ContentKind::Parameters).unwrap_err();
    let result = codecs.encode(Payload::json("1"), ContentKind::Result, "a").unwrap();
    assert_eq!(decode(result).to_string(), "the codec \"k1\" can't decode it: it is of another kind");
    let other_key = parameters(&Codecs::new(Shift("k1", 8)), &Payload::json("1"));
    assert!(decode(other_key).to_string().contains("no content type"));
    for damaged in [
        r#"{"jobbers:codec":"k1","jobbers:data":"*"}"#,
        r#"{"jobbers:codec":"k1"}"#,
        r#"{"jobbers:codec":7,"jobbers:data":""}"#,
        r#"{"jobbers:codec":"k1","jobbers:data":"","more":1}"#,
        r#"{"jobbers:codec":"k1","jobbers:data":"cAc="#,
    ] {
        assert!(matches!(decode(Payload::json(damaged)), CodecError::Damaged(_)), "{damaged}");
    }
}

#[test]
fn a_message_is_cut_before_it_is_encoded_so_that_it_has_room() {
    let codecs = Codecs::new(Shift("k1", 7));
    let encode = |text: &str| codecs.encode_text(text.to_owned(), 1_024, ContentKind::Error, "a").unwrap();
    for text in ["", "card 4242", &"x".repeat(5_000), &"数".repeat(1_024)] {
        let stored = encode(text);
        assert!(stored.len() <= 1_024 && (text.is_empty() || !stored.contains("4242")), "{stored}");
        let shown = codecs.show_text(stored.clone(), ContentKind::Error);
        assert!(text.starts_with(&shown) && shown.len() >= text.len().min(740), "{} of {}", shown.len(), text.len());
        let elsewhere = Codecs::default().show_text(stored, ContentKind::Error);
        assert!(text.is_empty() || elsewhere.starts_with("(it is encoded by the codec \"k1\""), "{elsewhere}");
    }
    for damaged in ["jobbers:codec:k1", "jobbers:codec:k1:*"] {
        assert!(codecs.show_text(damaged.to_owned(), ContentKind::Error).contains("damaged"), "{damaged}");
    }
}

#[test]
fn a_codec_that_panics_has_a_problem() {
    let panicked = Codecs::new(Shift("k1", 7)).encode(Payload::json("panic"), ContentKind::Result, "a").unwrap_err();
    assert_eq!(panicked.to_string(), "the codec \"k1\" can't encode it: it panicked: no such key");
}

#[test]
fn an_id_that_has_no_place_in_an_envelope_is_refused() {
    for id in ["", "a b", "a\"", "a:b", &"x".repeat(65)] {
        let id: &'static str = id.to_owned().leak();
        let codecs = Codecs::new(Shift(id, 1));
        assert!(codecs.check().unwrap_err().contains("is no id of a codec"), "{id}");
        codecs.encode(Payload::json("1"), ContentKind::Result, "a").unwrap_err();
    }
    assert_eq!(Codecs::new(Shift("2026-11.eu_1", 1)).reading(Shift("b", 1)).check(), Ok(()));
    assert!(Codecs::new(Shift("a", 1)).reading(Shift("a", 2)).check().unwrap_err().contains("two codecs"));
}
