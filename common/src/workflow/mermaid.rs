//! Workflows as Mermaid flowcharts, in and out.
//!
//! ```text
//! flowchart TD
//!     extract["etl.extract@2:io(path='a (1).csv', limit=10)"] --> load["etl.load"]
//!     extract --> check["etl.check"]
//!     load & check --> report["mail.send"]
//!     load -.-> alarm["mail.send(to='ops')"]
//! ```
//!
//! A node's label is a task's name, and optionally `@version`, `:queue` and parameters: `key=value` pairs, or one JSON value; then
//! ` on NAME`, ` on NAME=TIMEOUT` or ` on NAME=TIMEOUT,run` for each signal from outside that it waits for. A value is JSON, text in single quotes, `~` with base64 of JSON, or bare text without quotes, commas and parentheses.
//! `-->` is `abort_successors`, `-.->` is `run_on_error`, `==>` is `run_with_failures`. Comments, classes, styles, subgraphs and
//! a status in braces at the end of a label are passed over, so what [`write()`] wrote can be read again.

use std::{collections::HashMap, fmt::Write as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, value::RawValue};

use super::{DependencyPolicy, NewNode, NodeName, TaskTemplate, Workflow};
use crate::{
    lifecycle::Status,
    name::{QueueName, TaskName},
    policy::PolicyOverrides,
    signal::AwaitedSignal,
    task::Priority,
};

/// What precedes each signal in a label.
const SIGNAL: &str = " on ";

/// A place in a text, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// What can't be read of a flowchart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {rule}")]
pub struct MermaidError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub rule: String,
}

/// The nodes of a flowchart in the order in which they appear, and where.
#[derive(Debug)]
pub struct Flowchart {
    /// The nodes.
    pub nodes: Vec<NewNode>,
    /// Where each appears first.
    pub places: Vec<Place>,
}

/// Reads a flowchart.
///
/// # Errors
/// [`MermaidError`] for the first thing that can't be read, and for a node without a task.
pub fn read(text: &str) -> Result<Flowchart, MermaidError> {
    let mut reader = Reader::default();
    let mut is_headed = false;
    for (index, line) in text.lines().enumerate() {
        let mut cursor = Cursor { rest: line, line: index + 1, column: 1 };
        cursor.skip_blank();
        if cursor.is_at_end() || is_passed_over(cursor.rest) {
            continue;
        }
        if !is_headed {
            is_headed = true;
            if !read_head(&mut cursor)? {
                return Err(cursor.wrong("a flowchart begins with flowchart or graph, and a direction such as TD"));
            }
        }
        reader.statements(&mut cursor)?;
    }
    if !is_headed {
        let place = Place { line: 1, column: 1 };
        return Err(MermaidError { place, rule: "the flowchart is empty".to_owned() });
    }
    reader.finish()
}

/// Whether a line says nothing about the graph.
fn is_passed_over(line: &str) -> bool {
    let word = line.split([' ', '\t', ';']).next().unwrap_or_default();
    let words = ["classDef", "class", "style", "linkStyle", "click", "subgraph", "end", "direction", "---"];
    // A node may be called like one of these words: then an arrow or a label follows it.
    let rest = line[word.len()..].trim_start();
    line.starts_with("%%") || words.contains(&word) && !rest.starts_with(['-', '=', '[', '&'])
}

fn read_head(cursor: &mut Cursor<'_>) -> Result<bool, MermaidError> {
    if !cursor.take("flowchart") && !cursor.take("graph") {
        return Ok(false);
    }
    cursor.skip_blank();
    let is_directed = ["TD", "TB", "BT", "LR", "RL"].iter().any(|direction| cursor.take(direction));
    if is_directed || cursor.is_at_end() || cursor.rest.starts_with(';') {
        cursor.end_of_statement()?;
        return Ok(true);
    }
    Err(cursor.wrong("the direction is TD, TB, BT, LR or RL"))
}

/// What is left of a line, and where.
#[derive(Debug, Clone, Copy)]
struct Cursor<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Cursor<'a> {
    const fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }

    fn wrong(&self, rule: impl Into<String>) -> MermaidError {
        MermaidError { place: self.place(), rule: rule.into() }
    }

    fn is_at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with("%%")
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.column += taken.chars().count();
        self.rest = rest;
        taken
    }

    fn skip_blank(&mut self) {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.advance(blank);
    }

    fn take(&mut self, word: &str) -> bool {
        let is_there = self.rest.starts_with(word);
        if is_there {
            self.advance(word.len());
        }
        is_there
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    fn end_of_statement(&mut self) -> Result<(), MermaidError> {
        self.skip_blank();
        if self.is_at_end() || self.take(";") {
            return Ok(());
        }
        Err(self.wrong("an arrow (-->, -.->, ==>), & or the end of the line was expected"))
    }
}

/// What was read of a node so far.
#[derive(Debug)]
struct Found {
    name: NodeName,
    place: Place,
    task: Option<TaskTemplate>,
    depends_on: Vec<(NodeName, DependencyPolicy)>,
}

#[derive(Debug, Default)]
struct Reader {
    found: Vec<Found>,
    places: HashMap<NodeName, usize>,
}

impl Reader {
    fn statements(&mut self, cursor: &mut Cursor<'_>) -> Result<(), MermaidError> {
        loop {
            cursor.skip_blank();
            if cursor.is_at_end() {
                return Ok(());
            }
            let mut before = self.group(cursor)?;
            loop {
                cursor.skip_blank();
                let Some(policy) = arrow(cursor)? else { break };
                let after = self.group(cursor)?;
                for successor in &after {
                    for predecessor in &before {
                        let name = self.found[*predecessor].name.clone();
                        self.found[*successor].depends_on.push((name, policy));
                    }
                }
                before = after;
            }
            cursor.end_of_statement()?;
        }
    }

    /// Nodes with `&` between them.
    fn group(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<usize>, MermaidError> {
        let mut group = vec![self.node(cursor)?];
        loop {
            cursor.skip_blank();
            if !cursor.take("&") {
                return Ok(group);
            }
            group.push(self.node(cursor)?);
        }
    }

    fn node(&mut self, cursor: &mut Cursor<'_>) -> Result<usize, MermaidError> {
        cursor.skip_blank();
        let place = cursor.place();
        let name = node_name(cursor)?;
        let index = *self.places.entry(name.clone()).or_insert_with(|| {
            self.found.push(Found { name, place, task: None, depends_on: Vec::new() });
            self.found.len() - 1
        });
        if cursor.rest.starts_with(['[', '(', '{']) {
            let label = cursor.place();
            let task = label_of(cursor)?;
            if self.found[index].task.as_ref().is_some_and(|before| *before != task) {
                let rule = format!("node {} has another label before", self.found[index].name);
                return Err(MermaidError { place: label, rule });
            }
            self.found[index].task = Some(task);
        }
        if cursor.take(":::") {
            cursor.take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
        }
        Ok(index)
    }

    fn finish(self) -> Result<Flowchart, MermaidError> {
        let (mut nodes, mut places) = (Vec::new(), Vec::new());
        for Found { name, place, task, depends_on } in self.found {
            let Some(task) = task else {
                let rule = format!("node {name} has no task: write {name}[\"task_name\"] once");
                return Err(MermaidError { place, rule });
            };
            nodes.push(NewNode { name, task, depends_on });
            places.push(place);
        }
        Ok(Flowchart { nodes, places })
    }
}

/// A node's name. A dash belongs to it only inside, so that arrows need no space before them.
fn node_name(cursor: &mut Cursor<'_>) -> Result<NodeName, MermaidError> {
    let place = *cursor;
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let whole = cursor.rest.find(|letter| !is_part(letter)).unwrap_or(cursor.rest.len());
    let mut text = &cursor.rest[..whole];
    for arrow in ["--", "-."] {
        text = text.split(arrow).next().unwrap_or(text);
    }
    cursor.advance(text.len());
    NodeName::new(text).map_err(|_| place.wrong("a node was expected: its name is letters, digits, _ . and -"))
}

/// What an arrow means; `None` if there is none.
fn arrow(cursor: &mut Cursor<'_>) -> Result<Option<DependencyPolicy>, MermaidError> {
    let arrows = [
        ("-->", DependencyPolicy::AbortSuccessors),
        ("-.->", DependencyPolicy::RunOnError),
        ("==>", DependencyPolicy::RunWithFailures),
    ];
    let Some((_, policy)) = arrows.into_iter().find(|(arrow, _)| cursor.take(arrow)) else {
        if cursor.rest.starts_with(['-', '=', '<', '~']) {
            return Err(cursor.wrong("the arrows are -->, -.-> and ==>"));
        }
        return Ok(None);
    };
    cursor.skip_blank();
    if cursor.rest.starts_with('|') {
        let Some(end) = cursor.rest[1..].find('|') else { return Err(cursor.wrong("the text of an arrow ends in |")) };
        cursor.advance(end + 2);
    }
    Ok(Some(policy))
}

/// The task of a label in brackets.
fn label_of(cursor: &mut Cursor<'_>) -> Result<TaskTemplate, MermaidError> {
    let close = match cursor.rest.as_bytes().first() {
        Some(b'[') => ']',
        Some(b'(') => ')',
        _ => '}',
    };
    let opening = *cursor;
    cursor.advance(1);
    if cursor.take("\"") {
        let inside = *cursor;
        let Some(end) = cursor.rest.find('"') else { return Err(opening.wrong("the label does not end in a quote")) };
        let text = cursor.advance(end);
        cursor.advance(1);
        if !cursor.take(close.encode_utf8(&mut [0; 4])) {
            return Err(cursor.wrong(format!("the label ends in \"{close}")));
        }
        return task_of(&decode_entities(text), inside);
    }
    let inside = *cursor;
    let Some(end) = cursor.rest.find(close) else {
        return Err(opening.wrong(format!("the label does not end in {close}")));
    };
    let text = cursor.advance(end);
    cursor.advance(1);
    task_of(text.trim(), inside)
}

/// Entities as Mermaid writes them: `#quot;`, `#35;`.
fn decode_entities(text: &str) -> String {
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

/// The task that the text of a label describes. Places are those of the label: within it characters may be written as entities.
fn task_of(text: &str, at: Cursor<'_>) -> Result<TaskTemplate, MermaidError> {
    let wrong = |rule: String| at.wrong(rule);
    let head = text.find(['(', '{']).unwrap_or(text.len());
    // Without parameters, the signals follow the name, the version or the queue.
    let (text, after_head) = text[..head].find(SIGNAL).map_or((text, ""), |at| text.split_at(at));
    let end = text.find(['@', ':', '(', '{']).unwrap_or(text.len());
    let name = text[..end].trim();
    let name = TaskName::new(name).map_err(|error| wrong(error.to_string()))?;
    let mut rest = &text[end..];
    let mut version = 1;
    if let Some(after) = rest.strip_prefix('@') {
        let end = after.find([':', '(', '{']).unwrap_or(after.len());
        version = after[..end].trim().parse().map_err(|_| wrong(format!("{:?} is not a version", &after[..end])))?;
        rest = &after[end..];
    }
    let mut queue = None;
    if let Some(after) = rest.strip_prefix(':') {
        let end = after.find(['(', '{']).unwrap_or(after.len());
        queue = Some(QueueName::new(after[..end].trim()).map_err(|error| wrong(error.to_string()))?);
        rest = &after[end..];
    }
    let mut parameters = "{}".to_owned();
    if let Some(after) = rest.strip_prefix('(') {
        let (given, left) = parameters_of(after).map_err(wrong)?;
        parameters = given;
        rest = left;
    }
    let rest = if after_head.is_empty() { rest } else { after_head };
    let (signals, status) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
    if !status.is_empty() && !status.ends_with('}') {
        return Err(wrong(format!("{status:?} was not expected after the task")));
    }
    let signals = signals_of(signals).map_err(wrong)?;
    let parameters = RawValue::from_string(parameters).map_err(|error| at.wrong(error.to_string()))?.into();
    let (priority, overrides) = (Priority::DEFAULT, PolicyOverrides::default());
    Ok(TaskTemplate { name, version, queue, priority, parameters, concurrency_key: None, signals, overrides })
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

/// Writes a workflow as a flowchart; `statuses` are those of its nodes, in their order, or none. Retries, timeouts and the like
/// are not in it.
#[must_use]
pub fn write(workflow: &Workflow, statuses: &[Status]) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (place, node) in workflow.nodes().iter().enumerate() {
        let label = encode_entities(&label(&node.task));
        let status = statuses.get(place);
        let shown = status.map_or_else(String::new, |status| format!("{{{status}}}"));
        let class = status.map_or_else(String::new, |status| format!(":::{status}"));
        writeln!(text, "    {}[\"{label}{shown}\"]{class}", shown_name(workflow, place)).ok();
    }
    for (place, node) in workflow.nodes().iter().enumerate() {
        for edge in &node.depends_on {
            let arrow = match edge.policy {
                DependencyPolicy::AbortSuccessors => "-->",
                DependencyPolicy::RunOnError => "-.->",
                DependencyPolicy::RunWithFailures => "==>",
            };
            let (on, name) = (shown_name(workflow, edge.on as usize), shown_name(workflow, place));
            writeln!(text, "    {on} {arrow} {name}").ok();
        }
    }
    for status in Status::ALL.into_iter().filter(|status| statuses.contains(status)) {
        writeln!(text, "    classDef {status} {}", style(status)).ok();
    }
    text
}

/// A node's name where a flowchart can say it, else one made of its place.
fn shown_name(workflow: &Workflow, place: usize) -> String {
    let name = workflow.nodes()[place].name.as_str();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    let has_arrow = name.contains("--") || name.contains("-.") || name.ends_with('-');
    if name.chars().all(is_part) && !has_arrow && !is_passed_over(name) {
        return name.to_owned();
    }
    format!("node-{place}")
}

fn label(task: &TaskTemplate) -> String {
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

fn encode_entities(text: &str) -> String {
    text.replace('#', "#35;").replace('"', "#quot;").replace('\n', " ")
}

const fn style(status: Status) -> &'static str {
    match status {
        Status::Completed => "fill:#d7f5dd,stroke:#2e7d32",
        Status::Started => "fill:#dbeafe,stroke:#1d4ed8",
        Status::Failed | Status::Stalled | Status::Dropped => "fill:#fde2e1,stroke:#b71c1c",
        Status::Aborted | Status::Cancelled => "fill:#eeeeee,stroke:#757575",
        Status::Waiting | Status::Scheduled | Status::Submitted => "fill:#fff8e1,stroke:#b28704",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_one(label: &str) -> Result<TaskTemplate, MermaidError> {
        let flowchart = read(&format!("flowchart TD\n a[\"{label}\"]"))?;
        Ok(flowchart.nodes.into_iter().next().unwrap().task)
    }

    #[test]
    fn the_documented_flowchart_is_read() {
        let text = "%% nightly\nflowchart LR;\n  extract[\"etl.extract@2:io(path='a (1).csv', limit=10)\"] --> load[etl.load]\n\
                    \n extract-->check[\"etl.check\"]:::done\n  load & check -->|both| report(\"mail.send\"); load -.-> alarm{\"mail.send\"}\n\
                    classDef done fill:#fff\n  check ==> alarm %% at the end\n  subgraph x\n  end\n";
        let Flowchart { nodes, places } = read(text).unwrap();
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["extract", "load", "check", "report", "alarm"]);
        assert_eq!(places[0], Place { line: 3, column: 3 });
        let extract = &nodes[0].task;
        assert_eq!((extract.name.as_str(), extract.version), ("etl.extract", 2));
        assert_eq!(extract.queue.as_ref().map(QueueName::as_str), Some("io"));
        assert_eq!(extract.parameters.as_str(), r#"{"limit":10,"path":"a (1).csv"}"#);
        let on = |place: usize| -> Vec<(&str, DependencyPolicy)> {
            nodes[place].depends_on.iter().map(|(on, policy)| (on.as_str(), *policy)).collect()
        };
        assert_eq!(on(3), [("load", DependencyPolicy::AbortSuccessors), ("check", DependencyPolicy::AbortSuccessors)]);
        assert_eq!(on(4), [("load", DependencyPolicy::RunOnError), ("check", DependencyPolicy::RunWithFailures)]);
    }

    #[test]
    fn values_keep_their_types_and_their_letters() {
        for (given, value) in [
            ("n=1", r#"{"n":1}"#),
            ("n=-1.5e3", r#"{"n":-1500.0}"#),
            ("n=null, b=true", r#"{"b":true,"n":null}"#),
            ("n=00123", r#"{"n":"00123"}"#),
            ("n='true'", r#"{"n":"true"}"#),
            ("n=a b", r#"{"n":"a b"}"#),
            (r"n='it\'s (1), \\ done'", r#"{"n":"it's (1), \\ done"}"#),
            ("n=#quot;a, (b)#quot;", r#"{"n":"a, (b)"}"#),
            ("n=[1, {#quot;k#quot;: #quot;)#quot;}]", r#"{"n":[1,{"k":")"}]}"#),
            ("n=~eyJhIjpbMV19", r#"{"n":{"a":[1]}}"#),
            ("n=100#35;", r##"{"n":"100#"}"##),
            ("{#quot;whole#quot;: 1.0}", r#"{"whole": 1.0}"#),
            ("", "{}"),
        ] {
            let task = read_one(&format!("t({given})")).unwrap_or_else(|error| panic!("{given}: {error}"));
            assert_eq!(task.parameters.as_str(), value, "{given}");
        }
        assert_eq!(read_one("t(n=1){completed}").unwrap(), read_one("t(n=1)").unwrap(), "a status is passed over");
    }

    #[test]
    fn a_node_may_wait_for_signals() {
        let signals =
            |label: &str| -> Vec<String> { read_one(label).unwrap().signals.iter().map(ToString::to_string).collect() };
        assert_eq!(signals("t@2:q on approved"), ["approved"]);
        assert_eq!(signals("t(to=prod) on approved=1d on tested=2h,run{waiting}"), ["approved=1d", "tested=2h,run"]);
        assert_eq!(signals("t(about='turn on it')"), [""; 0]);
        assert_eq!(read_one("t@2:q on a").unwrap().queue.unwrap().as_str(), "q");
    }

    #[test]
    fn what_can_t_be_read_is_named_with_its_place() {
        for (text, line, column, says) in [
            ("", 1, 1, "empty"),
            ("sequenceDiagram", 1, 1, "begins with flowchart"),
            ("flowchart XX", 1, 11, "TD"),
            ("flowchart TD\n  a --> b", 2, 3, "node a has no task"),
            ("flowchart TD\n  a[\"t\"] -> b", 2, 10, "the arrows are"),
            ("flowchart TD\n  a[\"t\"] --> ", 2, 14, "a node was expected"),
            ("flowchart TD\n  a[\"t\"", 2, 8, "ends in \"]"),
            ("flowchart TD\n  a[\"t", 2, 4, "does not end in a quote"),
            ("flowchart TD\n  a[\"t(x)\"]", 2, 6, "key=value"),
            ("flowchart TD\n  a[\"t(x=1, x=2)\"]", 2, 6, "twice"),
            ("flowchart TD\n  a[\"t(x='a)\"]", 2, 6, "does not end in a quote"),
            ("flowchart TD\n  a[\"t(x=a'b)\"]", 2, 6, "single quotes"),
            ("flowchart TD\n  a[\"t(x=~!!)\"]", 2, 6, "base64"),
            ("flowchart TD\n  a[\"t@x\"]", 2, 6, "version"),
            ("flowchart TD\n  a[\"t(x=1) more\"]", 2, 6, "not expected"),
            ("flowchart TD\n  a[\"t(x=1) on\"]", 2, 6, "the name of a signal"),
            ("flowchart TD\n  a[\"t on s=soon\"]", 2, 6, "soon"),
            ("flowchart TD\n  a[\"t\"]\n  ä[\"u\"]", 3, 3, "a node was expected"),
            ("flowchart TD\n  a[\"t\"]\n  a[\"u\"]", 3, 4, "another label before"),
            ("flowchart TD\n  a[\"t\"] b[\"u\"]", 2, 10, "an arrow"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.place, Place { line, column }, "{text}: {error}");
            assert!(error.rule.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "flowchart TD\n a[\"t@3:q({#quot;k#quot;: [1.0, #quot;#35; (x)#quot;]}) on s=1h,run\"] --> b[\"u on s\"] -.-> c[\"v\"]\n a ==> c";
        let workflow = Workflow::new(read(text).unwrap().nodes).unwrap();
        for statuses in [&[][..], &[Status::Completed, Status::Failed, Status::Started]] {
            let written = write(&workflow, statuses);
            let again =
                Workflow::new(read(&written).unwrap_or_else(|error| panic!("{error}\n{written}")).nodes).unwrap();
            assert_eq!(again, workflow, "{written}");
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic() {
        // Pieces of flowcharts and what is none, put together at random, always in the same way.
        let pieces = [
            "flowchart TD\n",
            "graph LR;",
            "a",
            "b-c",
            " ",
            "\n",
            "[\"",
            "\"]",
            "(",
            ")",
            "{",
            "}",
            "-->",
            "-.->",
            "==>",
            "--",
            "t",
            "@2",
            ":q",
            "x=1",
            "x='",
            "'",
            ",",
            "~",
            "#quot;",
            "#",
            ";",
            "|",
            "&",
            ":::",
            "%%",
            "\\",
            "ä",
            "\u{1f980}",
            "[",
            "]",
            "null",
            "1e999",
            "subgraph",
            "end",
        ];
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % below as u64).unwrap()
        };
        let mut is_read = 0;
        for _ in 0..20_000 {
            let mut text = if random(4) > 0 { "flowchart TD\n".to_owned() } else { String::new() };
            (0..random(14)).for_each(|_| text.push_str(pieces[random(pieces.len())]));
            is_read += usize::from(read(&text).is_ok());
        }
        assert!(is_read > 100, "{is_read} of them were flowcharts");
    }
}
