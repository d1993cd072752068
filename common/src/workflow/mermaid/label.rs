//! The label of a node: a task.
//!
//! It is the task's name, and optionally `@version`, `@version:queue` and parameters: `(key=value, …)`, or one JSON value in
//! the parentheses; then ` on NAME`, ` on NAME=TIMEOUT` or ` on NAME=TIMEOUT,run` for each signal from outside that it waits
//! for, ` spontaneous` for a task that no worker runs, and ` as NODE` for the node's name where a flowchart can't say it. Names contain colons, so a queue comes after a
//! version only. A value is JSON, text in single quotes, `~` with base64 of JSON, or bare text without quotes, commas and
//! parentheses. JSON stays as it is written: numbers keep their digits.

use std::{collections::HashSet, fmt::Write as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::value::RawValue;

use crate::{
    dependency::signal::AwaitedSignal,
    name::{NodeName, QueueName, TaskName},
    values::text::cut,
    workflow::TaskTemplate,
};

/// Most bytes of a label that an error repeats.
const MAX_SHOWN: usize = 80;

/// What a label says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NodeLabel {
    pub(super) task: TaskTemplate,
    /// The node's name, if it is not the one in the flowchart.
    pub(super) name: Option<NodeName>,
}

/// Reads a label, in which entities are decoded already.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn read(text: &str) -> Result<NodeLabel, String> {
    let mut rest = text;
    let name = take_until(&mut rest, &['@', '(', '{']);
    let name = TaskName::new(name).map_err(|error| error.to_string())?;
    let (mut version, mut queue) = (1, None);
    if let Some(after) = rest.strip_prefix('@') {
        rest = after;
        let text = take_until(&mut rest, &[':', '(', '{']);
        version = text.parse().map_err(|_| format!("{} is not a version", shown(text)))?;
        if let Some(after) = rest.strip_prefix(':') {
            rest = after;
            let text = take_until(&mut rest, &['(', '{']);
            queue = Some(QueueName::new(text).map_err(|error| error.to_string())?);
        }
    }
    rest = rest.trim_start();
    let mut parameters = "{}".to_owned();
    if let Some(after) = rest.strip_prefix('(') {
        (parameters, rest) = parameters_of(after)?;
    }
    let (mut signals, mut is_spontaneous, mut name_of_node) = (Vec::new(), false, None);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with('{') && rest.ends_with('}') {
            break;
        }
        let unexpected = || format!("{} was not expected after the task", shown(rest));
        let word = take_until(&mut rest, &['{']);
        rest = rest.trim_start();
        match word {
            "on" => {
                let signal = Some(take_until(&mut rest, &['{'])).filter(|signal| !signal.is_empty());
                signals.push(signal.ok_or("after on comes the name of a signal")?.parse::<AwaitedSignal>()?);
            }
            "spontaneous" if !is_spontaneous => is_spontaneous = true,
            "as" if name_of_node.is_none() => {
                let name = take_until(&mut rest, &['{']);
                name_of_node = Some(NodeName::new(name).map_err(|error| error.to_string())?);
            }
            _ => return Err(unexpected()),
        }
    }
    let parameters = RawValue::from_string(parameters).map_err(|error| error.to_string())?;
    let task = TaskTemplate { version, queue, signals, is_spontaneous, ..TaskTemplate::new(name, parameters) };
    Ok(NodeLabel { task, name: name_of_node })
}

/// Takes what comes before one of these letters, or before a blank.
fn take_until<'a>(rest: &mut &'a str, ends: &[char]) -> &'a str {
    let end = rest.find(|letter: char| letter.is_whitespace() || ends.contains(&letter)).unwrap_or(rest.len());
    let (taken, after) = rest.split_at(end);
    *rest = after;
    taken
}

/// A text in quotes, as an error shows it.
fn shown(text: &str) -> String {
    // Cut first, as the rest of a label may be long.
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at > MAX_SHOWN).unwrap_or(text.len());
    format!("{:?}", cut(text[..end].to_owned(), MAX_SHOWN))
}

/// The parameters after an opening parenthesis, as JSON, and what follows the closing one.
fn parameters_of(text: &str) -> Result<(String, &str), String> {
    let mut rest = text.trim_start();
    if rest.starts_with(['{', '[', '"', '~']) {
        let (value, after) = value_of(rest)?;
        let after = after.trim_start().strip_prefix(')').ok_or("a ) was expected after the parameters")?;
        return Ok((value, after));
    }
    let (mut object, mut keys) = ("{".to_owned(), HashSet::new());
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(')') {
            object.push('}');
            return Ok((object, after));
        }
        let (key, after) = rest.split_once('=').ok_or("a parameter is written key=value")?;
        let key = key.trim();
        if key.is_empty() || !key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')) {
            return Err(format!("{} is not the name of a parameter", shown(key)));
        }
        let (value, after) = value_of(after.trim_start())?;
        if !keys.insert(key) {
            return Err(format!("the parameter {} is given twice", shown(key)));
        }
        let comma = if keys.len() > 1 { "," } else { "" };
        write!(object, "{comma}\"{key}\":{value}").ok();
        rest = after.trim_start();
        match rest.chars().next() {
            Some(',') => rest = &rest[1..],
            Some(')') => {}
            _ => return Err(format!("after the parameter {} a comma or ) was expected", shown(key))),
        }
    }
}

/// One value as JSON, and what follows it.
fn value_of(text: &str) -> Result<(String, &str), String> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return quoted_text(quoted);
    }
    if let Some(encoded) = text.strip_prefix('~') {
        let end = encoded.find([',', ')']).unwrap_or(encoded.len());
        let not_base64 = "after ~ comes base64 of JSON";
        let bytes = BASE64_STANDARD.decode(encoded[..end].trim()).map_err(|_| not_base64)?;
        let value: Box<RawValue> = serde_json::from_slice(&bytes).map_err(|_| not_base64)?;
        return Ok((value.get().to_owned(), &encoded[end..]));
    }
    if text.starts_with(['"', '[', '{']) {
        return json(text).ok_or_else(|| "what begins like JSON is not JSON".to_owned());
    }
    let end = text.find([',', ')']).ok_or("the parameters do not end in )")?;
    let bare = text[..end].trim();
    if serde_json::from_str::<&RawValue>(bare).is_ok() {
        return Ok((bare.to_owned(), &text[end..]));
    }
    if bare.is_empty() || bare.contains(['"', '\'', '(', '=', '{', '[']) {
        return Err(format!("{} is not a value: put text into single quotes", shown(bare)));
    }
    Ok((json_text(bare), &text[end..]))
}

/// Text in single quotes, with `\'` and `\\` in it.
fn quoted_text(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => return Ok((json_text(&value), &text[at + 1..])),
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

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The JSON value that a text begins with, as it is written, and what follows it.
fn json(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    Some((value.get().to_owned(), &text[values.byte_offset()..]))
}

/// The label of a task, without its parameters if it is sensitive or `hides`. `name` is the node's, if the flowchart can't say it.
pub(super) fn write(task: &TaskTemplate, hides: bool, name: Option<&NodeName>) -> String {
    let mut label = task.name.to_string();
    match &task.queue {
        Some(queue) => write!(label, "@{}:{queue}", task.version).ok(),
        None if task.version != 1 => write!(label, "@{}", task.version).ok(),
        None => None,
    };
    let parameters = task.parameters.as_str();
    if parameters != "{}" && !hides && !task.metadata.is_sensitive() {
        // Anything but an object, an array or a text would read as something else.
        match parameters.starts_with(['{', '[', '"']) {
            true => write!(label, "({parameters})").ok(),
            false => write!(label, "(~{})", BASE64_STANDARD.encode(parameters)).ok(),
        };
    }
    if task.is_spontaneous {
        label.push_str(" spontaneous");
    }
    for signal in &task.signals {
        write!(label, " on {signal}").ok();
    }
    if let Some(name) = name {
        write!(label, " as {name}").ok();
    }
    label
}
