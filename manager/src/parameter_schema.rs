//! The JSON Schema of a task's parameters.
//!
//! A schema comes from a worker, so it is not trusted: a reference out of it is refused and never read.

use std::{cmp::Reverse, error::Error};

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::{Value, json};

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
    /// Compiles a schema, of draft 2020-12 unless it names another.
    ///
    /// # Errors
    /// Why it is not a schema.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.use_loader(Box::new(NothingElse));
        compiler.add_resource(LOCATION, schema.clone()).map_err(|error| error.to_string())?;
        // In its alternative form the error says what in the schema is wrong.
        let index = compiler.compile(LOCATION, &mut schemas).map_err(|error| format!("{error:#}"))?;
        Ok(Self { schemas, index, source: schema.clone() })
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
    use super::*;

    fn misfits(schema: &Value, value: &Value) -> Vec<(String, String)> {
        let misfits = ParameterSchema::compile(schema).unwrap().misfits(value);
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
            let problem = ParameterSchema::compile(&json!({"$ref": reference})).err().expect("it is refused");
            assert!(problem.contains("not followed"), "{problem}");
        }
        assert!(ParameterSchema::compile(&json!({"type": "text"})).is_err());
    }

    #[test]
    fn a_schema_without_rules_takes_anything() {
        for schema in [json!({}), json!(true), json!({"title": "Any"})] {
            assert!(ParameterSchema::compile(&schema).unwrap().takes_anything(), "{schema}");
        }
        assert!(!ParameterSchema::compile(&json!({"type": "object"})).unwrap().takes_anything());
    }
}
