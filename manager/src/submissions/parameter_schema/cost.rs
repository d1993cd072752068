//! How much work a check is, counted before it is done.
//!
//! The validator follows every way through a schema by itself, so a recursive `anyOf` or `allOf` doubles its work with each
//! level of the value: with sixty levels it would not end. Here each pair of a part of the schema and a part of the value is
//! counted once and remembered, so counting stays quick where checking would not.
//!
//! What a keyword may look at is counted as looked at, and of several places that a reference may lead to the most costly
//! one. So a check may be refused that would have been quick, and none is allowed that takes long.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::bounds::SchemaSize;

/// Most steps of a check: looking at a value by a part of the schema is one step, and more for a large value.
pub(super) const MAX_STEPS: u64 = 500_000;
/// So many parts of a schema may lead into each other, along a value. The validator's stack grows with them.
const MAX_DEPTH: usize = 200;
/// Steps for each node of a value that a schema of JSON Schema itself checks.
const META_STEPS: u64 = 300;
/// Steps of checking a text by the format `regex`, which compiles it.
const REGEX_FORMAT_STEPS: u64 = 10_000;

/// A check that would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooCostly;

/// The places in a schema that references name otherwise than by their pointer.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    by_name: HashMap<String, Vec<String>>,
    /// Those with an `$id`, and the whole.
    resources: Vec<String>,
}

impl Anchors {
    /// Those of a schema.
    pub(super) fn of(schema: &Value) -> Self {
        let mut anchors = Self { by_name: HashMap::new(), resources: vec![String::new()] };
        anchors.collect(schema, &mut String::new());
        anchors
    }

    fn collect(&mut self, value: &Value, place: &mut String) {
        let before = place.len();
        match value {
            Value::Object(fields) => {
                for keyword in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                    let Some(Value::String(name)) = fields.get(keyword) else { continue };
                    // In old drafts `"$id": "#name"` is an anchor.
                    let name = name.trim_start_matches('#');
                    self.by_name.entry(name.to_owned()).or_default().push(place.clone());
                    if keyword.ends_with("id") && !place.is_empty() {
                        self.resources.push(place.clone());
                    }
                }
                for (name, inner) in fields {
                    place.push('/');
                    place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.collect(inner, place);
                    place.truncate(before);
                }
            }
            Value::Array(items) => {
                for (at, inner) in items.iter().enumerate() {
                    place.push_str(&format!("/{at}"));
                    self.collect(inner, place);
                    place.truncate(before);
                }
            }
            _ => {}
        }
    }
}

/// The steps of checking a value by a schema.
///
/// # Errors
/// [`TooCostly`] if they are over `most`, if its parts lead into each other without an end, or too deep.
pub(super) fn steps(
    schema: &Value,
    anchors: &Anchors,
    size: &SchemaSize,
    value: &Value,
    most: u64,
) -> Result<u64, TooCostly> {
    let mut counter = CostCounter { whole: schema, anchors, size, most, counted: HashMap::new() };
    let steps = counter.steps(schema, value, Depth { parts: 0, levels: 0 })?;
    if steps > most { Err(TooCostly) } else { Ok(steps) }
}

#[derive(Clone, Copy)]
struct Depth {
    /// Of parts of the schema that lead into each other.
    parts: usize,
    /// Of the value.
    levels: u64,
}

struct CostCounter<'s> {
    whole: &'s Value,
    anchors: &'s Anchors,
    size: &'s SchemaSize,
    most: u64,
    /// By the addresses of a part of the schema and a part of the value; `None` while it is being counted.
    counted: HashMap<(usize, usize), Option<u64>>,
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// In place of the name of a field: no part of a value is one.
static NAME: Value = Value::String(String::new());

impl<'s> CostCounter<'s> {
    fn steps(&mut self, schema: &'s Value, value: &Value, depth: Depth) -> Result<u64, TooCostly> {
        let Value::Object(keywords) = schema else { return Ok(1) };
        let pair = (address(schema), address(value));
        match self.counted.get(&pair) {
            Some(Some(steps)) => return Ok(*steps),
            // A part that leads to itself, at the same value.
            Some(None) => return Err(TooCostly),
            None => {}
        }
        if depth.parts > MAX_DEPTH || self.counted.len() as u64 > self.most {
            return Err(TooCostly);
        }
        self.counted.insert(pair, None);
        let depth = Depth { parts: depth.parts + 1, ..depth };
        let mut steps = 1 + depth.levels / 4 + children(value).count() as u64;
        for (keyword, inner) in keywords {
            let more = self.keyword(keyword, inner, value, depth)?;
            steps = steps.saturating_add(more);
        }
        self.counted.insert(pair, Some(steps));
        Ok(steps)
    }

    fn keyword(&mut self, keyword: &str, inner: &'s Value, value: &Value, depth: Depth) -> Result<u64, TooCostly> {
        let text_bytes = value.as_str().map_or(0, str::len) as u64;
        let below = Depth { levels: depth.levels + 1, ..depth };
        Ok(match (keyword, inner) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                self.reference(reference, value, depth)?
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => self.each(schemas.iter(), value, depth)?,
            ("not" | "if" | "then" | "else", schema) => self.steps(schema, value, depth)?,
            ("dependentSchemas" | "dependencies", Value::Object(by_name)) => {
                self.each(by_name.values(), value, depth)?.saturating_add(by_name.len() as u64)
            }
            ("properties", Value::Object(by_name)) => self.properties(by_name, value, below)?,
            ("patternProperties", Value::Object(by_pattern)) => self.pattern_properties(by_pattern, value, below)?,
            ("additionalProperties" | "unevaluatedProperties", schema) if value.is_object() => {
                self.children(schema, value, below)?
            }
            ("propertyNames", schema) => {
                let names = value.as_object().into_iter().flat_map(Map::keys);
                let weight = names.map(|name| 1 + name.len() as u64).sum::<u64>();
                self.steps(schema, &NAME, depth)?.saturating_mul(weight)
            }
            ("items" | "prefixItems", Value::Array(schemas)) => self.items(schemas, value, below)?,
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", schema) if value.is_array() => {
                self.children(schema, value, below)?
            }
            ("enum" | "const", expected) => nodes(expected),
            ("required" | "dependentRequired", _) => nodes(inner),
            ("uniqueItems", _) => nodes(value),
            ("pattern", Value::String(pattern)) => self.match_steps(pattern, text_bytes),
            ("format", Value::String(format)) if format == "regex" && value.is_string() => {
                REGEX_FORMAT_STEPS + text_bytes
            }
            _ => text_bytes / 64,
        })
    }

    fn match_steps(&self, pattern: &str, text_bytes: u64) -> u64 {
        1 + (text_bytes / 64).saturating_mul(self.size.pattern_steps(pattern))
    }

    fn each(
        &mut self,
        mut schemas: impl Iterator<Item = &'s Value>,
        value: &Value,
        depth: Depth,
    ) -> Result<u64, TooCostly> {
        schemas.try_fold(0_u64, |sum, schema| Ok(sum.saturating_add(self.steps(schema, value, depth)?)))
    }

    fn children(&mut self, schema: &'s Value, value: &Value, below: Depth) -> Result<u64, TooCostly> {
        children(value).try_fold(0_u64, |sum, child| Ok(sum.saturating_add(self.steps(schema, child, below)?)))
    }

    fn properties(&mut self, by_name: &'s Map<String, Value>, value: &Value, below: Depth) -> Result<u64, TooCostly> {
        let fields = value.as_object().into_iter().flatten();
        let mut found = fields.filter_map(|(name, child)| Some((by_name.get(name)?, child)));
        found.try_fold(0_u64, |sum, (schema, child)| Ok(sum.saturating_add(self.steps(schema, child, below)?)))
    }

    fn pattern_properties(
        &mut self,
        by_pattern: &'s Map<String, Value>,
        value: &Value,
        below: Depth,
    ) -> Result<u64, TooCostly> {
        let Value::Object(fields) = value else { return Ok(0) };
        let mut steps = 0_u64;
        for (pattern, schema) in by_pattern {
            for (name, child) in fields {
                let more =
                    self.steps(schema, child, below)?.saturating_add(self.match_steps(pattern, name.len() as u64));
                steps = steps.saturating_add(more);
            }
        }
        Ok(steps)
    }

    fn items(&mut self, schemas: &'s [Value], value: &Value, below: Depth) -> Result<u64, TooCostly> {
        let mut pairs = schemas.iter().zip(value.as_array().into_iter().flatten());
        pairs.try_fold(0_u64, |sum, (schema, item)| Ok(sum.saturating_add(self.steps(schema, item, below)?)))
    }

    /// The steps by what a reference leads to: by the most costly of several places.
    fn reference(&mut self, reference: &str, value: &Value, depth: Depth) -> Result<u64, TooCostly> {
        let mut most = None;
        for target in self.targets(reference) {
            most = most.max(Some(self.steps(target, value, depth)?));
        }
        match most {
            Some(steps) => Ok(steps),
            None if reference.contains("json-schema.org") => Ok(nodes(value).saturating_mul(META_STEPS)),
            None => Err(TooCostly),
        }
    }

    /// Where a reference may lead.
    fn targets(&self, reference: &str) -> Vec<&'s Value> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if document.contains("json-schema.org") {
            return Vec::new();
        }
        let fragment = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
        let (whole, anchors) = (self.whole, self.anchors);
        let found = |place: String| whole.pointer(&place);
        if fragment.is_empty() || fragment.starts_with('/') {
            let resources = anchors.resources.iter();
            return resources.filter_map(|resource| found(format!("{resource}{fragment}"))).collect();
        }
        let named = anchors.by_name.get(&*fragment).into_iter().flatten();
        named.filter_map(|place| found(place.clone())).collect()
    }
}

/// The values within a value.
fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let (fields, items) = (value.as_object(), value.as_array());
    fields.into_iter().flat_map(Map::values).chain(items.into_iter().flatten())
}

/// How many values a value is, itself and those within it.
fn nodes(value: &Value) -> u64 {
    1 + children(value).map(nodes).sum::<u64>()
}
