//! What the tasks answered, and whether it is right.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use hdrhistogram::Histogram;
use jobbers_api::{task::view::TaskView, value::Rfc3339};
use jobbers_common::lifecycle::Status;
use serde::Deserialize;

use crate::{
    demo::count::{self, Counts},
    failure::Failure,
    terminal::when,
};

/// What `text.wordcount` answers.
#[derive(Debug, Deserialize)]
struct WordcountAnswer {
    #[serde(default)]
    words: u64,
    #[serde(default)]
    counts: HashMap<String, u64>,
    #[serde(default)]
    truncated: bool,
    skipped: Option<String>,
}

/// The system's result for one file.
#[derive(Debug)]
pub enum FileResult {
    /// The number of its words, and each of them.
    Words(u64, Counts),
    /// Its words do not fit in a result.
    TooMany,
    /// It was not counted, and why.
    Nothing(String),
}

impl FileResult {
    /// Reads a task's answer.
    #[must_use]
    pub fn of(task: &TaskView) -> Self {
        let Some(result) = task.result.as_ref().filter(|_| task.status == Status::Completed) else {
            let why = task.errors.last().map_or("no reason given", |error| error.message.as_str());
            return Self::Nothing(format!("its task is {}: {why}", task.status));
        };
        match serde_json::from_str::<WordcountAnswer>(result.get()) {
            Ok(WordcountAnswer { skipped: Some(why), .. }) => Self::Nothing(format!("its task skipped it: {why}")),
            Ok(WordcountAnswer { truncated: true, .. }) => Self::TooMany,
            Ok(WordcountAnswer { words, counts, .. }) => Self::Words(words, counts),
            Err(error) => Self::Nothing(format!("its task answered something else: {error}")),
        }
    }

    /// The answers for a file's parts as one.
    #[must_use]
    pub fn sum(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut sum = (0, Counts::new());
        for part in parts {
            match part {
                Self::Words(words, counts) => {
                    sum.0 += words;
                    add(&mut sum.1, counts);
                }
                other => return other,
            }
        }
        Self::Words(sum.0, sum.1)
    }
}

fn add(sum: &mut Counts, counts: Counts) {
    for (word, count) in counts {
        *sum.entry(word).or_default() += count;
    }
}

/// All words of all files, and where the system and a direct count disagree.
#[derive(Debug, Default)]
pub struct WordCheck {
    /// How many words, by the system.
    pub words_total: u64,
    /// Each of them, by the system.
    pub words: Counts,
    /// A sentence for each disagreement.
    pub differences: Vec<String>,
}

impl WordCheck {
    /// Sets each file's answer beside a direct count of it.
    pub fn files(&mut self, answers: impl IntoIterator<Item = (PathBuf, FileResult)>) {
        for (path, answer) in answers {
            let complaint = match answer {
                FileResult::Words(total, counts) => {
                    let complaint = compare(total, &counts, &path);
                    self.words_total += total;
                    add(&mut self.words, counts);
                    complaint
                }
                FileResult::TooMany => Some("its words don't fit in results, even in parts".to_owned()),
                FileResult::Nothing(why) => Some(why),
            };
            self.differences.extend(complaint.map(|complaint| format!("{}: {complaint}", path.display())));
        }
    }

    /// The commonest words that are not numbers; of equally common ones the first in the order of their letters.
    #[must_use]
    pub fn top(&self, count: usize) -> Vec<(&str, u64)> {
        let words = self.words.iter().filter(|(word, _)| word.chars().any(char::is_alphabetic));
        let mut words: Vec<(&str, u64)> = words.map(|(word, count)| (word.as_str(), *count)).collect();
        words.sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        words.truncate(count);
        words
    }
}

fn compare(total: u64, counts: &Counts, path: &Path) -> Option<String> {
    let direct = match count::words_of(path) {
        Ok(direct) => direct,
        Err(error) => return Some(format!("it can't be counted any more: {error}")),
    };
    let direct_total: u64 = direct.values().sum();
    if total != direct_total {
        return Some(format!("the task counted {total} words, a direct count {direct_total}"));
    }
    let words: HashSet<&String> = counts.keys().chain(direct.keys()).collect();
    let wrong = words.into_iter().find(|word| counts.get(*word) != direct.get(*word))?;
    let of = |counts: &Counts| counts.get(wrong).copied().unwrap_or_default();
    Some(format!("the task counted {wrong:?} {} times, a direct count {}", of(counts), of(&direct)))
}

/// Longer times are shown as this: an hour.
const LONGEST_MICROS: u64 = 3_600_000_000;

/// How the tasks fared.
#[derive(Debug)]
pub struct DemoFigures {
    /// Tasks per status.
    pub by_status: BTreeMap<Status, u64>,
    /// Tasks that took more than one attempt.
    pub retried: u64,
    /// From the first submission to the last end.
    pub took: Duration,
    /// How long tasks were ready before their last attempt started, in microseconds.
    pub in_queue: Histogram<u64>,
    /// How long their last attempts took, in microseconds.
    pub execution: Histogram<u64>,
}

impl DemoFigures {
    /// Reads them from the tasks' times.
    ///
    /// # Errors
    /// Never in practice: when no histogram can be made.
    pub fn of(tasks: &[TaskView]) -> Result<Self, Failure> {
        let histogram =
            || Histogram::new_with_max(LONGEST_MICROS, 3).map_err(|error| Failure::Negative(error.to_string()));
        let (mut by_status, mut in_queue, mut execution) = (BTreeMap::new(), histogram()?, histogram()?);
        for task in tasks {
            *by_status.entry(task.status).or_default() += 1;
            if let Some(started) = task.started_at {
                in_queue.saturating_record(micros(task.ready_at, started));
                if let Some(completed) = task.finished_at {
                    execution.saturating_record(micros(started, completed));
                }
            }
        }
        let first = tasks.iter().map(|task| task.submitted_at).min();
        let last = tasks.iter().filter_map(|task| task.finished_at).max();
        let took = first.zip(last).map_or(Duration::ZERO, |(first, last)| when::between(first, last));
        let retried = tasks.iter().filter(|task| task.attempt > 1).count() as u64;
        Ok(Self { by_status, retried, took, in_queue, execution })
    }

    /// How many tasks stand so.
    #[must_use]
    pub fn standing(&self, status: Status) -> u64 {
        self.by_status.get(&status).copied().unwrap_or_default()
    }
}

fn micros(from: Rfc3339, until: Rfc3339) -> u64 {
    u64::try_from(when::between(from, until).as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> Counts {
        pairs.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
    }

    fn task(fields: &serde_json::Value) -> TaskView {
        let mut task = serde_json::json!({
            "id": "a", "name": "text.wordcount", "version": 1, "queue": "default", "priority": 5,
            "status": "completed", "attempt": 1, "crashes": 0, "cancel_requested": false, "errors": [],
            "revision": 1, "policy": {}, "blames": 0, "suspicion": 0, "dead_letter": true,
            "submitted_at": "2026-01-01T00:00:00Z", "ready_at": "2026-01-01T00:00:00Z",
        });
        task.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(task).unwrap()
    }

    fn check(content: &str, answer: FileResult) -> WordCheck {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let mut check = WordCheck::default();
        check.files([(file.path().to_owned(), answer)]);
        check
    }

    #[test]
    fn an_answer_that_is_right_is_right() {
        let check = check("a b a", FileResult::Words(3, counts(&[("a", 2), ("b", 1)])));
        assert!(check.differences.is_empty(), "{:?}", check.differences);
        assert_eq!((check.words_total, check.top(10)), (3, vec![("a", 2), ("b", 1)]));
    }

    #[test]
    fn every_kind_of_wrong_answer_is_told() {
        for (answer, word) in [
            (FileResult::Words(2, counts(&[("a", 2)])), "counted 2 words, a direct count 3"),
            (FileResult::Words(3, counts(&[("a", 3)])), "times, a direct count"),
            (FileResult::Words(3, counts(&[("a", 2)])), "\"b\" 0 times, a direct count 1"),
            (FileResult::TooMany, "don't fit"),
            (FileResult::of(&task(&serde_json::json!({"status": "failed"}))), "its task is failed"),
            (FileResult::of(&task(&serde_json::json!({"result": {"skipped": "not UTF-8"}}))), "skipped it: not UTF-8"),
            (FileResult::of(&task(&serde_json::json!({"result": [1]}))), "something else"),
        ] {
            let differences = check("a b a", answer).differences;
            assert!(differences.len() == 1 && differences[0].contains(word), "{differences:?} does not say {word:?}");
        }
    }

    #[test]
    fn one_part_that_is_wrong_makes_the_sum_wrong() {
        let part = |count| FileResult::Words(count, counts(&[("a", count)]));
        assert!(matches!(FileResult::sum([part(1), part(2)]), FileResult::Words(3, sum) if sum == counts(&[("a", 3)])));
        assert!(matches!(FileResult::sum([part(1), FileResult::TooMany]), FileResult::TooMany));
    }

    #[test]
    fn figures_come_from_the_tasks_times() {
        let times = |started: &str, completed: &str, attempt: u32| {
            task(&serde_json::json!({"started_at": started, "finished_at": completed, "attempt": attempt}))
        };
        let figures = DemoFigures::of(&[
            times("2026-01-01T00:00:00.001Z", "2026-01-01T00:00:00.003Z", 1),
            times("2026-01-01T00:00:02Z", "2026-01-01T00:00:04Z", 3),
        ])
        .unwrap();
        assert_eq!(
            (figures.took, figures.retried, figures.standing(Status::Completed)),
            (Duration::from_secs(4), 1, 2)
        );
        assert_eq!(figures.in_queue.value_at_quantile(0.5), 1_000);
        assert_eq!(figures.in_queue.max() / 1_000_000, 2);
        assert_eq!(figures.execution.value_at_quantile(0.5), 2_000);
    }
}
