//! Workflows as Mermaid flowcharts, in and out.
//!
//! ```text
//! flowchart TD
//!     extract["etl.extract@2:io(path='a (1).csv', limit=10)"] --> load["etl.load"]
//!     extract -- at once --> check["etl.check"]
//!     load & check --> report(["mail.send"])
//!     load -.-> alarm["mail.send(to='ops')"]
//! ```
//!
//! The line of an arrow is a policy: `-->` is `abort_successors`, `-.->` is `run_on_error`, `==>` is `run_with_failures`. A
//! node's label describes its task (see `label`); its shape, comments, classes, styles, links, subgraphs and a status in braces
//! at the end of a label say nothing about the workflow. What [`write()`] wrote is read again as the same graph.
//!
//! A flowchart is read as Mermaid reads it, or refused with what to write instead: never otherwise. Mermaid has no grammar
//! that could be followed from above (its lexer has states, and removes comments and directives with regular expressions
//! before it), so the files here say at each place which of its habits they follow. `compared` holds them to Mermaid's own
//! parser. Start reading at [`read()`], then `arrows` and `shapes`.

mod arrows;
#[cfg(test)]
mod compared;
mod cursor;
mod entities;
mod label;
mod line;
mod prologue;
mod read;
mod shapes;
mod statements;
#[cfg(test)]
mod tests;
mod words;
mod write;

pub use self::{
    read::read,
    write::{write, write_hiding},
};
use super::NewNode;

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
