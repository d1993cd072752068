//! Takes out of a schema what can't be compiled, so that the rest of it holds.
//!
//! The rest must take all that the whole schema takes: a submission is never refused for a part that is missing. So what is
//! taken out only ever loosens: within a keyword that turns it round (`not`, `if`, `oneOf`, `contains`) that keyword goes as a
//! whole, and what depends on the names that other keywords have seen (`additionalProperties`, `unevaluatedItems`, …) goes with
//! them.

use boon::{CompileError, ErrorKind, InstanceToken, ValidationError};
use serde_json::{Map, Value};

use super::innermost::collect;

/// Keywords that may refuse more when a part of them refuses less.
const TURNED_ROUND: [&str; 4] = ["not", "if", "oneOf", "contains"];
/// Keywords that refuse what no other keyword has seen.
const UNSEEN: [&str; 5] =
    ["additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "items"];
/// Keywords whose names or places the ones above look at.
const SEEN: [&str; 4] = ["properties", "patternProperties", "prefixItems", "items"];
/// Keywords that hold schemas by name.
const BY_NAME: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords that hold data, which may look like a schema.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords that refer to another schema.
const REFERENCES: [&str; 4] = ["$ref", "$dynamicRef", "$recursiveRef", "$schema"];

/// A place in a schema: the tokens of a JSON pointer.
type SchemaPath = Vec<String>;

/// Loosens a schema where an error says that it can't be compiled. Returns the pointers of what was taken out; none if the
/// error is about the whole schema.
pub(super) fn take_out(schema: &mut Value, error: &CompileError) -> Vec<String> {
    let places = places_of(error, schema);
    take_out_places(schema, places)
}

/// Loosens a schema by the patterns that a test picks out. Returns their pointers.
pub(super) fn take_out_patterns(schema: &mut Value, is_out: impl Fn(&str) -> bool) -> Vec<String> {
    let mut places = Vec::new();
    walk(schema, &mut Vec::new(), &mut |keyword, value, place| match (keyword, value) {
        ("pattern", Value::String(pattern)) if is_out(pattern) => places.push(place.to_vec()),
        ("patternProperties", Value::Object(by_pattern)) => {
            let out = by_pattern.keys().filter(|pattern| is_out(pattern));
            places.extend(out.map(|pattern| place.iter().chain([pattern]).cloned().collect::<SchemaPath>()));
        }
        _ => {}
    });
    take_out_places(schema, places)
}

fn take_out_places(schema: &mut Value, places: Vec<SchemaPath>) -> Vec<String> {
    let mut taken = Vec::new();
    // Before draft 2019-09 what is beside a reference does not count.
    let references_are_alone = schema["$schema"].as_str().is_some_and(|draft| draft.contains("draft-0"));
    for place in places {
        if place.is_empty() || !loosen(schema, &place, references_are_alone) {
            continue;
        }
        let pointer: String =
            place.iter().map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1"))).collect();
        if is_referred_to(schema, &pointer) {
            loosen_references(schema);
        }
        taken.push(pointer);
    }
    taken
}

/// Where the flaw is that an error reports.
fn places_of(error: &CompileError, schema: &Value) -> Vec<SchemaPath> {
    let below = |loc: &str, keyword: &str| {
        let mut place = place_in(loc);
        place.push(keyword.to_owned());
        vec![place]
    };
    match error {
        CompileError::InvalidRegex { url, regex, .. } => {
            let mut place = place_in(url);
            if place.last().is_some_and(|keyword| keyword == "patternProperties") {
                place.push(regex.clone());
            }
            vec![place]
        }
        CompileError::ValidationError { src, .. } => match invalid_name(src) {
            // Such an error does not name the place.
            Some(pattern) => holders_of(schema, "patternProperties", &pattern),
            None => {
                let mut leaves = Vec::new();
                collect(src, &mut leaves);
                let place = leaves.first().map(|leaf| leaf.instance_location.tokens.iter().map(token_text).collect());
                place.into_iter().collect()
            }
        },
        CompileError::LoadUrlError { url, .. }
        | CompileError::ParseUrlError { url, .. }
        | CompileError::UnsupportedUrlScheme { url }
        | CompileError::UnsupportedDraft { url }
        | CompileError::InvalidMetaSchemaUrl { url, .. }
        | CompileError::UnsupportedVocabulary { url, .. } => {
            let document = |text: &str| text.split('#').next().unwrap_or_default().to_owned();
            let target = document(url);
            references(schema, |reference| {
                let reference = document(reference);
                !reference.is_empty()
                    && (target == reference || target.ends_with(reference.trim_start_matches(['.', '/'])))
            })
        }
        CompileError::JsonPointerNotFound(loc) | CompileError::InvalidJsonPointer(loc) => {
            references(schema, |reference| place_in(reference) == place_in(loc))
        }
        CompileError::AnchorNotFound { reference, .. } => {
            let anchor = |text: &str| text.rsplit('#').next().unwrap_or_default().to_owned();
            references(schema, |found| anchor(found) == anchor(reference))
        }
        CompileError::ParseIdError { loc } => below(loc, "$id"),
        CompileError::ParseAnchorError { loc } => below(loc, "$anchor"),
        CompileError::DuplicateId { ptr2, .. } => below(&format!("#{ptr2}"), "$id"),
        CompileError::DuplicateAnchor { ptr2, .. } => below(&format!("#{ptr2}"), "$anchor"),
        _ => Vec::new(),
    }
}

/// The name of a field that an error refuses.
fn invalid_name(error: &ValidationError<'_, '_>) -> Option<String> {
    match &error.kind {
        ErrorKind::PropertyName { prop } => Some(prop.clone()),
        _ => error.causes.iter().find_map(invalid_name),
    }
}

fn token_text(token: &InstanceToken<'_>) -> String {
    match token {
        InstanceToken::Prop(name) => name.to_string(),
        InstanceToken::Item(at) => at.to_string(),
    }
}

/// The place that the fragment of a location names.
fn place_in(loc: &str) -> SchemaPath {
    let pointer = loc.split_once('#').map_or("", |(_, fragment)| fragment);
    let pointer = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy().into_owned();
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

/// The places of the references that a test accepts.
fn references(schema: &Value, is_so: impl Fn(&str) -> bool) -> Vec<SchemaPath> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut |keyword, value, place| {
        if REFERENCES.contains(&keyword) && value.as_str().is_some_and(&is_so) {
            found.push(place.to_vec());
        }
    });
    found
}

/// The places of a field within a keyword.
fn holders_of(schema: &Value, holder: &str, name: &str) -> Vec<SchemaPath> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut |keyword, value, place| {
        if keyword == holder && value.get(name).is_some() {
            found.push(place.iter().cloned().chain([name.to_owned()]).collect());
        }
    });
    found
}

/// Visits each field of a schema that is no data, with its place.
fn walk(value: &Value, place: &mut SchemaPath, visit: &mut dyn FnMut(&str, &Value, &[String])) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !DATA.contains(&name.as_str())) {
                place.push(name.clone());
                visit(name, value, place);
                walk(value, place, visit);
                place.pop();
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                place.push(at.to_string());
                walk(value, place, visit);
                place.pop();
            }
        }
        _ => {}
    }
}

/// Whether a reference may lead to a place, or to what holds it.
fn is_referred_to(schema: &Value, pointer: &str) -> bool {
    let leads_there = |reference: &str| match reference.strip_prefix("#/") {
        Some(target) => format!("{pointer}/").starts_with(&format!("/{target}/")),
        None => !reference.contains("json-schema.org"),
    };
    !references(schema, leads_there).is_empty()
}

/// Takes out the keyword, or the schema, at a place. Whether anything was there.
fn loosen(schema: &mut Value, place: &[String], references_are_alone: bool) -> bool {
    let (Some((token, rest)), Some(fields)) = (place.split_first(), schema.as_object_mut()) else { return false };
    fields.remove("unevaluatedProperties");
    fields.remove("unevaluatedItems");
    if !fields.contains_key(token) {
        return token.starts_with("unevaluated");
    }
    if rest.is_empty() && token == "$ref" && references_are_alone {
        fields.retain(|name, _| matches!(name.as_str(), "$defs" | "definitions" | "$id" | "id" | "$schema"));
        return true;
    }
    if rest.is_empty() || TURNED_ROUND.contains(&token.as_str()) {
        return remove(fields, token);
    }
    let is_by_name = BY_NAME.contains(&token.as_str());
    let Some(value) = fields.get_mut(token) else { return false };
    let inner = match (value, rest) {
        (Value::Object(schemas), [name, ..]) if is_by_name && token == "patternProperties" && rest.len() == 1 => {
            let is_there = schemas.remove(name).is_some();
            UNSEEN.iter().for_each(|keyword| drop(fields.remove(*keyword)));
            return is_there;
        }
        (Value::Object(schemas), [name, inner @ ..]) if is_by_name => schemas.get_mut(name).map(|value| (value, inner)),
        (Value::Array(items), [at, inner @ ..]) => {
            at.parse().ok().and_then(|at: usize| items.get_mut(at)).map(|value| (value, inner))
        }
        (value @ Value::Object(_), inner) => Some((value, inner)),
        _ => None,
    };
    match inner {
        Some((value, [])) if is_by_name || HOLDS_SCHEMAS.contains(&token.as_str()) => {
            *value = Value::Bool(true);
            true
        }
        Some((value, inner)) if value.is_object() && !inner.is_empty() => loosen(value, inner, references_are_alone),
        _ => remove(fields, token),
    }
}

/// Keywords that hold schemas in a list.
const HOLDS_SCHEMAS: [&str; 4] = ["allOf", "anyOf", "prefixItems", "items"];

/// Takes out a keyword, with those that depend on it.
fn remove(fields: &mut Map<String, Value>, keyword: &str) -> bool {
    if SEEN.contains(&keyword) {
        UNSEEN.iter().for_each(|keyword| drop(fields.remove(*keyword)));
    }
    if matches!(keyword, "minContains" | "maxContains") {
        fields.remove("contains");
    }
    fields.remove(keyword);
    true
}

fn is_unevaluated(keyword: &str) -> bool {
    matches!(keyword, "unevaluatedProperties" | "unevaluatedItems")
}

/// Whether a schema refuses less once references lead to a looser one and all that is unevaluated is taken.
fn becomes_looser(schema: &Value) -> bool {
    let mut is_it = !references(schema, |_| true).is_empty();
    walk(schema, &mut Vec::new(), &mut |keyword, _, _| is_it |= is_unevaluated(keyword));
    is_it
}

/// Takes out all that a looser schema behind a reference could make stricter.
fn loosen_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|keyword, value| {
                let is_risky = TURNED_ROUND.contains(&keyword.as_str()) && becomes_looser(value);
                !is_risky && !is_unevaluated(keyword)
            });
            fields
                .iter_mut()
                .filter(|(name, _)| !DATA.contains(&name.as_str()))
                .for_each(|(_, value)| loosen_references(value));
        }
        Value::Array(items) => items.iter_mut().for_each(loosen_references),
        _ => {}
    }
}
