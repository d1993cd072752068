//! Reads flowcharts.

use std::collections::HashMap;

use super::{
    Flowchart, MermaidError, Place, is_passed_over,
    label::{decode_entities, task_of},
};
use crate::workflow::{DependencyPolicy, NewNode, NodeName, TaskTemplate};

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
            let task = task_in_brackets(cursor)?;
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
fn task_in_brackets(cursor: &mut Cursor<'_>) -> Result<TaskTemplate, MermaidError> {
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
        return task_of(&decode_entities(text)).map_err(|rule| inside.wrong(rule));
    }
    let inside = *cursor;
    let Some(end) = cursor.rest.find(close) else {
        return Err(opening.wrong(format!("the label does not end in {close}")));
    };
    let text = cursor.advance(end);
    cursor.advance(1);
    task_of(text.trim()).map_err(|rule| inside.wrong(rule))
}
