//! Conditions on the parameters of tasks: `customer=42`, `address.city=Basel`.

use std::{borrow::Cow, str::FromStr};

use jobbers_common::{payload::Payload, values::exact::Exact};
use serde::{Deserialize, Deserializer, de};
#[cfg(feature = "openapi")]
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{ObjectBuilder, Schema, Type},
    },
};

/// Most bytes of one condition.
const MOST_BYTES: usize = 1_024;

/// `PATH=VALUE`: the parameters are JSON and hold this value at this path.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// From the outside in; a number is also a place in an array.
    path: Vec<String>,
    /// The value as text.
    text: String,
    /// The value as JSON, if it is.
    json: Option<Exact>,
}

impl Condition {
    /// Whether a task's parameters fulfil all conditions. Parameters that are not JSON, or are gone, fulfil none.
    #[must_use]
    pub fn all_hold(conditions: &[Self], parameters: Option<&Payload>) -> bool {
        if conditions.is_empty() {
            return true;
        }
        let parameters = parameters.filter(|payload| payload.is_json());
        parameters.is_some_and(|payload| conditions.iter().all(|condition| condition.holds(payload)))
    }

    fn holds(&self, parameters: &Payload) -> bool {
        let found = Exact::find(&parameters.bytes, self.path.iter().map(String::as_str));
        found.is_some_and(|found| {
            matches!(&found, Exact::Text(text) if *text == self.text) || self.json.as_ref() == Some(&found)
        })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            |why: &str| format!("{text:?} {why}: write PATH=VALUE, such as customer=42 or address.city=Basel");
        if text.len() > MOST_BYTES {
            return Err(format!("a condition is at most {MOST_BYTES} bytes long, not {}", text.len()));
        }
        let (path, value) = text.split_once('=').ok_or_else(|| refused("has no ="))?;
        let path: Vec<String> = match path.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect(),
            None => path.split('.').map(str::to_owned).collect(),
        };
        if path.iter().any(String::is_empty) {
            return Err(refused("has an empty name in its path"));
        }
        Ok(Self { path, text: value.to_owned(), json: Exact::read(value) })
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "openapi")]
impl PartialSchema for Condition {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[^=]+=.*$"))
            .max_length(Some(MOST_BYTES))
            .description(Some(
                "A condition on the parameters, PATH=VALUE: `customer=42`, `address.city=Basel`, `items.0.sku=A7`. \
                 A path that starts with `/` is a JSON pointer, for names that contain a dot. \
                 A text matches with and without quotes.",
            ))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl ToSchema for Condition {
    fn name() -> Cow<'static, str> {
        "Condition".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &str = r#"{"customer": 42, "vip": true, "note": "7", "empty": "", "price": 1.50, "gone": null,
        "big": 12345678901234567890123456789, "huge": 1e400,
        "address": {"city": "La Chaux-de-Fonds", "a.b": 1}, "items": [{"sku": "A7"}, {"sku": "B=8"}], "a.b": 2}"#;

    fn holds(condition: &str) -> bool {
        let parameters = Payload::json(PARAMETERS.as_bytes());
        Condition::all_hold(&[condition.parse().unwrap()], Some(&parameters))
    }

    #[test]
    fn a_condition_finds_a_value_at_its_path() {
        for condition in [
            "customer=42",
            "customer=42.0",
            "vip=true",
            "note=7",
            "note=\"7\"",
            "empty=",
            "price=1.5",
            "price=15e-1",
            "big=12345678901234567890123456789",
            "big=12345678901234567890123456789.0",
            "huge=1e400",
            "huge=10e399",
            "gone=null",
            "address.city=La Chaux-de-Fonds",
            "items.0.sku=A7",
            "items.1.sku=B=8",
            "/items/1/sku=B=8",
            "/a.b=2",
            "/address/a.b=1",
            "address={\"a.b\": 1, \"city\": \"La Chaux-de-Fonds\"}",
        ] {
            assert!(holds(condition), "{condition}");
        }
        for condition in [
            "customer=4",
            "big=12345678901234567890123456780",
            "huge=1e401",
            "items.01.sku=A7",
            "customer=\"42\"",
            "vip=yes",
            "missing=null",
            "gone=",
            "address.town=x",
            "items.2.sku=A7",
            "customer.id=42",
            "a.b=2",
        ] {
            assert!(!holds(condition), "{condition}");
        }
    }

    #[test]
    fn what_is_not_json_fulfils_nothing() {
        let condition: [Condition; 1] = ["a=1".parse().unwrap()];
        let bytes = Payload { content_type: Some("image/png".into()), bytes: b"\x00{\"a\":1}"[..].into() };
        for parameters in [None, Some(&bytes), Some(&Payload::json(&b"{\"a\":1"[..]))] {
            assert!(!Condition::all_hold(&condition, parameters), "{parameters:?}");
            assert!(Condition::all_hold(&[], parameters));
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_an_example() {
        for bad in ["customer", "=42", "a..b=1", "/=1", ".=1"] {
            assert!(bad.parse::<Condition>().unwrap_err().contains("customer=42"), "{bad}");
        }
        format!("a={}", "x".repeat(MOST_BYTES)).parse::<Condition>().unwrap_err();
    }
}
