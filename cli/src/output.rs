//! The one place that writes to standard output and standard error.
//!
//! Colours are written always and taken out again by `anstream` where they don't belong: in a pipe, and under
//! `NO_COLOR`. Tables bend to a terminal's width; in a pipe they keep every character.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, presets};
use jobbers_common::lifecycle::Status;
use owo_colors::OwoColorize;

use crate::failure::Failure;

/// Names longer than this bend like everything else. Longer than an id that the manager made, or a worker's.
const LONGEST_WHOLE: u16 = 48;

/// Writes text, and nothing after it.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// Writes a line.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn line(text: impl Display) -> Result<(), Failure> {
    write(&format!("{text}\n"))
}

/// Writes a document for programs exactly as it is, so that no number loses a digit, and ends its last line. An empty
/// one is nothing.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn document(document: &[u8]) -> Result<(), Failure> {
    let document = document.trim_ascii_end();
    if document.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(document)
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush())
        .map_err(|error| Failure::output(&error))
}

/// Writes an answer for programs, or for people the sentence that says what was done.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn done(answer: &[u8], json: bool, sentence: impl Display) -> Result<(), Failure> {
    if json { document(answer) } else { line(sentence) }
}

/// Writes a table. What names its rows, in the first column, stays in one piece, so that it can be copied; the others
/// bend.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn table(table: &Table) -> Result<(), Failure> {
    line(trimmed(&with_whole_names(table)))
}

fn with_whole_names(table: &Table) -> Table {
    let mut table = table.clone();
    let longest = table.column_max_content_widths().first().copied().unwrap_or(0);
    if let Some(names) = table.column_mut(0).filter(|_| longest <= LONGEST_WHOLE) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}

/// The table's text, with nothing at the ends of its lines.
#[must_use]
pub(crate) fn trimmed(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// A note for the user on standard error, which is never part of the answer. A closed standard error is not a failure.
pub(crate) fn note(text: impl Display) {
    writeln!(anstream::stderr().lock(), "{text}").ok();
}

/// Says on standard error why the command failed.
pub(crate) fn error(failure: &Failure) {
    note(format_args!("{} {failure}", "error:".red().bold()));
}

/// Whether standard output is a terminal.
#[must_use]
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Asks a question on the terminal; only `y` and `yes` are yes.
///
/// # Errors
/// Without a terminal to ask on; then `--yes` is required.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::Usage(format!("{question} No terminal to ask on: say --yes")));
    }
    write!(anstream::stderr().lock(), "{question} [y/N] ").ok();
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::Unavailable(format!("can't read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// An empty table with these headings.
#[must_use]
pub(crate) fn table_of(headings: &[&str]) -> Table {
    let mut table = plain_table();
    table.set_header(headings.iter().map(|heading| Cell::new(heading).add_attribute(Attribute::Bold)));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// An empty table of a name and a value a line.
#[must_use]
pub(crate) fn sheet() -> Table {
    plain_table()
}

/// Adds a line to a [`sheet`].
pub(crate) fn add_fact(table: &mut Table, name: &str, value: impl Into<Cell>) {
    table.add_row(vec![Cell::new(name).fg(Color::DarkGrey), value.into()]);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).enforce_styling().style_text_only();
    table.set_content_arrangement(if is_terminal() {
        ContentArrangement::Dynamic
    } else {
        ContentArrangement::Disabled
    });
    table
}

/// A right-aligned cell for a number.
#[must_use]
pub(crate) fn number(value: impl Display) -> Cell {
    Cell::new(value).set_alignment(CellAlignment::Right)
}

/// A cell for what is not there.
#[must_use]
pub(crate) fn or_dash(value: Option<impl Display>) -> Cell {
    value.map_or_else(|| Cell::new("-").fg(Color::DarkGrey), Cell::new)
}

/// A cell for a status: what is well is green, what went wrong is red. A status this program does not know is shown
/// as it is.
#[must_use]
pub(crate) fn status(status: Status) -> Cell {
    let cell = Cell::new(status);
    match status {
        Status::Completed => cell.fg(Color::DarkGreen),
        Status::Started => cell.fg(Color::DarkCyan),
        Status::Scheduled | Status::Waiting => cell.fg(Color::DarkYellow),
        Status::Failed | Status::Aborted | Status::Dropped | Status::Stalled => cell.fg(Color::DarkRed),
        Status::Cancelled => cell.fg(Color::DarkGrey),
        Status::Submitted => cell,
    }
}

/// 1234567 as `1,234,567`.
#[must_use]
pub(crate) fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 task`, `2 tasks`: for words that take an s.
#[must_use]
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_cut_in_threes() {
        for (value, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(value), text);
        }
    }

    #[test]
    fn one_task_has_no_s() {
        assert_eq!((count(1, "task").as_str(), count(0, "task").as_str()), ("1 task", "0 tasks"));
    }

    #[test]
    fn in_a_narrow_terminal_ids_stay_in_one_piece() {
        let id = "01KAMK2VQ9N5W8C2H6E7ZJ0XDR";
        let mut table = table_of(&["ID", "NAME", "ERROR"]);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(60);
        table.add_row(vec![id, "text.wordcount", &"a long story ".repeat(9)]);
        let shown = trimmed(&with_whole_names(&table));
        let mut rows = shown.lines().skip(1);
        assert!(shown.contains(id) && rows.all(|row| row.chars().count() <= 60), "{shown}");
    }

    #[test]
    fn in_a_pipe_no_cell_is_cut() {
        let mut table = table_of(&["A"]);
        table.add_row(vec!["x".repeat(500)]);
        assert!(trimmed(&table).contains(&"x".repeat(500)));
    }
}
