//! Reads flowcharts.
//!
//! What the text makes is counted while it is read, so no text makes more than a workflow may have: nodes, arrows (a list of
//! nodes before an arrow and one after it make as many as the product of both), subgraphs in one another.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{
    Flowchart, MermaidError, Place, arrows,
    cursor::Cursor,
    label::{self, NodeLabel},
    prologue, shapes, statements, words,
};
use crate::{
    limits::{MAX_WORKFLOW_EDGES, MAX_WORKFLOW_NODES},
    workflow::{DependencyPolicy, NewNode, NodeName},
};

/// Most subgraphs in one another.
const MAX_DEPTH: usize = 100;

/// Reads a flowchart. The work grows with the text.
///
/// # Errors
/// [`MermaidError`] for the first thing that can't be read, and for a node without a task.
pub fn read(text: &str) -> Result<Flowchart, MermaidError> {
    let text = match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    };
    let mut cursor = Cursor::new(text.strip_prefix('\u{feff}').unwrap_or(&text));
    prologue::skip_front_matter(&mut cursor)?;
    prologue::check_lines(&cursor)?;
    cursor.skip_lines()?;
    prologue::head(&mut cursor)?;
    let mut reader = FlowchartReader::default();
    loop {
        cursor.skip_lines()?;
        if cursor.rest().is_empty() {
            return reader.finish();
        }
        if !cursor.take(";") {
            reader.statement(&mut cursor)?;
        }
    }
}

/// What was read of a node so far.
#[derive(Debug)]
struct FoundNode<'a> {
    name: &'a str,
    place: Place,
    label: Option<NodeLabel>,
    depends_on: Vec<(usize, DependencyPolicy)>,
}

#[derive(Debug, Default)]
struct FlowchartReader<'a> {
    found: Vec<FoundNode<'a>>,
    places: HashMap<&'a str, usize>,
    arrows: usize,
    /// Arrows that have a name.
    named: HashSet<&'a str>,
    /// Names of styles: Mermaid makes a node of one that is no other.
    styled: Vec<(&'a str, Place)>,
    subgraphs: HashSet<&'a str>,
    /// Where the subgraphs began that have not ended.
    open: Vec<Place>,
}

impl<'a> FlowchartReader<'a> {
    fn statement(&mut self, cursor: &mut Cursor<'a>) -> Result<(), MermaidError> {
        match words::keyword(cursor.rest()) {
            Some("subgraph") => {
                if self.open.len() == MAX_DEPTH {
                    return Err(cursor.wrong(format!("a flowchart has at most {MAX_DEPTH} subgraphs in one another")));
                }
                self.open.push(cursor.place());
                self.subgraphs.insert(statements::subgraph(cursor)?);
            }
            // Mermaid lets a statement follow at once.
            Some("end") => {
                if self.open.pop().is_none() {
                    return Err(cursor.wrong("end is a word of Mermaid, and here it ends no subgraph"));
                }
                cursor.advance("end".len());
                return Ok(());
            }
            Some(word @ ("accTitle" | "accDescr")) => return statements::title(cursor, word),
            Some(word @ ("linkStyle" | "classDef" | "class")) => {
                statements::style(cursor, word)?;
            }
            Some("style") => {
                let styled = statements::style(cursor, "style")?;
                self.styled.push((styled.name, styled.place.place()));
            }
            Some("click") => statements::click(cursor)?,
            Some(word) => return Err(kept(cursor, word)),
            None if prologue::skip_direction(cursor) || self.skip_data_of_arrow(cursor)? => {}
            None => self.chain(cursor)?,
        }
        cursor.skip_blanks();
        if cursor.is_at_line_end() || cursor.take(";") {
            return Ok(());
        }
        Err(cursor.wrong("an arrow (-->, -.->, ==>), & between blanks or the end of the line was expected"))
    }

    /// Passes `name@{ … }` if an arrow has this name.
    fn skip_data_of_arrow(&self, cursor: &mut Cursor<'a>) -> Result<bool, MermaidError> {
        let mut ahead = *cursor;
        let Ok(len) = words::name_len(ahead.rest()) else { return Ok(false) };
        if !self.named.contains(ahead.advance(len)) || !ahead.starts_with("@{") {
            return Ok(false);
        }
        shapes::data(&mut ahead)?;
        *cursor = ahead;
        Ok(true)
    }

    /// Groups of nodes with arrows between them.
    fn chain(&mut self, cursor: &mut Cursor<'a>) -> Result<(), MermaidError> {
        let mut before = self.group(cursor)?;
        loop {
            let start = *cursor;
            let Some(arrow) = arrows::read(cursor)? else { return Ok(()) };
            if let Some(name) = arrow.name
                && (self.places.contains_key(name) || !self.named.insert(name))
            {
                return Err(start.wrong(format!("the name of the arrow {name:?} is taken")));
            }
            let after = self.group(cursor)?;
            if let Some(policy) = arrow.line.policy() {
                self.connect(&start, &before, &after, policy)?;
            }
            before = after;
        }
    }

    /// Adds an edge from each node to each.
    fn connect(
        &mut self,
        arrow: &Cursor<'_>,
        before: &[usize],
        after: &[usize],
        policy: DependencyPolicy,
    ) -> Result<(), MermaidError> {
        self.arrows = self.arrows.saturating_add(before.len().saturating_mul(after.len()));
        if self.arrows > MAX_WORKFLOW_EDGES {
            return Err(
                arrow.wrong(format!("a workflow has at most {MAX_WORKFLOW_EDGES} edges, not {} or more", self.arrows))
            );
        }
        for successor in after {
            self.found[*successor].depends_on.extend(before.iter().map(|predecessor| (*predecessor, policy)));
        }
        Ok(())
    }

    /// Nodes with `&` between them.
    fn group(&mut self, cursor: &mut Cursor<'a>) -> Result<Vec<usize>, MermaidError> {
        let mut group = vec![self.node(cursor)?];
        loop {
            let mut ahead = *cursor;
            let is_before = ahead.skip_blanks();
            if !ahead.starts_with("&") {
                return Ok(group);
            }
            let between = ahead;
            ahead.advance(1);
            if !is_before || !ahead.skip_blanks() {
                return Err(between.wrong("& between two nodes has a blank on each side, on the same line"));
            }
            *cursor = ahead;
            group.push(self.node(cursor)?);
        }
    }

    fn node(&mut self, cursor: &mut Cursor<'a>) -> Result<usize, MermaidError> {
        let place = *cursor;
        let len = words::name_len(cursor.rest()).map_err(|word| kept(&place, word))?;
        let name = cursor.advance(len);
        if NodeName::new(name).is_err() {
            return Err(place.wrong("a node was expected: its name is letters a to z, digits, _ . : and -"));
        }
        if self.named.contains(name) {
            return Err(place.wrong(format!("{name} is the name of an arrow, and can't be the name of a node")));
        }
        let index = self.find_or_add(name, &place)?;
        if let Some(text) = shapes::label(cursor)? {
            self.describe(index, &text)?;
        }
        if cursor.take(":::") {
            let class = *cursor;
            let len = words::name_len(cursor.rest()).map_err(|word| kept(&class, word))?;
            if cursor.advance(len).is_empty() {
                return Err(class.wrong("after ::: comes the name of a class, and a blank before an arrow"));
            }
        }
        if cursor.starts_with("@{")
            && let Some(text) = shapes::data(cursor)?
        {
            self.describe(index, &text)?;
        }
        Ok(index)
    }

    fn find_or_add(&mut self, name: &'a str, place: &Cursor<'_>) -> Result<usize, MermaidError> {
        if let Some(index) = self.places.get(name) {
            return Ok(*index);
        }
        if self.found.len() == MAX_WORKFLOW_NODES {
            return Err(place.wrong(format!("a workflow has at most {MAX_WORKFLOW_NODES} nodes")));
        }
        self.found.push(FoundNode { name, place: place.place(), label: None, depends_on: Vec::new() });
        self.places.insert(name, self.found.len() - 1);
        Ok(self.found.len() - 1)
    }

    /// Gives a node the task that its label describes.
    fn describe(&mut self, index: usize, text: &shapes::LabelText<'_>) -> Result<(), MermaidError> {
        let place = &text.place;
        let label = label::read(&text.text).map_err(|rule| place.wrong(rule))?;
        let node = &mut self.found[index];
        if node.label.as_ref().is_some_and(|before| *before != label) {
            return Err(place.wrong(format!("node {} has another label before", node.name)));
        }
        node.label = Some(label);
        Ok(())
    }

    fn finish(self) -> Result<Flowchart, MermaidError> {
        if let Some(place) = self.open.last() {
            return Err(MermaidError { place: *place, rule: "the subgraph does not end in end".to_owned() });
        }
        let is_unknown = |name: &str| !self.places.contains_key(name) && !self.subgraphs.contains(name);
        if let Some((name, place)) = self.styled.iter().find(|(name, _)| is_unknown(name)) {
            let rule = format!("style is for a node or a subgraph, and {name:?} is none");
            return Err(MermaidError { place: *place, rule });
        }
        for node in &self.found {
            self.check(node).map_err(|rule| MermaidError { place: node.place, rule })?;
        }
        let names =
            self.found.iter().map(|node| name_of(node).map_err(|rule| MermaidError { place: node.place, rule }));
        let names: Vec<NodeName> = names.collect::<Result<_, _>>()?;
        let (mut nodes, mut places) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
        for (node, name) in self.found.into_iter().zip(&names) {
            let Some(label) = node.label else { continue };
            let depends_on = node.depends_on.iter().map(|(on, policy)| (names[*on].clone(), *policy)).collect();
            nodes.push(NewNode { name: name.clone(), task: label.task, depends_on });
            places.push(node.place);
        }
        Ok(Flowchart { nodes, places })
    }

    fn check(&self, node: &FoundNode<'_>) -> Result<(), String> {
        let name = node.name;
        match (&node.label, self.subgraphs.contains(name)) {
            (Some(_), false) => Ok(()),
            (Some(_), true) => Err(format!("{name} is the name of a node and of a subgraph")),
            (None, true) => Err(format!("{name} is a subgraph, which is no task: draw the arrow to or from its nodes")),
            (None, false) => Err(format!("node {name} has no task: write {name}[\"task_name\"] once")),
        }
    }
}

/// What a node is called in the workflow: as its label says, or as in the flowchart.
fn name_of(node: &FoundNode<'_>) -> Result<NodeName, String> {
    let called = node.label.as_ref().and_then(|label| label.name.clone());
    called.map_or_else(|| NodeName::new(node.name).map_err(|error| error.to_string()), Ok)
}

fn kept(place: &Cursor<'_>, word: &str) -> MermaidError {
    place.wrong(format!("{word} is a word of Mermaid, which no node can be called: write n1[\"task_name as {word}\"]"))
}
