//! Tables for people, and their cells. The only file that knows the library of tables, so that no cell is made of text
//! that is not printable. Tables bend to a terminal's width; in a pipe they keep every character.

use std::fmt::Display;

use comfy_table::{Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, presets};
use jobbers_process::printable;
use unicode_width::UnicodeWidthStr;

/// Names longer than this bend like everything else. Longer than an id that the manager made, or a worker's.
const LONGEST_WHOLE: u16 = 48;
/// To the left and to the right of a cell.
const PADDING: (u16, u16) = (0, 2);

/// What a cell of a table shows.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    content: String,
    colour: Option<Color>,
    is_to_the_right: bool,
}

impl Cell {
    /// A cell with this text, made printable.
    pub(crate) fn new(text: impl Display) -> Self {
        let text = text.to_string();
        Self { content: printable::printable(&text).into_owned(), colour: None, is_to_the_right: false }
    }

    /// Its text.
    pub(crate) fn content(&self) -> String {
        self.content.clone()
    }

    /// The same with another text.
    pub(crate) fn with_content(self, text: impl Display) -> Self {
        Self { content: Self::new(text).content, ..self }
    }

    pub(crate) fn right_aligned(self) -> Self {
        Self { is_to_the_right: true, ..self }
    }

    pub(crate) fn green(self) -> Self {
        self.coloured(Color::DarkGreen)
    }

    pub(crate) fn cyan(self) -> Self {
        self.coloured(Color::DarkCyan)
    }

    pub(crate) fn yellow(self) -> Self {
        self.coloured(Color::DarkYellow)
    }

    pub(crate) fn red(self) -> Self {
        self.coloured(Color::DarkRed)
    }

    pub(crate) fn grey(self) -> Self {
        self.coloured(Color::DarkGrey)
    }

    fn coloured(self, colour: Color) -> Self {
        Self { colour: Some(colour), ..self }
    }

    fn drawn(self) -> comfy_table::Cell {
        let cell = comfy_table::Cell::new(self.content);
        let cell = if self.is_to_the_right { cell.set_alignment(CellAlignment::Right) } else { cell };
        match self.colour {
            Some(colour) => cell.fg(colour),
            None => cell,
        }
    }
}

impl<T: Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// An empty one, with these headings if there are any.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).enforce_styling().style_text_only();
        table.set_content_arrangement(if super::is_terminal() {
            ContentArrangement::Dynamic
        } else {
            ContentArrangement::Disabled
        });
        if !headings.is_empty() {
            let bold = |heading: &&str| comfy_table::Cell::new(heading).add_attribute(Attribute::Bold);
            table.set_header(headings.iter().map(bold));
        }
        Self(table)
    }

    /// The same without bending: the caller has made its cells fit.
    pub(crate) fn never_bending(mut self) -> Self {
        self.0.set_content_arrangement(ContentArrangement::Disabled);
        self
    }

    /// Adds a row.
    pub(crate) fn add_row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.0.add_row(cells.into_iter().map(|cell| cell.into().drawn()));
        for column in self.0.column_iter_mut() {
            column.set_padding(PADDING);
        }
    }

    /// The same with what names its rows, in the first column, in one piece.
    pub(crate) fn with_whole_names(&self) -> Self {
        let mut table = self.0.clone();
        let longest = table.column_max_content_widths().first().copied().unwrap_or(0);
        if let Some(names) = table.column_mut(0).filter(|_| longest <= LONGEST_WHOLE) {
            names.set_constraint(ColumnConstraint::ContentWidth);
        }
        Self(table)
    }

    /// Its text, with nothing at the ends of its lines.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        let lines: Vec<String> = self.0.lines().map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }

    /// How wide it may be, if it is for a terminal.
    pub(crate) fn width() -> Option<usize> {
        super::is_terminal().then(|| comfy_table::Table::new().width().map(usize::from)).flatten()
    }
}

/// How many columns of a terminal a text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_holds_nothing_that_a_terminal_obeys() {
        let mut table = Table::new(&["A"]);
        let text: String =
            (0..=u32::from(char::MAX)).filter_map(char::from_u32).filter(|c| !matches!(c, '\n' | '\t')).collect();
        table.add_row([Cell::new(&text), text.as_str().into()]);
        let shown = table.text();
        let rows: Vec<&str> = shown.lines().skip(1).collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| !row.contains(printable::is_unprintable)), "{rows:?}");
    }

    #[test]
    fn in_a_narrow_terminal_ids_stay_in_one_piece() {
        let id = "01KAMK2VQ9N5W8C2H6E7ZJ0XDR";
        let mut table = Table::new(&["ID", "NAME", "ERROR"]);
        table.0.set_content_arrangement(ContentArrangement::Dynamic).set_width(60);
        table.add_row([id, "text.wordcount", &"a long story ".repeat(9)]);
        let shown = table.with_whole_names().text();
        let mut rows = shown.lines().skip(1);
        assert!(shown.contains(id) && rows.all(|row| row.chars().count() <= 60), "{shown}");
    }

    #[test]
    fn in_a_pipe_no_cell_is_cut() {
        let mut table = Table::new(&["A"]);
        table.add_row(["x".repeat(500)]);
        assert!(table.text().contains(&"x".repeat(500)));
    }
}
