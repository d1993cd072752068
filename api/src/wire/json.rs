//! Reads JSON from requests, with errors that name the place and the problem.

use std::{collections::BTreeMap, fmt};

use jobbers_common::values::counted::{Counted, Counter, Few, MAX_VALUES, Refused};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;

use crate::problem::{Code, Problem};

/// Reads one JSON document.
///
/// The plain parser is tried first; only a refused document is read again with a trail, to name the field.
///
/// # Errors
/// [`Code::MalformedJson`] for invalid JSON, with its place; [`Code::InvalidRequest`] for JSON of another shape, with a
/// pointer to the field.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    read(bytes).map_err(|error| explain::<T>(bytes, &error))
}

/// Reads one JSON document of a client, as [`decode`], and counts the values of it that are kept.
///
/// # Errors
/// Those of [`decode`]; [`Code::BodyTooLarge`] for more values than a document may have, and [`Code::Overloaded`] where
/// there was no memory for them.
pub fn decode_counted<'a, T: Deserialize<'a>>(bytes: &'a [u8], counter: &Counter<'_>) -> Result<T, Problem> {
    read_counted(bytes, counter).map_err(|error| match counter.refused() {
        None => explain::<T>(bytes, &error),
        Some(Refused::NoMemory) => Problem::new(Code::Overloaded, "there is no memory for what the body says"),
        Some(Refused::TooMany) => {
            let detail = format!("a body holds at most {MAX_VALUES} texts, numbers, lists and objects");
            Problem::new(Code::BodyTooLarge, detail)
        }
    })
}

/// Reads one JSON document, without a reason if it can't be read.
pub fn decode_if_valid<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    read(bytes).ok()
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = object(&mut reader)?;
    reader.end()?;
    Ok(value)
}

fn read_counted<'a, T: Deserialize<'a>>(bytes: &'a [u8], counter: &Counter<'_>) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = object(Counted::new(&mut reader, counter))?;
    reader.end()?;
    Ok(value)
}

/// Reads an object as a `T`, and nothing else: by itself a derived `T` takes an array too, as its fields in their order, so
/// that `[]` would be an object without any. For `deserialize_with`, like [`object_if_any`] and [`objects`].
///
/// # Errors
/// Those of the deserializer; when it is no object.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(ObjectOnly(deserializer))
}

/// The same for one that may be absent or `null`.
///
/// # Errors
/// Like [`object`].
pub fn object_if_any<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|object| object.0))
}

/// The same for an array of them.
///
/// # Errors
/// Like [`object`].
pub fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Vec::<Object<T>>::deserialize(deserializer)?.into_iter().map(|object| object.0).collect())
}

/// The same for a long array of them, as [`few`].
///
/// # Errors
/// Like [`object`].
pub fn few_objects<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(few::<D, Object<T>, MOST>(deserializer)?.into_iter().map(|object| object.0).collect())
}

/// Reads an array as [`Few`].
///
/// # Errors
/// Those of the deserializer.
pub fn few<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Few::<T, MOST>::deserialize(deserializer).map(|few| few.0)
}

/// The same for a map of them.
///
/// # Errors
/// Like [`object`].
pub fn named_objects<'de, D, K, T>(deserializer: D) -> Result<BTreeMap<K, T>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord,
    T: Deserialize<'de>,
{
    let named = BTreeMap::<K, Object<T>>::deserialize(deserializer)?;
    Ok(named.into_iter().map(|(name, object)| (name, object.0)).collect())
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer).map(Self)
    }
}

/// Reads only an object, whatever the caller asks for.
struct ObjectOnly<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(MapOnly(visitor))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct MapOnly<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for MapOnly<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(map)
    }
}

#[cold]
fn explain<'a, T: Deserialize<'a>>(bytes: &'a [u8], error: &serde_json::Error) -> Problem {
    if bytes.is_empty() {
        return Problem::new(Code::MalformedJson, "the body is empty; it must be a JSON object");
    }
    if !error.is_data() {
        return Problem::new(Code::MalformedJson, format!("the body is not JSON: {error}"));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let mut track = serde_path_to_error::Track::new();
    let Err(error) = object::<_, T>(serde_path_to_error::Deserializer::new(&mut reader, &mut track)) else {
        return Problem::new(Code::InvalidRequest, error.to_string());
    };
    let pointer = pointer(&track.path());
    Problem::new(Code::InvalidRequest, error.to_string()).at(pointer)
}

/// The path as a JSON pointer (RFC 6901).
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(format!("/{index}")),
            Segment::Map { key } => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// Whether raw JSON is an object.
pub fn is_object(json: &RawValue) -> bool {
    // Only an object begins so.
    json.get().trim_start().starts_with('{')
}

/// Whether arrays and objects are nested more than `limit` deep. `json` is a valid JSON document; a parser that keeps
/// raw text does not descend, so it never counted.
pub fn is_deeper_than(json: &str, limit: usize) -> bool {
    // Most are too short for it, or have fewer brackets, which are quickly counted.
    let brackets = || json.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    json.len() / 2 > limit && brackets() > limit && is_nested_deeper_than(json, limit)
}

fn is_nested_deeper_than(json: &str, limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings_only() {
        let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        assert!(!is_deeper_than(&nested(64), 64));
        assert!(is_deeper_than(&nested(65), 64));
        assert!(!is_deeper_than(r#"{"a":"[[[[","b\"[[":"\\","c":["{"]}"#, 2));
        assert!(is_deeper_than(r#"{"a":"\\","b":[[]]}"#, 2));
        assert!(!is_deeper_than("[[],[],[],{}]", 2), "neighbours do not add up");
    }

    #[test]
    fn of_a_long_array_no_more_is_kept_than_shows_that_it_is_too_long() {
        #[derive(Debug, Deserialize)]
        struct Body {
            #[serde(deserialize_with = "few::<_, _, 3>")]
            numbers: Vec<u8>,
        }
        for (written, kept) in [("[]", 0), ("[1,2,3]", 3), ("[1,2,3,4]", 4), ("[1,2,3,4,5,600]", 4)] {
            let body: Body = decode(format!(r#"{{"numbers":{written}}}"#).as_bytes()).unwrap();
            assert_eq!(body.numbers.len(), kept, "{written}");
        }
        let problem = decode::<Body>(br#"{"numbers":[1,2,300]}"#).unwrap_err();
        assert_eq!(problem.pointer(), Some("/numbers/2"));
        assert_eq!(decode::<Body>(br#"{"numbers":[1,2,3,4,5"#).unwrap_err().code(), Code::MalformedJson);
    }

    #[test]
    fn an_error_says_where() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Body {
            #[serde(rename = "tasks")]
            _tasks: Vec<u8>,
        }
        let problem = decode::<Body>(br#"{"tasks":[1,"x"]}"#).unwrap_err();
        assert_eq!((problem.code(), problem.pointer()), (Code::InvalidRequest, Some("/tasks/1")));
        let problem = decode::<Body>(br#"{"task":[]}"#).unwrap_err();
        assert!(problem.detail().contains("unknown field `task`"), "{problem:?}");
        for long in ["x".repeat(100_000), "é".repeat(100_000)] {
            let problem = decode::<Body>(format!(r#"{{"{long}":1}}"#).as_bytes()).unwrap_err();
            assert!(problem.detail().len() < 1_100 && problem.detail().contains("expected `tasks`"), "{problem:?}");
            assert!(problem.pointer().unwrap_or_default().len() < 1_100, "{problem:?}");
        }
        let problem = decode::<Body>(b"{\"tasks\":\n[1,").unwrap_err();
        assert!(problem.code() == Code::MalformedJson && problem.detail().contains("line 2"), "{problem:?}");
    }

    #[test]
    fn an_array_is_not_an_object_by_position() {
        #[derive(Debug, Default, Deserialize)]
        struct Inner {
            #[serde(default, rename = "a")]
            _a: u8,
        }
        #[derive(Debug, Deserialize)]
        struct Body {
            #[serde(default, rename = "one", deserialize_with = "object_if_any")]
            _one: Option<Inner>,
            #[serde(default, rename = "many", deserialize_with = "objects")]
            _many: Vec<Inner>,
        }
        for (body, pointer) in
            [("[]", ""), ("[null,[]]", ""), ("7", ""), (r#"{"one":[1]}"#, "/one"), (r#"{"many":[{},[]]}"#, "/many/1")]
        {
            let problem = decode::<Body>(body.as_bytes()).unwrap_err();
            assert_eq!((problem.code(), problem.pointer().unwrap_or_default()), (Code::InvalidRequest, pointer));
            assert!(problem.detail().contains("expected a JSON object"), "{body}: {problem:?}");
        }
        decode::<Body>(br#"{"one":null,"many":[{"a":1},{}]}"#).unwrap();
    }
}
