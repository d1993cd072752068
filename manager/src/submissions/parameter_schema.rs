//! The JSON Schema of a task's parameters.
//!
//! A schema comes from a worker, so it is not trusted: a reference out of it is refused and never read. A part that can't be
//! compiled, such as a look-around in a pattern, is left out, and the rest holds ([`flaws`]). Its size and the work of each check
//! are bounded ([`bounds`], [`cost`]).

use std::error::Error;

use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::{Value, json};

use self::{
    bounds::SchemaSize,
    cost::{Anchors, TooCostly},
    innermost::collect,
};

mod bounds;
mod cost;
mod flaws;
mod innermost;

pub(crate) use self::bounds::Allowance;

/// Most parts of a schema that are left out; with more, none of it is checked.
const MOST_FLAWS: usize = 20;
/// How much of the reason for a flaw is shown, in characters.
const REASON: usize = 200;

/// Most misfits reported together.
const MOST_MISFITS: usize = 5;

/// The name under which a schema is compiled; it is in no file and no network.
const LOCATION: &str = "schema:parameters";

/// A compiled schema.
pub(crate) struct ParameterSchema {
    schemas: Schemas,
    index: SchemaIndex,
    /// What was compiled: for its descriptions, and to count the work of a check.
    source: Value,
    anchors: Anchors,
    size: SchemaSize,
}

/// What a check found.
#[derive(Debug)]
pub(crate) enum SchemaCheck {
    /// The first places where the value does not fit; none if it does.
    Misfits(Vec<Misfit>),
    /// Nothing: it would take more steps than are allowed.
    TooCostly,
}

/// A place where a value does not fit.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// A JSON pointer into the value.
    pub(crate) pointer: String,
    /// What is wrong there.
    pub(crate) problem: String,
}

impl ParameterSchema {
    /// Most steps of a check; a step takes about a microsecond.
    pub(crate) const MAX_STEPS: u64 = cost::MAX_STEPS;

    /// Compiles a schema, of draft 2020-12 unless it names another. In its alternative form the error says what in the schema
    /// is wrong.
    fn compiled(schema: &Value) -> Result<(Schemas, SchemaIndex), Box<CompileError>> {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.use_loader(Box::new(NothingElse));
        compiler.add_resource(LOCATION, schema.clone()).map_err(Box::new)?;
        let index = compiler.compile(LOCATION, &mut schemas).map_err(Box::new)?;
        Ok((schemas, index))
    }

    /// Compiles as much of a schema as can be, while the allowance lasts. Returns what holds, and what is left out and why, each
    /// in a sentence that begins with its place.
    pub(crate) fn compile_rest(schema: &Value, allowance: &mut Allowance) -> (Option<Self>, Vec<String>) {
        let nothing = |why: String| format!("nothing is checked: {why}");
        let size = match SchemaSize::of(schema) {
            Ok(size) => size,
            Err(why) => return (None, vec![nothing(why)]),
        };
        let mut source = schema.clone();
        let too_large = flaws::take_out_patterns(&mut source, |pattern| size.is_too_large(pattern));
        let mut left_out: Vec<String> =
            too_large.into_iter().map(|place| format!("{place} is not checked: the pattern is too large")).collect();
        while left_out.len() < MOST_FLAWS {
            if !allowance.take(&size) {
                left_out.push(nothing("compiling the schemas of its worker takes too long".to_owned()));
                return (None, left_out);
            }
            let error = match Self::compiled(&source) {
                Ok((schemas, index)) => {
                    let anchors = Anchors::of(&source);
                    return (Some(Self { schemas, index, source, anchors, size }), left_out);
                }
                Err(error) => error,
            };
            let reason: String = format!("{error:#}").replace(LOCATION, "the schema").chars().take(REASON).collect();
            let places = flaws::take_out(&mut source, &error);
            if places.is_empty() {
                left_out.push(nothing(reason));
                return (None, left_out);
            }
            left_out.extend(places.into_iter().map(|place| format!("{place} is not checked: {reason}")));
        }
        left_out.push(nothing(format!("over {MOST_FLAWS} parts of the schema can't be compiled")));
        (None, left_out)
    }

    /// Whether values of all kinds fit.
    pub(crate) fn takes_anything(&self) -> bool {
        let kinds = [json!(null), json!(true), json!(0.5), json!(""), json!([null]), json!({"a": null})];
        let fits =
            |value| matches!(self.check(value, Self::MAX_STEPS), SchemaCheck::Misfits(misfits) if misfits.is_empty());
        kinds.iter().all(fits)
    }

    /// Checks a value, if that takes no more than so many steps.
    pub(crate) fn check(&self, value: &Value, most_steps: u64) -> SchemaCheck {
        if let Err(TooCostly) = cost::steps(&self.source, &self.anchors, &self.size, value, most_steps) {
            return SchemaCheck::TooCostly;
        }
        let Err(error) = self.schemas.validate(value, self.index) else { return SchemaCheck::Misfits(Vec::new()) };
        let mut misfits = Vec::new();
        collect(&error, &mut misfits);
        let shown = misfits.into_iter().take(MOST_MISFITS);
        SchemaCheck::Misfits(
            shown
                .map(|error| Misfit { pointer: error.instance_location.to_string(), problem: self.problem(error) })
                .collect(),
        )
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

    fn compile_rest(schema: &Value) -> (Option<ParameterSchema>, Vec<String>) {
        ParameterSchema::compile_rest(schema, &mut Allowance::of_a_catalogue())
    }

    fn compiled(schema: &Value) -> ParameterSchema {
        let (compiled, left_out) = compile_rest(schema);
        assert_eq!(left_out, [""; 0], "{schema}");
        compiled.unwrap()
    }

    fn misfits_by(schema: &ParameterSchema, value: &Value) -> Vec<Misfit> {
        match schema.check(value, ParameterSchema::MAX_STEPS) {
            SchemaCheck::Misfits(misfits) => misfits,
            SchemaCheck::TooCostly => panic!("too costly: {value}"),
        }
    }

    fn misfits(schema: &Value, value: &Value) -> Vec<(String, String)> {
        let misfits = misfits_by(&compiled(schema), value);
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
            let (rest, left_out) = compile_rest(&json!({"$ref": reference, "type": "object"}));
            assert!(left_out.len() == 1 && left_out[0].contains("not followed"), "{left_out:?}");
            assert!(!misfits_by(&rest.unwrap(), &json!(1)).is_empty(), "the rest holds");
        }
    }

    #[test]
    fn a_schema_without_rules_takes_anything() {
        for schema in [json!({}), json!(true), json!({"title": "Any"})] {
            assert!(compiled(&schema).takes_anything(), "{schema}");
        }
        assert!(!compiled(&json!({"type": "object"})).takes_anything());
    }

    /// A schema with a part that can't be compiled, the place of that part, what the rest must refuse, and what it must take.
    type Case = (Value, &'static str, Value, Value);

    fn check_rest(cases: impl IntoIterator<Item = Case>) {
        for (schema, place, refused, taken) in cases {
            let (rest, left_out) = compile_rest(&schema);
            assert_eq!(left_out.len(), 1, "{schema}: {left_out:?}");
            assert!(left_out[0].starts_with(&format!("{place} is not checked: ")), "{schema}: {left_out:?}");
            let rest = rest.unwrap();
            for value in refused.as_array().unwrap() {
                assert!(!misfits_by(&rest, value).is_empty(), "{schema} takes {value}");
            }
            for value in taken.as_array().unwrap() {
                let misfits = misfits_by(&rest, value).into_iter().map(|misfit| misfit.problem).collect::<Vec<_>>();
                assert_eq!(misfits, [""; 0], "{schema} refuses {value}");
            }
        }
    }

    #[test]
    fn what_can_be_compiled_of_a_schema_holds() {
        check_rest([
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
                json!({
                    "$defs": {"x": {"pattern": "^(?=a)"}},
                    "type": "object",
                    "if": {"allOf": [true], "unevaluatedProperties": false},
                    "then": {"required": ["a"]},
                    "else": {"$ref": "#/$defs/x"},
                }),
                "/$defs/x/pattern",
                json!([1]),
                json!([{"b": null}]),
            ),
            (
                json!({
                    "$defs": {"x": {"pattern": "^(?=a)"}},
                    "allOf": [{"not": {"prefixItems": [{"$comment": "x"}], "unevaluatedItems": false}}, {"$ref": "#/$defs/x"}],
                    "type": "array",
                }),
                "/$defs/x/pattern",
                json!([1]),
                json!([[1, 2]]),
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
        ]);
    }

    #[test]
    fn what_a_looser_part_would_make_stricter_is_left_out_with_it() {
        check_rest([
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
        ]);
    }

    /// Each level of the value is looked at in two ways, and in each of them the next level is.
    fn doubling(keyword: &str) -> Value {
        let way = json!({"properties": {"next": {"$ref": "#/$defs/level"}}});
        json!({"$ref": "#/$defs/level", "$defs": {"level": {"type": "object", keyword: [way, way]}}})
    }

    fn nested(levels: usize, innermost: Value) -> Value {
        (0..levels).fold(innermost, |inner, _| json!({ "next": inner }))
    }

    #[test]
    fn a_check_that_would_not_end_is_not_begun() {
        for keyword in ["anyOf", "allOf", "oneOf"] {
            let schema = compiled(&doubling(keyword));
            assert!(misfits_by(&schema, &nested(5, json!({}))).is_empty() || keyword == "oneOf");
            assert!(!misfits_by(&schema, &nested(5, json!(1))).is_empty());
            for innermost in [json!({}), json!(1)] {
                let found = schema.check(&nested(60, innermost), ParameterSchema::MAX_STEPS);
                assert!(matches!(found, SchemaCheck::TooCostly), "{keyword}: {found:?}");
            }
        }
    }

    #[test]
    fn a_check_that_would_not_end_is_not_begun_without_any_recursion_either() {
        let ways: serde_json::Map<_, _> = (0..60)
            .map(|n| (format!("d{n}"), json!({"anyOf": vec![json!({"$ref": format!("#/$defs/d{}", n + 1)}); 2]})))
            .chain([("d60".to_owned(), json!({"type": "object"}))])
            .collect();
        let schema = compiled(&json!({"$ref": "#/$defs/d0", "$defs": ways}));
        assert!(matches!(schema.check(&json!(1), ParameterSchema::MAX_STEPS), SchemaCheck::TooCostly));
    }

    #[test]
    fn parts_that_lead_into_each_other_without_an_end_or_too_deep_are_not_followed() {
        let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
        let chain: serde_json::Map<_, _> = (0..2_000)
            .map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)})))
            .chain([("d2000".to_owned(), json!(true))])
            .collect();
        for schema in [circle, json!({"$ref": "#/$defs/d0", "$defs": chain})] {
            assert!(matches!(compiled(&schema).check(&json!(1), ParameterSchema::MAX_STEPS), SchemaCheck::TooCostly));
        }
    }

    #[test]
    fn a_recursive_schema_whose_alternatives_differ_is_checked_however_deep() {
        let schema = compiled(&json!({"$ref": "#/$defs/term", "$defs": {"term": {"anyOf": [
            {"type": "number"},
            {"type": "object", "properties": {"not": {"$ref": "#/$defs/term"}}, "required": ["not"]},
            {"type": "object", "properties": {"all": {"items": {"$ref": "#/$defs/term"}}}, "required": ["all"]},
        ]}}}));
        let term = (0..21).fold(json!(1), |inner, _| json!({"all": [{"not": inner}, 2]}));
        assert!(misfits_by(&schema, &term).is_empty());
        let wrong = (0..21).fold(json!("x"), |inner, _| json!({"all": [{"not": inner}, 2]}));
        assert!(!misfits_by(&schema, &wrong).is_empty());
    }

    #[test]
    fn a_large_value_is_checked_by_a_schema_of_the_usual_size() {
        let row = json!({"type": "object", "properties": {"id": {"type": "integer"}, "at": {"type": "string", "format": "date-time"},
            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 99}, "tags": {"items": {"enum": ["a", "b"]}}}});
        let schema = compiled(&json!({"properties": {"rows": {"items": row}}}));
        let rows = vec![json!({"id": 1, "at": "2026-11-26T10:00:00Z", "name": "abc", "tags": ["a", "b"]}); 10_000];
        assert!(misfits_by(&schema, &json!({ "rows": rows })).is_empty());
    }

    #[test]
    fn a_pattern_that_is_too_large_is_left_out_and_the_rest_holds() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(.{1000}){1000}"}}});
        let (rest, left_out) = compile_rest(&schema);
        assert_eq!(left_out, ["/properties/a/pattern is not checked: the pattern is too large"]);
        assert!(!misfits_by(&rest.unwrap(), &json!({"a": 1})).is_empty());
    }

    #[test]
    fn what_is_no_schema_at_all_checks_nothing_and_says_so() {
        let many: serde_json::Map<_, _> =
            (0..30).map(|n| (format!("p{n}"), json!({"type": format!("t{n}")}))).collect();
        for schema in [json!(5), json!("text"), json!({ "properties": many })] {
            let (rest, left_out) = compile_rest(&schema);
            assert!(rest.is_none() && left_out.last().unwrap().starts_with("nothing is checked"), "{left_out:?}");
        }
    }

    proptest! {
        /// A pattern that can't be compiled, put into a schema in place of one that means the same: what fits the whole
        /// schema fits the rest.
        #[test]
        fn the_rest_takes_all_that_the_whole_takes(schema in schemas(), values in collection::vec(values(), 1..12)) {
            let (whole, left_out) = compile_rest(&schema);
            let whole = whole.filter(|_| left_out.is_empty()).ok_or_else(|| TestCaseError::fail(left_out.concat()))?;
            let broken: Value = serde_json::from_str(&schema.to_string().replace("^a", "^(?=a)")).unwrap();
            let (rest, left_out) = compile_rest(&broken);
            prop_assert!(rest.is_some() || left_out.len() > MOST_FLAWS);
            let Some(rest) = rest else { return Ok(()) };
            for value in values.iter().filter(|value| misfits_by(&whole, value).is_empty()) {
                prop_assert!(misfits_by(&rest, value).is_empty(), "{} by {} without {:?}", value, broken, left_out);
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
