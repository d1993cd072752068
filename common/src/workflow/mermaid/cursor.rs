//! A place in the text of a flowchart, and the rest of the text after it.
//!
//! Line breaks are `\n`: [`super::read()`] replaces the others first.

use super::{MermaidError, Place};

/// What is left of a text, and where. Moving on costs as much as the text that is passed, so reading is linear.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a str,
    place: Place,
    /// Whether the line has only blanks before this place.
    is_at_line_start: bool,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text, place: Place { line: 1, column: 1 }, is_at_line_start: true }
    }

    pub(super) const fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) const fn place(&self) -> Place {
        self.place
    }

    pub(super) fn wrong(&self, rule: impl Into<String>) -> MermaidError {
        MermaidError { place: self.place, rule: rule.into() }
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest.starts_with(text)
    }

    pub(super) fn next(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Passes this many bytes, and returns them.
    pub(super) fn advance(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        for letter in taken.chars() {
            if letter == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
                self.is_at_line_start = true;
            } else {
                self.place.column += 1;
                self.is_at_line_start &= letter.is_whitespace();
            }
        }
        self.rest = rest;
        taken
    }

    /// Passes a text, if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.starts_with(text);
        if is_next {
            self.advance(text.len());
        }
        is_next
    }

    pub(super) fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        self.advance(end)
    }

    /// Passes the blanks of a line, and returns whether there were some.
    pub(super) fn skip_blanks(&mut self) -> bool {
        !self.take_while(is_blank).is_empty()
    }

    /// Passes blanks, line breaks, comments and directives. Mermaid removes the last two before it reads the rest, so they
    /// may come between an arrow and its nodes.
    ///
    /// # Errors
    /// For a directive without an end, and for a `%%` without a text: Mermaid reads that as a node.
    pub(super) fn skip_lines(&mut self) -> Result<(), MermaidError> {
        loop {
            self.take_while(char::is_whitespace);
            if !self.is_at_line_start || !self.starts_with("%%") {
                return Ok(());
            }
            if self.starts_with("%%{") {
                self.skip_directive()?;
                continue;
            }
            let comment = *self;
            if self.take_while(|letter| letter != '\n').len() == "%%".len() {
                return Err(comment.wrong("a comment has a text after %%: Mermaid reads %% alone as a node"));
            }
        }
    }

    fn skip_directive(&mut self) -> Result<(), MermaidError> {
        let directive = *self;
        let name = self.rest["%%{".len()..].trim_start();
        if !name.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_') {
            return Err(directive.wrong("a directive begins with its name, as %%{init: … }%%"));
        }
        let Some(end) = self.rest.find("}%%") else {
            return Err(directive.wrong("the directive does not end in }%%"));
        };
        self.advance(end + "}%%".len());
        self.is_at_line_start = true;
        Ok(())
    }

    /// Whether nothing but blanks comes before the end of the line.
    pub(super) fn is_at_line_end(&self) -> bool {
        self.rest.trim_start_matches(is_blank).chars().next().is_none_or(|letter| letter == '\n')
    }
}

/// Whether a letter separates words within a line.
pub(super) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() && letter != '\n'
}
