//! Examines an archive for `jobbers doctor`, also when no manager keeps it, and changes nothing.

use std::path::Path;

use jobbers_sqlite_file::{check_not_emptied, exposure};
use rusqlite::Connection;

use crate::{
    connection,
    error::{Error, Result},
    letters::MAX_PAGE,
    whole::LetterReader,
};

/// The most complaints of SQLite that are passed on.
const MOST_SAID: i64 = 20;

/// The state of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examined {
    /// How many letters it has, up to the first that can't be read.
    pub letters: u64,
    /// What is wrong with it, a sentence each.
    pub problems: Vec<String>,
}

/// Examines the archive at `path`, all its pages and letters; `None` if no file is there.
#[must_use]
pub fn examine(path: &Path) -> Option<Examined> {
    let examined = check_not_emptied(path).map_err(Error::from).and_then(|()| {
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        match (path.exists(), bytes) {
            (false, _) => Ok(None),
            (true, 0) => Err(Error::Corrupt("the file is empty. Restore a backup, or remove the file".to_owned())),
            (true, _) => look_at(path).map(Some),
        }
    });
    let problem = |error: Error| Examined { letters: 0, problems: vec![error.to_string()] };
    let mut examined = examined.unwrap_or_else(|error| Some(problem(error)))?;
    examined.problems.extend(exposure(path));
    Some(examined)
}

fn look_at(path: &Path) -> Result<Examined> {
    let reader = LetterReader { conn: connection::open_only_to_read(path)? };
    let damage = damage_of(&reader.conn).into_iter().map(|text| Error::Corrupt(text).to_string());
    let mut examined = Examined { letters: 0, problems: damage.collect() };
    let mut after = None;
    loop {
        match reader.letters(after, MAX_PAGE) {
            Ok(page) => {
                examined.letters += page.len() as u64;
                let Some((last, _)) = page.last() else { return Ok(examined) };
                after = Some(*last);
            }
            Err(error) => {
                examined.problems.push(format!("a letter can't be read: {error}"));
                return Ok(examined);
            }
        }
    }
}

/// SQLite's complaints about the pages of the file, including its own failure.
fn damage_of(conn: &Connection) -> Vec<String> {
    let mut said = Vec::new();
    let checked = conn.pragma(None, "quick_check", MOST_SAID, |row| row.get(0).map(|text: String| said.push(text)));
    said.extend(checked.err().map(|error| error.to_string()));
    said.retain(|text| text != "ok");
    said
}
