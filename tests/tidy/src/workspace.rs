//! The files of the repository, and how a test complains about them.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// A text file of the repository.
pub(crate) struct Source {
    /// Its path from the root, with `/`.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

impl Source {
    /// Its lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Its lines without those that are only a comment.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every text file whose name ends in one of `endings`, except what git ignores, in the order of their paths.
pub(crate) fn files(endings: &[&str]) -> Vec<Source> {
    let root = root();
    let mut found: Vec<Source> = ignore::WalkBuilder::new(&root)
        .hidden(false)
        .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | "target")))
        .build()
        .filter_map(|entry| {
            let entry = entry.unwrap();
            let path = entry.path().strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            let wanted = entry.file_type().is_some_and(|kind| kind.is_file())
                && endings.iter().any(|ending| path.ends_with(ending));
            // What is not UTF-8 is not text.
            let text = wanted.then(|| std::fs::read_to_string(entry.path()).ok()).flatten()?;
            Some(Source { path, text })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no file ends in any of {endings:?}: is {} the repository?", root.display());
    found
}

/// One file, if it is there.
pub(crate) fn file(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// What was found wrong.
#[derive(Default)]
pub(crate) struct Complaints(String);

impl Complaints {
    /// Notes one: where, and what to do about it.
    pub(crate) fn add(&mut self, place: impl std::fmt::Display, advice: impl std::fmt::Display) {
        writeln!(self.0, "{place}: {advice}").unwrap();
    }

    /// Fails if there are any.
    pub(crate) fn settle(self) {
        assert!(self.0.is_empty(), "\n{}", self.0);
    }
}

/// Whether `text` holds `word` with nothing that could be part of a name beside it.
pub(crate) fn names(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part) && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}
