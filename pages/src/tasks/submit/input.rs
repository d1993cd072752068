//! How the parameters of a task are asked for in a form, and which JSON the typed text is.
//!
//! A parameter is typed as its schema says (`p.` before its name), or as JSON (`j.`) where a field of a page could not keep
//! it: text that is empty, has line breaks or hidden letters, a number that no field takes, a value of another type. So a
//! form that is sent unchanged sends the same parameters.

use std::collections::BTreeMap;

use jobbers_api::worker::registry::RegisteredTaskView;
use jobbers_process::printable;
use serde_json::{Value, value::RawValue};

/// What precedes the name of a parameter in the name of its field.
pub(super) const TYPED: &str = "p.";
pub(super) const AS_JSON: &str = "j.";
/// The field of all parameters together, as JSON.
pub(super) const WHOLE: &str = "parameters";

/// Most parameters that have a field each.
const MOST_FIELDS: usize = 60;

/// The fields of a form and what is in them, as a browser sends them.
pub(super) type Fields = Vec<(String, String)>;

/// How a parameter is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input<'a> {
    Text,
    Number { is_whole: bool },
    Switch,
    Choice(Vec<&'a str>),
    Json,
}

impl<'a> Input<'a> {
    /// The input that fits a property's schema.
    pub(super) fn of(schema: &'a Value) -> Self {
        let choices = schema["enum"].as_array().map(|all| all.iter().filter_map(Value::as_str).collect::<Vec<_>>());
        if let Some(choices) = choices.filter(|choices| choices.len() == schema["enum"].as_array().map_or(0, Vec::len))
        {
            return Self::Choice(choices);
        }
        let of_many = || schema["type"].as_array()?.iter().filter_map(Value::as_str).find(|word| *word != "null");
        match schema["type"].as_str().or_else(of_many) {
            Some("string") => Self::Text,
            Some("integer") => Self::Number { is_whole: true },
            Some("number") => Self::Number { is_whole: false },
            Some("boolean") => Self::Switch,
            _ => Self::Json,
        }
    }

    /// The JSON of what was typed.
    fn json(&self, typed: &str) -> String {
        match self {
            Self::Text | Self::Choice(_) => Value::from(typed).to_string(),
            Self::Number { .. } | Self::Switch | Self::Json => typed.trim().to_owned(),
        }
    }

    /// What has to be typed for a value; `None` if this input can't keep it.
    fn typed(&self, json: &str) -> Option<String> {
        let text = || serde_json::from_str::<String>(json).ok();
        match self {
            Self::Text => text().filter(|text| !text.trim().is_empty() && !text.chars().any(printable::is_unprintable)),
            Self::Choice(all) => text().filter(|text| all.contains(&text.as_str())),
            Self::Switch => matches!(json, "true" | "false").then(|| json.to_owned()),
            Self::Number { is_whole } => {
                let is_number = json.parse::<f64>().is_ok_and(f64::is_finite);
                let is_digits = json.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                (is_number && (is_digits || !is_whole)).then(|| json.to_owned())
            }
            Self::Json => Some(printable::json(json).into_owned()),
        }
    }
}

/// The parameters that a schema names, with their schemas; `None` if it does not describe an object by its fields.
pub(super) fn properties(task: &RegisteredTaskView) -> Option<Vec<(&str, &Value)>> {
    let properties = task.parameters.as_ref()?["properties"].as_object()?;
    Some(properties.iter().map(|(name, schema)| (name.as_str(), schema)).collect())
}

fn schema_of<'a>(task: Option<&'a RegisteredTaskView>, name: &str) -> Option<&'a Value> {
    properties(task?)?.into_iter().find(|(property, _)| *property == name).map(|(_, schema)| schema)
}

/// The fields of a form with these parameters: one for each, or one for all if they are no object with a schema.
pub(super) fn fill(task: Option<&RegisteredTaskView>, json: &str) -> Fields {
    let whole = || vec![(WHOLE.to_owned(), printable::json(json).into_owned())];
    if task.and_then(properties).is_none() {
        return whole();
    }
    let Ok(values) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(json) else { return whole() };
    if values.len() > MOST_FIELDS || values.keys().any(|name| name.chars().any(printable::is_unprintable)) {
        return whole();
    }
    let field = |name: &str, json: &str| {
        let typed = schema_of(task, name).and_then(|schema| Input::of(schema).typed(json));
        match typed {
            Some(typed) => (format!("{TYPED}{name}"), typed),
            None => (format!("{AS_JSON}{name}"), printable::json(json).into_owned()),
        }
    };
    values.iter().map(|(name, value)| field(name, value.get())).collect()
}

/// A parameter whose field can't be read, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnreadableParameter {
    /// `None`: all of them.
    pub(super) parameter: Option<String>,
    pub(super) why: String,
}

/// The parameters as JSON, each of them read as its schema says.
///
/// # Errors
/// The first one that is not JSON where JSON is asked for.
pub(super) fn read(
    task: Option<&RegisteredTaskView>,
    fields: &[(String, String)],
) -> Result<String, UnreadableParameter> {
    if let Some((_, json)) = fields.iter().find(|(name, _)| name == WHOLE) {
        check(json).map_err(|why| UnreadableParameter { parameter: None, why })?;
        return Ok(json.clone());
    }
    let mut entries = Vec::new();
    for (field, typed) in fields {
        let (name, json) = if let Some(name) = field.strip_prefix(TYPED) {
            (name, schema_of(task, name).map_or(Input::Text, Input::of).json(typed))
        } else if let Some(name) = field.strip_prefix(AS_JSON) {
            (name, typed.trim().to_owned())
        } else {
            continue;
        };
        check(&json).map_err(|why| UnreadableParameter { parameter: Some(name.to_owned()), why })?;
        entries.push(format!("{}:{json}", Value::from(name)));
    }
    Ok(format!("{{{}}}", entries.join(",")))
}

fn check(json: &str) -> Result<(), String> {
    serde_json::from_str::<&RawValue>(json).map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task() -> RegisteredTaskView {
        let task = json!({
            "name": "t", "version": 1, "workers": 1, "queues": [], "roles": [],
            "parameters": {"type": "object", "properties": {
                "to": {"type": "string"}, "n": {"type": "integer"}, "big": {"type": ["null", "number"]},
                "on": {"type": "boolean"}, "size": {"enum": ["s", "m"]}, "rest": {"type": "array"},
            }},
        });
        serde_json::from_value(task).unwrap()
    }

    fn typed(fields: &[(&str, &str)]) -> Fields {
        fields.iter().map(|(name, typed)| ((*name).to_owned(), (*typed).to_owned())).collect()
    }

    #[test]
    fn what_is_typed_becomes_json_of_its_type() {
        let fields = typed(&[
            ("p.to", "7"),
            ("p.n", " 12345678901234567890123 "),
            ("p.big", "1e400"),
            ("p.on", "true"),
            ("p.size", "s"),
            ("p.rest", "[1]"),
            ("j.more", "\"a\""),
            ("queue", "q"),
        ]);
        let json = read(Some(&task()), &fields).unwrap();
        let out = r#"{"to":"7","n":12345678901234567890123,"big":1e400,"on":true,"size":"s","rest":[1],"more":"a"}"#;
        assert_eq!(json, out);
    }

    #[test]
    fn what_is_no_json_is_named() {
        for (field, name) in [("p.n", "n"), ("p.rest", "rest"), ("j.to", "to")] {
            let refused = read(Some(&task()), &typed(&[(field, "12,5")])).unwrap_err();
            assert_eq!(refused.parameter.as_deref(), Some(name));
        }
        assert_eq!(read(None, &typed(&[("parameters", "{")])).unwrap_err().parameter, None);
    }

    #[test]
    fn a_form_that_is_not_changed_sends_the_same_parameters() {
        let fields = |json: &str| fill(Some(&task()), json);
        for (name, value) in [
            ("to", r#""a b""#),
            ("to", r#""""#),
            ("to", r#""  ""#),
            ("to", r#""a\nb\r\nc""#),
            ("to", "\"\u{202e}x\u{200b}\""),
            ("to", "null"),
            ("to", "7"),
            ("n", "12345678901234567890123"),
            ("n", "1.5"),
            ("n", "1e3"),
            ("big", "1e400"),
            ("big", "1.50"),
            ("big", "null"),
            ("on", "false"),
            ("on", "\"true\""),
            ("size", "\"m\""),
            ("size", "\"xl\""),
            ("rest", r#"[1.00,{"a":"\n"}]"#),
            ("unknown", r#"{"a":1}"#),
        ] {
            let json = format!("{{\"{name}\":{value}}}");
            // A browser sends no line break, and no hidden letter, but in a text of several lines.
            let sent = fields(&json);
            assert!(sent.iter().all(|(_, typed)| !typed.trim().is_empty()), "{json}: an empty field counts as absent");
            assert!(!sent[0].1.chars().any(printable::is_unprintable), "{json}: {sent:?}");
            let again = read(Some(&task()), &sent).unwrap();
            let meant = |json: &str| serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(json).unwrap();
            let (before, after) = (meant(&json), meant(&again));
            let same = before[name].get() == after[name].get()
                || serde_json::from_str::<Value>(&json).unwrap() == serde_json::from_str::<Value>(&again).unwrap();
            assert!(same, "{json} became {again}");
        }
        assert_eq!(fields(r#"{"n":1.5}"#)[0].0, "j.n", "a field of whole numbers takes no fraction");
    }

    #[test]
    fn parameters_that_are_no_object_with_a_schema_are_one_field() {
        for json in ["[1]", "7", "{\"a\u{202e}\":1}"] {
            let sent = fill(Some(&task()), json);
            assert_eq!((sent.len(), sent[0].0.as_str()), (1, WHOLE), "{json}");
        }
        assert_eq!(fill(None, "{\"a\":1}"), typed(&[(WHOLE, "{\"a\":1}")]));
    }

    #[test]
    fn a_schema_without_fields_asks_for_json() {
        for schema in
            [json!(true), json!({"type": "array"}), json!({"anyOf": [{"type": "string"}]}), json!({"enum": [1, 2]})]
        {
            assert_eq!(Input::of(&schema), Input::Json, "{schema}");
        }
        assert_eq!(Input::of(&json!({"enum": ["a"]})), Input::Choice(vec!["a"]));
    }
}
