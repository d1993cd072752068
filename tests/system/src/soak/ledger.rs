//! What clients asked for and were answered, written down before each request is sent.
//!
//! A request whose answer never came may have been carried out, so a book that is written afterwards does not know of it.
//! Here each one is a line of a file before it is sent, and its answer is a second line. The file is read back at the end,
//! and [`super::audit`] holds it against the store. A line that is missing from it is an error of its own.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use jobbers_test_support::effects::now_micros;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// A task, under its id; or, without one, under an `Idempotency-Key`.
    Submit,
    /// A cancel of a task.
    Cancel,
    /// A workflow.
    Workflow,
    /// A schedule.
    Schedule,
    /// A slot of a schedule fired by hand.
    Fire,
    /// Leases of tasks, over HTTP.
    Lease,
    /// A longer lease on a task.
    Extend,
    /// The end of a leased task.
    Return,
    /// A task of a board.
    Post,
    /// The claim of a task of a board.
    Claim,
    /// The removal of a task of a board.
    Remove,
    /// A dead letter, to be sent again.
    Resubmit,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// Counts the lines, so that a missing one shows.
    line: u64,
    /// In microseconds of Unix time.
    at: i64,
    #[serde(flatten)]
    note: Note,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Note {
    /// Written before the request is sent.
    Asks { action: Action, key: String, with: Value },
    /// The answer to the request of that line.
    Answered { asked: u64, answer: Value },
}

/// The book.
#[derive(Debug, Clone)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

#[derive(Debug)]
struct Book {
    path: PathBuf,
    file: File,
    lines: u64,
}

impl Book {
    fn write(&mut self, note: Note) -> u64 {
        let number = self.lines;
        self.lines += 1;
        let line = Line { line: number, at: now_micros(), note };
        let mut text = serde_json::to_string(&line).unwrap();
        text.push('\n');
        // One write to a file opened for appending: it is with the system before the request is.
        self.file.write_all(text.as_bytes()).unwrap();
        number
    }
}

/// A request that is written down and not answered yet.
#[derive(Debug)]
#[must_use = "an answer is written down too"]
pub(crate) struct Asked {
    ledger: Ledger,
    line: u64,
}

impl Asked {
    /// Writes its answer down. A request whose answer is lost is dropped instead.
    pub(crate) fn answered(self, answer: Value) {
        self.ledger.0.lock().unwrap().write(Note::Answered { asked: self.line, answer });
    }
}

impl Ledger {
    /// A new book, `ledger.jsonl` in `folder`.
    pub(crate) fn new(folder: &Path) -> Self {
        let path = folder.join("ledger.jsonl");
        let file = OpenOptions::new().create_new(true).append(true).open(&path).unwrap();
        Self(Arc::new(Mutex::new(Book { path, file, lines: 0 })))
    }

    /// Writes down what is about to be asked for. `key` is what the answer will be about: a task, a workflow, the data of a
    /// board's task.
    pub(crate) fn asks(&self, action: Action, key: &str, with: Value) -> Asked {
        let line = self.0.lock().unwrap().write(Note::Asks { action, key: key.to_owned(), with });
        Asked { ledger: self.clone(), line }
    }

    /// How many lines it has.
    pub(crate) fn lines(&self) -> u64 {
        self.0.lock().unwrap().lines
    }

    /// Everything in it, read back from the file.
    pub(crate) fn deeds(&self) -> Vec<Deed> {
        let text = std::fs::read_to_string(&self.0.lock().unwrap().path).unwrap();
        read(&text).unwrap_or_else(|problem| panic!("{problem}"))
    }
}

/// A request with its answer.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) action: Action,
    pub(crate) key: String,
    pub(crate) with: Value,
    /// Before it was sent, in microseconds of Unix time.
    pub(crate) asked_at: i64,
    /// When its answer was there, and the answer; none if that was lost.
    pub(crate) answer: Option<(i64, Value)>,
}

impl Deed {
    /// The answer; `null` if that was lost.
    pub(crate) fn answer(&self) -> &Value {
        self.answer.as_ref().map_or(&Value::Null, |(_, answer)| answer)
    }
}

/// Reads a book, in the order in which it was written.
///
/// # Errors
/// If a line is missing, or is none of a book's.
pub(crate) fn read(text: &str) -> Result<Vec<Deed>, String> {
    let mut deeds = BTreeMap::new();
    for (place, line) in text.lines().enumerate() {
        let line: Line = serde_json::from_str(line).map_err(|error| format!("line {place}: {error}"))?;
        if line.line != place as u64 {
            return Err(format!("line {place} of the ledger is missing"));
        }
        match line.note {
            Note::Asks { action, key, with } => {
                deeds.insert(line.line, Deed { action, key, with, asked_at: line.at, answer: None });
            }
            Note::Answered { asked, answer } => {
                let deed =
                    deeds.get_mut(&asked).ok_or(format!("line {place} answers line {asked}, which asks nothing"))?;
                deed.answer = Some((line.at, answer));
            }
        }
    }
    Ok(deeds.into_values().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn book() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(folder.path());
        ledger.asks(Action::Submit, "a", json!({})).answered(json!({"status": 201}));
        drop(ledger.asks(Action::Submit, "b", json!({"kind": "quick"})));
        ledger.asks(Action::Cancel, "a", json!({})).answered(json!({}));
        (folder, ledger)
    }

    #[test]
    fn a_request_is_in_the_book_before_its_answer_and_without_it() {
        let (_folder, ledger) = book();
        let deeds = ledger.deeds();
        let keys: Vec<_> = deeds.iter().map(|deed| (deed.action, deed.key.as_str(), deed.answer.is_some())).collect();
        assert_eq!(
            keys,
            [(Action::Submit, "a", true), (Action::Submit, "b", false), (Action::Cancel, "a", true)],
            "{deeds:?}"
        );
        assert_eq!(deeds[1].with, json!({"kind": "quick"}));
        assert!(deeds[0].answer.as_ref().unwrap().0 >= deeds[0].asked_at);
    }

    #[test]
    fn a_book_without_one_of_its_lines_is_refused() {
        let (folder, ledger) = book();
        let text = std::fs::read_to_string(folder.path().join("ledger.jsonl")).unwrap();
        assert_eq!(ledger.lines(), 5);
        for left_out in 0..4 {
            let lines = text.lines().enumerate().filter(|(place, _)| *place != left_out).map(|(_, line)| line);
            let problem = read(&lines.collect::<Vec<_>>().join("\n")).unwrap_err();
            assert_eq!(problem, format!("line {left_out} of the ledger is missing"));
        }
    }
}
