//! How large a schema may be, and how much work compiling the schemas of one worker may be.
//!
//! Every manager compiles the schemas that workers register. The compiler's time grows with the square of a schema's parts, it
//! stores the whole place of each part, and a pattern of twenty bytes may take megabytes. So all three are counted first.

use std::collections::HashMap;

use regex::{Error, RegexBuilder};
use serde_json::Value;

/// Most parts of a schema: objects and arrays.
const MAX_PARTS: usize = 5_000;
/// Most patterns of a schema.
const MAX_PATTERNS: usize = 500;
/// Most bytes of the places of all parts.
const MAX_PLACE_BYTES: usize = 16 * 1024 * 1024;
/// Most bytes that a pattern may take when it is compiled.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
/// A pattern of up to so many bytes looks at a byte of text in a few nanoseconds.
const LIGHT_PATTERN_BYTES: usize = 32 * 1024;
/// What compiling a pattern counts, in comparisons of two places.
const PATTERN_WORK: u64 = 200_000;

/// How much work is left for compiling, in comparisons of two places.
#[derive(Debug)]
pub(crate) struct Allowance(u64);

impl Allowance {
    /// What the schemas of one worker may take.
    pub(crate) const fn of_a_catalogue() -> Self {
        Self(1_000_000_000)
    }

    /// Whether the work of compiling a schema of this size once more is left; it is then taken.
    pub(super) fn take(&mut self, size: &SchemaSize) -> bool {
        let work = (size.parts as u64).pow(2) + size.patterns.len() as u64 * PATTERN_WORK;
        let left = self.0.checked_sub(work);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// How large a schema is.
#[derive(Debug, Default)]
pub(super) struct SchemaSize {
    parts: usize,
    place_bytes: usize,
    /// How many steps each pattern takes for 64 bytes of text; `None` if it is too large to be used.
    patterns: HashMap<String, Option<u64>>,
}

impl SchemaSize {
    /// That of a schema.
    ///
    /// # Errors
    /// Why it is too large to be compiled.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut size = Self::default();
        size.add(schema, 0)?;
        Ok(size)
    }

    /// How many steps a match of a pattern takes for 64 bytes of text.
    pub(super) fn pattern_steps(&self, pattern: &str) -> u64 {
        self.patterns.get(pattern).copied().flatten().unwrap_or(1)
    }

    /// Whether a pattern is too large to be used.
    pub(super) fn is_too_large(&self, pattern: &str) -> bool {
        self.patterns.get(pattern).is_some_and(Option::is_none)
    }

    fn add(&mut self, value: &Value, place_bytes: usize) -> Result<(), String> {
        if !value.is_object() && !value.is_array() {
            return Ok(());
        }
        self.parts += 1;
        self.place_bytes += place_bytes;
        if self.parts > MAX_PARTS || self.place_bytes > MAX_PLACE_BYTES {
            return Err(format!("it has over {MAX_PARTS} parts, or their places over {MAX_PLACE_BYTES} bytes"));
        }
        match value {
            Value::Object(fields) => {
                for (keyword, inner) in fields {
                    match (keyword.as_str(), inner) {
                        ("pattern", Value::String(pattern)) => self.add_pattern(pattern)?,
                        ("patternProperties", Value::Object(by_pattern)) => {
                            by_pattern.keys().try_for_each(|pattern| self.add_pattern(pattern))?;
                        }
                        _ => {}
                    }
                    self.add(inner, place_bytes + keyword.len() + 1)?;
                }
                Ok(())
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, place_bytes + 2)),
            _ => Ok(()),
        }
    }

    fn add_pattern(&mut self, pattern: &str) -> Result<(), String> {
        if self.patterns.len() == MAX_PATTERNS && !self.patterns.contains_key(pattern) {
            return Err(format!("it has over {MAX_PATTERNS} patterns"));
        }
        self.patterns.entry(pattern.to_owned()).or_insert_with(|| steps_of(pattern));
        Ok(())
    }
}

/// How many steps a match takes for 64 bytes of text; `None` if the pattern is too large. What is wrong with one that is no
/// pattern the compiler says.
fn steps_of(pattern: &str) -> Option<u64> {
    let pattern = as_compiled(pattern);
    let compile = |bytes| RegexBuilder::new(&pattern).size_limit(bytes).build();
    match compile(LIGHT_PATTERN_BYTES) {
        Err(Error::CompiledTooBig(_)) => match compile(MAX_PATTERN_BYTES) {
            Err(Error::CompiledTooBig(_)) => None,
            _ => Some(64),
        },
        _ => Some(1),
    }
}

/// A pattern about as the compiler writes it: its classes are those of ECMAScript.
fn as_compiled(pattern: &str) -> String {
    let (mut written, mut rest) = (String::with_capacity(pattern.len()), pattern.chars());
    while let Some(next) = rest.next() {
        if next != '\\' {
            written.push(next);
            continue;
        }
        match rest.next() {
            Some('d') => written.push_str("[0-9]"),
            Some('D') => written.push_str("[^0-9]"),
            Some('w') => written.push_str("[0-9A-Za-z_]"),
            Some('W') => written.push_str("[^0-9A-Za-z_]"),
            Some('s') => written.push_str("[\\t-\\r ]"),
            Some('S') => written.push_str("[^\\t-\\r ]"),
            Some('c') => written.extend(rest.next().map(|_| 'c')),
            escaped => written.extend(['\\'].into_iter().chain(escaped)),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_refused_before_it_takes_memory_or_time() {
        let parts: Value =
            (0..MAX_PARTS).map(|n| (format!("p{n}"), json!({}))).collect::<serde_json::Map<_, _>>().into();
        assert!(SchemaSize::of(&json!({ "properties": parts })).unwrap_err().contains("parts"));
        let inner: Value = (0..1_000).map(|n| (format!("p{n}"), json!({}))).collect::<serde_json::Map<_, _>>().into();
        let long = json!({"properties": {"x".repeat(MAX_PLACE_BYTES / 1_000): {"properties": inner}}});
        assert!(SchemaSize::of(&long).unwrap_err().contains("places"));
        let many: Vec<Value> = (0..=MAX_PATTERNS).map(|n| json!({"pattern": format!("a{n}")})).collect();
        assert!(SchemaSize::of(&json!({ "allOf": many })).unwrap_err().contains("patterns"));
    }

    #[test]
    fn a_pattern_is_as_large_as_what_it_repeats() {
        for everyday in [r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", r"^\w{1,64}@[\w.-]{1,63}$", r"^\cA\/$", "^ä+$"]
        {
            assert_eq!(steps_of(everyday), Some(1), "{everyday}");
        }
        assert_eq!(steps_of("^.{1,500}$"), Some(64));
        for bomb in ["(.{1000}){1000}", r"\cA(.{1000}){1000}"] {
            assert_eq!(steps_of(bomb), None, "{bomb}");
        }
    }

    #[test]
    fn the_schemas_of_a_worker_take_a_bounded_time_together() {
        let pattern = SchemaSize::of(&json!({"pattern": "a"})).unwrap();
        let mut allowance = Allowance::of_a_catalogue();
        let taken = (0..10_000).take_while(|_| allowance.take(&pattern)).count();
        assert!((1_000..10_000).contains(&taken), "{taken}");
    }
}
