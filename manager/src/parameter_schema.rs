//! The JSON Schema of a task's parameters.
//!
//! A schema comes from a worker, so it is not trusted: a reference out of it is refused and never read. A part that can't be
//! compiled, such as a look-around in a pattern, is left out, and the rest holds ([`flaws`]).

use std::{cmp::Reverse, error::Error};

use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::{Value, json};

mod flaws;

/// Most parts of a schema that are left out; with more, none of it is checked.
const MOST_FLAWS: usize = 20;
/// How much of the reason for a flaw is shown, in characters.
const REASON: usize = 200;

/// The name under which a schema is compiled; it is in no file and no network.
const LOCATION: &str = "schema:parameters";

/// A compiled schema.
pub(crate) struct ParameterSchema {
    schemas: Schemas,
    index: SchemaIndex,
    /// As the worker wrote it, for its descriptions.
    source: Value,
}

/// A place where a value does not fit.
pub(crate) struct Misfit {
    /// A JSON pointer into the value.
    pub(crate) pointer: String,
    /// What is wrong there.
    pub(crate) problem: String,
}

impl ParameterSchema {
    /// Compiles a schema, of draft 2020-12 unless it names another. In its alternative form the error says what in the schema
    /// is wrong.
    fn compiled(schema: &Value) -> Result<Self, CompileError> {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.use_loader(Box::new(NothingElse));
        compiler.add_resource(LOCATION, schema.clone())?;
        let index = compiler.compile(LOCATION, &mut schemas)?;
        Ok(Self { schemas, index, source: schema.clone() })
    }

    /// Compiles as much of a schema as can be. Returns what holds, and what is left out and why, each in a sentence that begins
    /// with its place.
    pub(crate) fn compile_rest(schema: &Value) -> (Option<Self>, Vec<String>) {
        let mut error = match Self::compiled(schema) {
            Ok(schema) => return (Some(schema), Vec::new()),
            Err(error) => error,
        };
        let (mut rest, mut left_out) = (schema.clone(), Vec::new());
        while left_out.len() < MOST_FLAWS {
            let reason: String = format!("{error:#}").replace(LOCATION, "the schema").chars().take(REASON).collect();
            let places = flaws::take_out(&mut rest, &error);
            if places.is_empty() {
                left_out.push(format!("nothing is checked: {reason}"));
                return (None, left_out);
            }
            left_out.extend(places.into_iter().map(|place| format!("{place} is not checked: {reason}")));
            match Self::compiled(&rest) {
                Ok(schema) => return (Some(schema), left_out),
                Err(next) => error = next,
            }
        }
        left_out.push(format!("nothing is checked: over {MOST_FLAWS} parts of the schema can't be compiled"));
        (None, left_out)
    }

    /// Whether values of all kinds fit.
    pub(crate) fn takes_anything(&self) -> bool {
        let kinds = [json!(null), json!(true), json!(0.5), json!(""), json!([null]), json!({"a": null})];
        kinds.iter().all(|value| self.schemas.validate(value, self.index).is_ok())
    }

    /// Where a value does not fit; empty if it does.
    pub(crate) fn misfits(&self, value: &Value) -> Vec<Misfit> {
        let Err(error) = self.schemas.validate(value, self.index) else { return Vec::new() };
        let mut misfits = Vec::new();
        collect(&error, &mut misfits);
        misfits
            .into_iter()
            .map(|error| Misfit { pointer: error.instance_location.to_string(), problem: self.problem(error) })
            .collect()
    }

    /// What is wrong, in words. Of a regular expression the description says more than the expression.
    fn problem(&self, error: &ValidationError<'_, '_>) -> String {
        let described = || {
            let (_, place) = error.schema_url.split_once('#')?;
            self.source.pointer(place)?.get("description")?.as_str()
        };
        match &error.kind {
            ErrorKind::Pattern { got, .. } => match described() {
                Some(description) => format!("{got:?} is not as described: {description}"),
                None => error.kind.to_string(),
            },
            kind => kind.to_string(),
        }
    }
}

/// Collects the innermost errors. Of several alternatives, none of which fits, only the one that fits furthest counts.
fn collect<'e, 's, 'v>(error: &'e ValidationError<'s, 'v>, misfits: &mut Vec<&'e ValidationError<'s, 'v>>) {
    if error.causes.is_empty() {
        misfits.push(error);
        return;
    }
    let is_choice = matches!(error.kind, ErrorKind::AnyOf | ErrorKind::OneOf(None));
    let mut inner = Vec::new();
    for cause in &error.causes {
        collect(cause, &mut inner);
    }
    if is_choice {
        inner.sort_by_key(|error| Reverse(error.instance_location.tokens.len()));
        inner.truncate(1);
    }
    misfits.append(&mut inner);
}

/// Loads no other schema.
struct NothingElse;

impl UrlLoader for NothingElse {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("a reference to {url}, which is not in the schema, is not followed").into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*, test_runner::TestCaseError};

    use super::*;

    fn misfits(schema: &Value, value: &Value) -> Vec<(String, String)> {
        let misfits = ParameterSchema::compiled(schema).unwrap().misfits(value);
        misfits.into_iter().map(|misfit| (misfit.pointer, misfit.problem)).collect()
    }

    #[test]
    fn each_misfit_has_its_place() {
        let schema = json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "integer"}}});
        let found = misfits(&schema, &json!({"a": "x"}));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|(pointer, problem)| pointer == "/a" && problem.contains("integer")), "{found:?}");
        assert!(found.iter().any(|(pointer, problem)| pointer.is_empty() && problem.contains("'b'")), "{found:?}");
        assert!(misfits(&schema, &json!({"a": 1, "b": null})).is_empty());
    }

    #[test]
    fn of_alternatives_the_one_that_fits_furthest_is_shown() {
        let size = json!({"type": "object", "properties": {"width": {"type": "integer"}}});
        let schema = json!({"properties": {"size": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]}},
            "$defs": {"Size": size}});
        let found = misfits(&schema, &json!({"size": {"width": "wide"}}));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "/size/width");
    }

    #[test]
    fn a_text_that_does_not_fit_a_pattern_is_set_beside_its_description() {
        let length = json!({"type": "string", "pattern": "^[0-9]+s$", "description": "seconds, such as 10s"});
        let schema = json!({"properties": {"for": {"anyOf": [{"$ref": "#/$defs/Length"}, {"type": "number"}]}},
            "$defs": {"Length": length}});
        let found = misfits(&schema, &json!({"for": "x"}));
        assert_eq!(found, [("/for".to_owned(), "\"x\" is not as described: seconds, such as 10s".to_owned())]);
    }

    #[test]
    fn a_reference_out_of_the_schema_is_refused_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("schema.json");
        std::fs::write(&file, "{}").unwrap();
        for reference in [format!("file://{}", file.display()), "http://127.0.0.1:9/schema".to_owned()] {
            let (rest, left_out) = ParameterSchema::compile_rest(&json!({"$ref": reference, "type": "object"}));
            assert!(left_out.len() == 1 && left_out[0].contains("not followed"), "{left_out:?}");
            assert!(!rest.unwrap().misfits(&json!(1)).is_empty(), "the rest holds");
        }
    }

    #[test]
    fn a_schema_without_rules_takes_anything() {
        for schema in [json!({}), json!(true), json!({"title": "Any"})] {
            assert!(ParameterSchema::compiled(&schema).unwrap().takes_anything(), "{schema}");
        }
        assert!(!ParameterSchema::compiled(&json!({"type": "object"})).unwrap().takes_anything());
    }

    /// Schemas with a part that can't be compiled; what the rest must refuse, and what it must take.
    #[test]
    fn what_can_be_compiled_of_a_schema_holds() {
        for (schema, place, refused, taken) in [
            (
                json!({"properties": {"a": {"type": "string", "pattern": "^(?!x)"}, "b": {"type": "integer"}}}),
                "/properties/a/pattern",
                json!([{"a": 1}, {"b": "x"}]),
                json!([{"a": "y", "b": 1}]),
            ),
            (
                json!({"patternProperties": {"^(?=a)": {"type": "integer"}}, "additionalProperties": false, "required": ["a"]}),
                "/patternProperties/^(?=a)",
                json!([{}]),
                json!([{"a": 1}]),
            ),
            (
                json!({"properties": {"a": {"$ref": "https://example.org/a.json"}}, "required": ["a"]}),
                "/properties/a/$ref",
                json!([{}]),
                json!([{"a": 1}]),
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/none"}, "b": {"type": "null"}}}),
                "/properties/a/$ref",
                json!([{"b": 1}]),
                json!([{"a": 1}]),
            ),
            (
                json!({"properties": {"a": {"$ref": "#none"}, "b": {"type": "null"}}}),
                "/properties/a/$ref",
                json!([{"b": 1}]),
                json!([{"a": 1}]),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "strnig"}}}),
                "/properties/a/type",
                json!([1]),
                json!([{"a": 1}]),
            ),
            (json!({"type": "object", "required": "a"}), "/required", json!([1]), json!([{}])),
            (
                json!({"type": "object", "properties": {"a": 5, "b": {"type": "null"}}, "additionalProperties": false}),
                "/properties/a",
                json!([{"b": 1}, {"c": 1}]),
                json!([{"a": 1}]),
            ),
            (
                json!({"not": {"properties": {"a": {"pattern": "^(?!x)"}}}, "required": ["a"]}),
                "/not/properties/a/pattern",
                json!([{}]),
                json!([{"a": "y"}, {"a": "x"}]),
            ),
            (
                json!({"oneOf": [{"properties": {"a": {"pattern": "(?!x)"}}}, {"required": ["b"]}], "type": "object"}),
                "/oneOf/0/properties/a/pattern",
                json!([1]),
                json!([{"a": "x", "b": 1}, {"b": 1}]),
            ),
            (
                json!({"$defs": {"x": {"type": "string", "pattern": "(?!x)"}}, "properties": {"a": {"not": {"$ref": "#/$defs/x"}}},
                "required": ["a"]}),
                "/$defs/x/pattern",
                json!([{}]),
                json!([{"a": "x"}, {"a": "y"}]),
            ),
            (
                json!({"allOf": [{"properties": {"a": {"pattern": "(?!x)"}}}], "unevaluatedProperties": false, "required": ["a"]}),
                "/allOf/0/properties/a/pattern",
                json!([{}]),
                json!([{"a": "x"}]),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"a": {"$ref": "https://example.org/a", "type": "null"}}, "required": ["a"]}),
                "/properties/a/$ref",
                json!([{}]),
                json!([{"a": 1}]),
            ),
            (
                json!({"$schema": "https://example.org/own-draft", "type": "object"}),
                "/$schema",
                json!([1]),
                json!([{}]),
            ),
        ] {
            let (rest, left_out) = ParameterSchema::compile_rest(&schema);
            assert_eq!(left_out.len(), 1, "{schema}: {left_out:?}");
            assert!(left_out[0].starts_with(&format!("{place} is not checked: ")), "{schema}: {left_out:?}");
            let rest = rest.unwrap();
            for value in refused.as_array().unwrap() {
                assert!(!rest.misfits(value).is_empty(), "{schema} takes {value}");
            }
            for value in taken.as_array().unwrap() {
                let misfits = rest.misfits(value).into_iter().map(|misfit| misfit.problem).collect::<Vec<_>>();
                assert_eq!(misfits, [""; 0], "{schema} refuses {value}");
            }
        }
    }

    #[test]
    fn what_is_no_schema_at_all_checks_nothing_and_says_so() {
        let many: serde_json::Map<_, _> =
            (0..30).map(|n| (format!("p{n}"), json!({"type": format!("t{n}")}))).collect();
        for schema in [json!(5), json!("text"), json!({ "properties": many })] {
            let (rest, left_out) = ParameterSchema::compile_rest(&schema);
            assert!(rest.is_none() && left_out.last().unwrap().starts_with("nothing is checked"), "{left_out:?}");
        }
    }

    proptest! {
        /// A pattern that can't be compiled, put into a schema in place of one that means the same: what fits the whole
        /// schema fits the rest.
        #[test]
        fn the_rest_takes_all_that_the_whole_takes(schema in schemas(), values in collection::vec(values(), 1..12)) {
            let whole = ParameterSchema::compiled(&schema).map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
            let broken: Value = serde_json::from_str(&schema.to_string().replace("^a", "^(?=a)")).unwrap();
            let (rest, left_out) = ParameterSchema::compile_rest(&broken);
            prop_assert!(rest.is_some() || left_out.len() > MOST_FLAWS);
            let Some(rest) = rest else { return Ok(()) };
            for value in values.iter().filter(|value| whole.misfits(value).is_empty()) {
                prop_assert!(rest.misfits(value).is_empty(), "{} by {} without {:?}", value, broken, left_out);
            }
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), "[ab]{1,2}".prop_map(Value::from)];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                collection::btree_map("[ab]{1,2}", inner, 0..3).prop_map(|fields| fields.into_iter().collect()),
            ]
        })
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(true)),
            Just(json!({"type": "string"})),
            Just(json!({"pattern": "^a"})),
            Just(json!({"type": "object", "required": ["a"]})),
            Just(json!({"$ref": "#/$defs/x"})),
            Just(json!({"maxLength": 1})),
        ];
        let schema = leaf.prop_recursive(4, 16, 3, |inner| {
            let two = || collection::vec(inner.clone(), 1..3);
            prop_oneof![
                inner.clone().prop_map(|it| json!({"not": it})),
                two().prop_map(|it| json!({"oneOf": it})),
                two().prop_map(|it| json!({"anyOf": it})),
                two().prop_map(|it| json!({"allOf": it, "unevaluatedProperties": false})),
                (inner.clone(), inner.clone(), inner.clone())
                    .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
                (inner.clone(), inner.clone())
                    .prop_map(|(a, b)| json!({"properties": {"a": a}, "additionalProperties": b})),
                (inner.clone(), inner.clone())
                    .prop_map(|(a, b)| json!({"patternProperties": {"^a": a}, "additionalProperties": b})),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"prefixItems": [a], "items": b})),
                inner.clone().prop_map(|it| json!({"contains": it, "maxContains": 1})),
                inner.prop_map(|it| json!({"propertyNames": it})),
            ]
        });
        // What is shared refers to nothing, or it could refer to itself for ever.
        let shared = prop_oneof![
            Just(json!({"pattern": "^a"})),
            Just(json!({"type": "object"})),
            Just(json!({"not": {"pattern": "^a"}}))
        ];
        (schema, shared).prop_map(|(schema, shared)| json!({"$defs": {"x": shared}, "allOf": [schema]}))
    }
}
