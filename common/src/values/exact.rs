//! Values within JSON parameters, exactly as they were written: found by a path, and compared without rounding.
//!
//! `serde_json` reads a number as a double when it is no 64-bit integer; here it stays a [`Number`]. Finding a value and
//! reading it take one pass each, and deeper than [`MAX_DEPTH`] nothing is read.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::values::number::Number;

/// The deepest nesting that is read, as with `serde_json`.
const MAX_DEPTH: usize = 128;

/// A value of JSON. Fields are in the order of their names; of two fields of one name the last counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exact {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text, without escapes.
    Text(String),
    /// An array.
    List(Vec<Self>),
    /// An object.
    Fields(BTreeMap<String, Self>),
}

impl Exact {
    /// Reads one JSON document. `None` for what is none, is nested too deep, or has a text that is no Unicode or a number with
    /// an exponent of more than 18 digits.
    #[must_use]
    pub fn read(json: &str) -> Option<Self> {
        let valid: &RawValue = serde_json::from_str(json).ok()?;
        Reader { text: valid.get(), at: 0 }.value(0)
    }

    /// A field of an object by its name. `None` if the document is no object, or as with [`Exact::find`].
    #[must_use]
    pub fn field(json: &[u8], name: &str) -> Option<Self> {
        json.trim_ascii_start().starts_with(b"{").then(|| Self::find(json, [name])).flatten()
    }

    /// The value at a path of a JSON document: names of fields, and places in arrays. `None` if nothing is there, or what is
    /// there can't be read.
    #[must_use]
    pub fn find<'p>(json: &[u8], path: impl IntoIterator<Item = &'p str>) -> Option<Self> {
        let path: Vec<&str> = path.into_iter().collect();
        let mut reader = serde_json::Deserializer::from_slice(json);
        let found = At(&path).deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        Self::read(found?.get())
    }
}

/// As compact JSON, in which all spellings of a value are one.
impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write_text(f, text),
            Self::List(items) => {
                for (place, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if place == 0 { "[" } else { "," })?;
                }
                f.write_str(if items.is_empty() { "[]" } else { "]" })
            }
            Self::Fields(fields) => {
                for (place, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if place == 0 { "{" } else { "," })?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_str(if fields.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

/// The path that is still to go.
#[derive(Clone, Copy)]
struct At<'p>(&'p [&'p str]);

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return <&RawValue>::deserialize(deserializer).map(Some);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Name(name)) = map.next_key()? {
            match self.0.split_first() {
                Some((wanted, rest)) if *wanted == name => found = map.next_value_seed(At(rest))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.split_first().and_then(|(place, rest)| Some((read_place(place)?, rest)));
        let (mut found, mut place) = (None, 0);
        loop {
            match wanted {
                Some((wanted, rest)) if wanted == place => match seq.next_element_seed(At(rest))? {
                    Some(value) => found = value,
                    None => return Ok(found),
                },
                _ if seq.next_element::<IgnoredAny>()?.is_none() => return Ok(found),
                _ => {}
            }
            place += 1;
        }
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A place in an array, as JSON pointers write it: without a sign or leading zeros.
fn read_place(text: &str) -> Option<usize> {
    let place: usize = text.parse().ok()?;
    (place.to_string() == text).then_some(place)
}

/// The name of a field, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads valid JSON without blanks around it.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<Exact> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_blanks();
        let rest = self.text.get(self.at..)?;
        match rest.bytes().next()? {
            b'{' => self.fields(depth + 1),
            b'[' => self.list(depth + 1),
            b'"' => self.string().map(|text| Exact::Text(text.into_owned())),
            _ => {
                let length = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
                self.at += length;
                match rest.get(..length)? {
                    "null" => Some(Exact::Null),
                    "true" => Some(Exact::Bool(true)),
                    "false" => Some(Exact::Bool(false)),
                    number => Number::read(number).map(Exact::Number),
                }
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Exact> {
        let mut items = Vec::new();
        self.at += 1;
        while !self.takes(b']') {
            items.push(self.value(depth)?);
            self.takes(b',');
        }
        Some(Exact::List(items))
    }

    fn fields(&mut self, depth: usize) -> Option<Exact> {
        let mut fields = BTreeMap::new();
        self.at += 1;
        while !self.takes(b'}') {
            self.skip_blanks();
            let name = self.string()?.into_owned();
            self.takes(b':');
            fields.insert(name, self.value(depth)?);
            self.takes(b',');
        }
        Some(Exact::Fields(fields))
    }

    /// The text that begins here.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let rest = self.text.get(self.at..)?;
        let mut end = 1;
        while let found = rest.as_bytes().get(end)?
            && *found != b'"'
        {
            end += if *found == b'\\' { 2 } else { 1 };
        }
        let quoted = rest.get(..=end)?;
        self.at += quoted.len();
        serde_json::from_str::<Name<'a>>(quoted).ok().map(|name| name.0)
    }

    /// Passes this byte, and blanks before it, if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let is_next = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_blanks(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*};
    use serde_json::{Value, json};

    use super::*;

    fn found(json: &str, path: &[&str]) -> Option<String> {
        Exact::find(json.as_bytes(), path.iter().copied()).map(|value| value.to_string())
    }

    #[test]
    fn a_value_is_found_by_its_path_with_all_its_digits() {
        let json =
            r#"{"a": {"b/c": [1, {"d": 12345678901234567890123456789}]}, "a.b": 1e400, "n": 1.10, "z": "\u0041"}"#;
        for (path, expected) in [
            (&["a", "b/c", "1", "d"][..], Some("12345678901234567890123456789")),
            (&["a", "b/c"], Some(r#"[1,{"d":12345678901234567890123456789}]"#)),
            (&["a.b"], Some("1e400")),
            (&["n"], Some("1.1")),
            (&["z"], Some(r#""A""#)),
            (&["a", "b/c", "01"], None),
            (&["a", "b/c", "+1"], None),
            (&["a", "b/c", "2"], None),
            (&["n", "x"], None),
            (&["missing"], None),
        ] {
            assert_eq!(found(json, path).as_deref(), expected, "{path:?}");
        }
        assert_eq!(found(r#"{"a":1,"a":2}"#, &["a"]).as_deref(), Some("2"), "the last of two counts");
        for broken in ["", "{", r#"{"a":1"#, r#"{"a":1} x"#, r#"{"a":01}"#] {
            assert_eq!(found(broken, &["a"]), None, "{broken}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_not_read() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Exact::read(&nested(100)).is_some());
        assert!(Exact::read(&nested(200)).is_none());
        assert!(Exact::read(&nested(100_000)).is_none());
    }

    /// Values that a double holds, so that `serde_json` can be the judge.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "(\\PC|[\"\\\\\n\t\u{0}])*".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            let name = "[a-c\"\\\\ ]{0,3}";
            prop_oneof![
                collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                collection::btree_map(name, inner, 0..6).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(value in values()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let read = Exact::read(&pretty).unwrap();
            prop_assert_eq!(read.to_string(), value.to_string());
            prop_assert_eq!(Exact::read(&value.to_string()), Some(read));
        }

        #[test]
        fn a_path_leads_where_a_pointer_leads(value in values(), path in collection::vec("[a-c]|[0-3]", 0..4)) {
            let names: Vec<&str> = path.iter().map(String::as_str).collect();
            let pointer: String = names.iter().map(|name| format!("/{name}")).collect();
            let expected = value.pointer(&pointer).map(Value::to_string);
            prop_assert_eq!(found(&json!(value).to_string(), &names), expected);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}:,\"\\\\0-9eE.+\\- a-z]{0,40}") {
            let expected = serde_json::from_str::<Value>(&text).is_ok();
            prop_assert!(Exact::read(&text).is_some() || !expected, "{}", text);
        }
    }
}
