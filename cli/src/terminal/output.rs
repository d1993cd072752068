//! The one place that writes to standard output and standard error.
//!
//! Text of clients is made printable on its way in: by the functions here that write text, and by the cells of tables
//! ([`table`]). Colours are added after that. They are written always and taken out again by `anstream` where they don't
//! belong: in a pipe, and under `NO_COLOR`.

mod table;

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use jobbers_common::{access::redact, lifecycle::Status};
use jobbers_process::{logging, printable};
use owo_colors::OwoColorize;
use tracing::Level;

pub(crate) use self::table::{Cell, Table, width_of};
use crate::failure::Failure;

/// Writes text, and nothing after it.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    write_styled(&printable::printable(text))
}

/// The same for what is printable and has colours.
fn write_styled(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// Writes a line that says whether all is well: its first word is green or red.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn verdict(is_well: bool, word: &str, rest: impl Display) -> Result<(), Failure> {
    let rest = rest.to_string();
    let rest = printable::printable(&rest);
    match is_well {
        true => write_styled(&format!("{}: {rest}\n", word.green().bold())),
        false => write_styled(&format!("{}: {rest}\n", word.red().bold())),
    }
}

/// Writes a line.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn line(text: impl Display) -> Result<(), Failure> {
    write(&format!("{text}\n"))
}

/// Writes a document for programs, and ends its last line. No number loses a digit; a character that a terminal obeys is
/// written as JSON writes it. An empty document is nothing.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn document(document: &[u8]) -> Result<(), Failure> {
    let document = document.trim_ascii_end();
    if document.is_empty() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(document);
    let mut out = io::stdout().lock();
    out.write_all(printable::json(&text).as_bytes())
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
    write_styled(&(table.with_whole_names().text() + "\n"))
}

/// A note for the user on standard error, which is never part of the answer. A closed standard error is not a failure.
pub(crate) fn note(text: impl Display) {
    if logging::is_json() {
        return logging::say(Level::INFO, text);
    }
    let text = text.to_string();
    writeln!(anstream::stderr().lock(), "{}", printable::printable(&text)).ok();
}

/// A table for the user on standard error.
pub(crate) fn note_table(table: &Table) {
    writeln!(anstream::stderr().lock(), "{}", table.with_whole_names().text()).ok();
}

/// Says on standard error why the command failed.
pub(crate) fn error(failure: &Failure) {
    if logging::is_json() {
        return logging::say(Level::ERROR, failure);
    }
    let text = failure.to_string();
    writeln!(anstream::stderr().lock(), "{} {}", "error:".red().bold(), printable::printable(&redact(&text))).ok();
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
    write!(anstream::stderr().lock(), "{} [y/N] ", printable::printable(question)).ok();
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::Unavailable(format!("can't read the answer: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// An empty table with these headings.
#[must_use]
pub(crate) fn table_of(headings: &[&str]) -> Table {
    Table::new(headings)
}

/// An empty table of a name and a value a line.
#[must_use]
pub(crate) fn sheet() -> Table {
    Table::new(&[])
}

/// Adds a line to a [`sheet`].
pub(crate) fn add_fact(table: &mut Table, name: &str, value: impl Into<Cell>) {
    table.add_row([Cell::new(name).grey(), value.into()]);
}

/// A right-aligned cell for a number.
#[must_use]
pub(crate) fn number(value: impl Display) -> Cell {
    Cell::new(value).right_aligned()
}

/// A cell for what is not there.
#[must_use]
pub(crate) fn or_dash(value: Option<impl Display>) -> Cell {
    value.map_or_else(|| Cell::new("-").grey(), Cell::new)
}

/// A cell for a status: what is well is green, what went wrong is red. A status this program does not know is shown
/// as it is.
#[must_use]
pub(crate) fn status(status: Status) -> Cell {
    let cell = Cell::new(status);
    match status {
        Status::Completed => cell.green(),
        Status::Started => cell.cyan(),
        Status::Scheduled | Status::Waiting => cell.yellow(),
        Status::Failed | Status::Aborted | Status::Dropped | Status::Stalled => cell.red(),
        Status::Cancelled => cell.grey(),
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
}
