//! Side effects that can be counted: a file to which every execution of a test's task appends one line.
//!
//! A line is one `write` to a file opened for appending, so that lines of several processes never mix.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::wait::until;

/// The file.
#[derive(Debug, Clone)]
pub struct Effects {
    path: PathBuf,
}

/// One line of it: what happened to which task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// E.g. `started`, `done`.
    pub event: String,
    /// The task's id.
    pub task: String,
    /// Its attempt.
    pub attempt: u32,
    /// The fence of the claim it runs under.
    pub fence: u64,
    /// The process that ran it.
    pub pid: u32,
    /// When, in microseconds of Unix time.
    pub at: i64,
}

/// The present in microseconds of Unix time: what all processes of one machine agree on.
#[must_use]
pub fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Effects {
    /// The file at `path`, which need not be there yet.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line in the name of this process.
    ///
    /// # Errors
    /// Those of the file.
    pub fn append(&self, event: &str, task: &str, attempt: u32, fence: u64) -> std::io::Result<()> {
        let line = format!("{event} {task} {attempt} {fence} {} {}\n", std::process::id(), now_micros());
        OpenOptions::new().create(true).append(true).open(&self.path)?.write_all(line.as_bytes())
    }

    /// All lines so far.
    ///
    /// # Panics
    /// When a line is none of ours.
    #[must_use]
    pub fn all(&self) -> Vec<Effect> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        // What does not end in a newline is still being written.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        complete.lines().map(|line| parse(line).unwrap_or_else(|| panic!("{line:?} is no effect"))).collect()
    }

    /// How often `event` happened to each task.
    #[must_use]
    pub fn count(&self, event: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for effect in self.all().into_iter().filter(|effect| effect.event == event) {
            *counts.entry(effect.task).or_default() += 1;
        }
        counts
    }

    /// Waits until `event` has happened to `task`, and answers the latest such line.
    pub async fn happened(&self, event: &str, task: &str) -> Effect {
        self.happened_times(event, task, 1).await
    }

    /// Waits until `event` has happened to `task` at least `times`, and answers the latest such line.
    pub async fn happened_times(&self, event: &str, task: &str, times: usize) -> Effect {
        let what = format!("{event} of {task}, {times} times");
        until(Duration::from_secs(30), &what, async || {
            let mut matching: Vec<_> =
                self.all().into_iter().filter(|effect| effect.event == event && effect.task == task).collect();
            if matching.len() >= times { matching.pop() } else { None }
        })
        .await
    }
}

fn parse(line: &str) -> Option<Effect> {
    let mut words = line.split(' ');
    let (event, task) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (attempt, fence) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(Effect { event, task, attempt, fence, pid: words.next()?.parse().ok()?, at: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_still_being_written_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let effects = Effects::at(folder.path().join("effects"));
        effects.append("done", "a", 1, 7).expect("it can be written");
        effects.append("done", "a", 2, 8).expect("it can be written");
        OpenOptions::new()
            .append(true)
            .open(effects.path())
            .and_then(|mut file| file.write_all(b"done b"))
            .expect("it can be written");
        assert_eq!(effects.count("done"), BTreeMap::from([("a".to_owned(), 2)]));
        assert_eq!(effects.count("started"), BTreeMap::new());
    }
}
