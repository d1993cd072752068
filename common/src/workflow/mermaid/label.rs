//! The label of a node: a task.
//!
//! It is the task's name, and optionally `@version`, `:queue` and parameters: `(key=value, …)`, or one JSON value in the
//! parentheses; then ` on NAME`, ` on NAME=TIMEOUT` or ` on NAME=TIMEOUT,run` for each signal from outside that it waits
//! for. A value is JSON, text in single quotes, `~` with base64 of JSON, or bare text without quotes, commas and
//! parentheses. Within a label, characters may be written as entities.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    name::{QueueName, TaskName},
    signal::AwaitedSignal,
    workflow::TaskTemplate,
};

/// What precedes each signal.
const SIGNAL: &str = " on ";

/// Entities as Mermaid writes them: `#quot;`, `#35;`.
pub(super) fn decode_entities(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest.find(';').map(|end| (&rest[1..end], end + 1));
        let letter = entity.and_then(|(name, end)| {
            let letter = match name {
                "quot" => '"',
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                digits => char::from_u32(digits.parse().ok()?)?,
            };
            Some((letter, end))
        });
        let (letter, end) = letter.unwrap_or(('#', 1));
        decoded.push(letter);
        rest = &rest[end..];
    }
    decoded.push_str(rest);
    decoded
}

/// Writes as entities what would end a label.
pub(super) fn encode_entities(text: &str) -> String {
    text.replace('#', "#35;").replace('"', "#quot;").replace('\n', " ")
}
/// The task that the text of a label describes.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn task_of(text: &str) -> Result<TaskTemplate, String> {
    let head = text.find(['(', '{']).unwrap_or(text.len());
    // Without parameters, the signals follow the name, the version or the queue.
    let (text, after_head) = text[..head].find(SIGNAL).map_or((text, ""), |at| text.split_at(at));
    let end = text.find(['@', ':', '(', '{']).unwrap_or(text.len());
    let name = text[..end].trim();
    let name = TaskName::new(name).map_err(|error| error.to_string())?;
    let mut rest = &text[end..];
    let mut version = 1;
    if let Some(after) = rest.strip_prefix('@') {
        let end = after.find([':', '(', '{']).unwrap_or(after.len());
        version = after[..end].trim().parse().map_err(|_| format!("{:?} is not a version", &after[..end]))?;
        rest = &after[end..];
    }
    let mut queue = None;
    if let Some(after) = rest.strip_prefix(':') {
        let end = after.find(['(', '{']).unwrap_or(after.len());
        queue = Some(QueueName::new(after[..end].trim()).map_err(|error| error.to_string())?);
        rest = &after[end..];
    }
    let mut parameters = "{}".to_owned();
    if let Some(after) = rest.strip_prefix('(') {
        let (given, left) = parameters_of(after)?;
        parameters = given;
        rest = left;
    }
    let rest = if after_head.is_empty() { rest } else { after_head };
    let (signals, status) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
    if !status.is_empty() && !status.ends_with('}') {
        return Err(format!("{status:?} was not expected after the task"));
    }
    let signals = signals_of(signals)?;
    let parameters = RawValue::from_string(parameters).map_err(|error| error.to_string())?;
    Ok(TaskTemplate { version, queue, signals, ..TaskTemplate::new(name, parameters) })
}

/// The signals in ` on NAME on NAME=TIMEOUT`.
fn signals_of(text: &str) -> Result<Vec<AwaitedSignal>, String> {
    let (mut signals, mut words) = (Vec::new(), text.split_whitespace());
    while let Some(word) = words.next() {
        if word != SIGNAL.trim() {
            return Err(format!("{:?} was not expected after the task", text.trim()));
        }
        signals.push(words.next().ok_or("after on comes the name of a signal")?.parse()?);
    }
    Ok(signals)
}

/// The parameters after an opening parenthesis, as JSON, and what follows the closing one.
fn parameters_of(text: &str) -> Result<(String, &str), String> {
    let mut rest = text.trim_start();
    if rest.starts_with(['{', '[', '"']) {
        let (value, after) = json(rest).ok_or("the parameters are not JSON")?;
        let after = after.trim_start().strip_prefix(')').ok_or("a ) was expected after the parameters")?;
        return Ok((value, after));
    }
    if rest.starts_with('~') {
        let (value, after) = value_of(rest)?;
        let after = after.strip_prefix(')').ok_or("a ) was expected after the parameters")?;
        return Ok((value.to_string(), after));
    }
    let mut pairs = Map::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(')') {
            return Ok((Value::Object(pairs).to_string(), after));
        }
        let (key, after) = rest.split_once('=').ok_or("a parameter is written key=value")?;
        let key = key.trim();
        if key.is_empty() || !key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')) {
            return Err(format!("{key:?} is not the name of a parameter"));
        }
        let (value, after) = value_of(after.trim_start())?;
        if pairs.insert(key.to_owned(), value).is_some() {
            return Err(format!("the parameter {key} is given twice"));
        }
        rest = after.trim_start();
        match rest.chars().next() {
            Some(',') => rest = &rest[1..],
            Some(')') => {}
            _ => return Err(format!("after the parameter {key} a comma or ) was expected")),
        }
    }
}

/// One value, and what follows it.
fn value_of(text: &str) -> Result<(Value, &str), String> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted_text(quoted);
    }
    if let Some(encoded) = text.strip_prefix('~') {
        let end = encoded.find([',', ')']).unwrap_or(encoded.len());
        let bytes = BASE64_STANDARD.decode(encoded[..end].trim()).map_err(|_| "after ~ comes base64 of JSON")?;
        let value = serde_json::from_slice(&bytes).map_err(|_| "after ~ comes base64 of JSON")?;
        return Ok((value, &encoded[end..]));
    }
    if text.starts_with(['"', '[', '{']) {
        let (value, after) = json(text).ok_or("a value that begins like JSON is JSON")?;
        let value = serde_json::from_str(&value).map_err(|error| error.to_string())?;
        return Ok((value, after));
    }
    let end = text.find([',', ')']).ok_or("the parameters do not end in )")?;
    let bare = text[..end].trim();
    if let Ok(value) = serde_json::from_str(bare) {
        return Ok((value, &text[end..]));
    }
    if bare.is_empty() || bare.contains(['"', '\'', '(', '=', '{', '[']) {
        return Err(format!("{bare:?} is not a value: put text into single quotes"));
    }
    Ok((Value::String(bare.to_owned()), &text[end..]))
}

/// Text in single quotes, with `\'` and `\\` in it.
fn quoted_text(text: &str) -> Result<(Value, &str), String> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => return Ok((Value::String(value), &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, escaped @ ('\'' | '\\'))) => value.push(escaped),
                Some((_, 'n')) => value.push('\n'),
                _ => return Err("in quotes a backslash comes before ' \\ or n".to_owned()),
            },
            other => value.push(other),
        }
    }
    Err("the text does not end in a quote".to_owned())
}

/// The JSON value that a text begins with, as it is written, and what follows it.
fn json(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
    let value = values.next()?.ok()?;
    Some((value.get().to_owned(), &text[values.byte_offset()..]))
}

/// The label of a task.
pub(super) fn label_of(task: &TaskTemplate) -> String {
    let mut label = task.name.to_string();
    if task.version != 1 {
        write!(label, "@{}", task.version).ok();
    }
    if let Some(queue) = &task.queue {
        write!(label, ":{queue}").ok();
    }
    if task.parameters.as_str() != "{}" {
        let text = task.parameters.as_str();
        // Anything but an object, an array or a text would read as something else.
        let is_clear = text.trim_start().starts_with(['{', '[', '"']);
        let text = if is_clear { text.to_owned() } else { format!("~{}", BASE64_STANDARD.encode(text)) };
        write!(label, "({text})").ok();
    }
    for signal in &task.signals {
        write!(label, "{SIGNAL}{signal}").ok();
    }
    label
}
