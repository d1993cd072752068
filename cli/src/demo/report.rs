//! What the demo says in the end: one object for programs, a few lines and a table for people.

use hdrhistogram::Histogram;
use serde::Serialize;

use jobbers_common::lifecycle::Status;

use crate::{
    demo::outcome::{DemoFigures, WordCheck},
    failure::Failure,
    terminal::output,
};

/// Words listed.
const TOP: usize = 10;
/// Disagreements listed.
const SHOWN_DIFFERENCES: usize = 20;

/// The demo's result.
#[derive(Debug)]
pub struct DemoResult {
    /// Text files counted.
    pub files: u64,
    /// The kind of store.
    pub engine: &'static str,
    /// How the tasks fared.
    pub figures: DemoFigures,
    /// Whether their answers are right.
    pub check: WordCheck,
    /// The result of each task that was meant to fail for good.
    pub meant_to_fail: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DemoDocument<'a> {
    files: u64,
    tasks: u64,
    completed: u64,
    failed: u64,
    retried: u64,
    words_total: u64,
    words_distinct: usize,
    top: Vec<(&'a str, u64)>,
    verified: bool,
    seconds: f64,
    engine: &'a str,
}

impl DemoResult {
    /// Whether the tasks did what was expected of them, and their counts are those of a direct count.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.check.differences.is_empty()
    }

    fn tasks(&self) -> u64 {
        self.figures.by_status.values().sum()
    }

    /// Prints one JSON object.
    ///
    /// # Errors
    /// When standard output can't be written to.
    pub fn print_json(&self) -> Result<(), Failure> {
        let document = DemoDocument {
            files: self.files,
            tasks: self.tasks(),
            completed: self.figures.standing(Status::Completed),
            failed: self.figures.standing(Status::Failed),
            retried: self.figures.retried,
            words_total: self.check.words_total,
            words_distinct: self.check.words.len(),
            top: self.check.top(TOP),
            verified: self.is_verified(),
            seconds: self.figures.took.as_secs_f64(),
            engine: self.engine,
        };
        let document = serde_json::to_vec(&document).map_err(|error| Failure::Negative(error.to_string()))?;
        output::document(&document)
    }

    /// Prints the figures for people.
    ///
    /// # Errors
    /// When standard output can't be written to.
    pub fn print_table(&self) -> Result<(), Failure> {
        let mut statuses = output::table_of(&["STATUS", "TASKS"]);
        for (status, count) in &self.figures.by_status {
            statuses.add_row(vec![output::status(*status), output::number(output::thousands(*count))]);
        }
        let mut times = output::table_of(&["TIME", "P50", "P99"]);
        for (name, histogram) in [("in queue", &self.figures.in_queue), ("execution", &self.figures.execution)] {
            let at = |quantile| output::number(milliseconds(histogram, quantile));
            times.add_row(vec![name.into(), at(0.5), at(0.99)]);
        }
        output::table(&statuses)?;
        if !self.meant_to_fail.is_empty() {
            let number = self.meant_to_fail.len();
            output::line(format_args!("{number} were meant to fail: one {}", self.meant_to_fail.join(", one ")))?;
        }
        output::line("")?;
        output::table(&times)?;
        let top = self.check.top(TOP);
        if !top.is_empty() {
            let mut words = output::table_of(&["WORD", "COUNT"]);
            for (word, count) in top {
                words.add_row(vec![word.into(), output::number(output::thousands(count))]);
            }
            output::line("")?;
            output::table(&words)?;
        }
        output::line(format_args!("\n{}", self.summary()))?;
        self.print_verdict()
    }

    fn summary(&self) -> String {
        let seconds = self.figures.took.as_secs_f64();
        let rate = if seconds > 0.0 { self.tasks() as f64 / seconds } else { 0.0 };
        let retried = self.figures.retried;
        format!(
            "{} on {} in {seconds:.2} s, {rate:.0} tasks/s; {} retried",
            output::count(self.tasks(), "task"),
            self.engine,
            output::thousands(retried),
        )
    }

    fn print_verdict(&self) -> Result<(), Failure> {
        if self.is_verified() {
            let (files, words) = (output::count(self.files, "file"), output::count(self.check.words_total, "word"));
            let distinct = output::thousands(self.check.words.len() as u64);
            let counts = format!("{files}, {words}, {distinct} different; a direct count agrees");
            return output::verdict(true, "verified", counts);
        }
        let differences = &self.check.differences;
        let count = output::count(differences.len() as u64, "difference");
        output::verdict(false, "not verified", count)?;
        for difference in differences.iter().take(SHOWN_DIFFERENCES) {
            output::line(format_args!("  {difference}"))?;
        }
        match differences.len().saturating_sub(SHOWN_DIFFERENCES) {
            0 => Ok(()),
            more => output::line(format_args!("  and {more} more")),
        }
    }
}

fn milliseconds(histogram: &Histogram<u64>, quantile: f64) -> String {
    let micros = histogram.value_at_quantile(quantile);
    format!("{:.1} ms", std::time::Duration::from_micros(micros).as_secs_f64() * 1e3)
}
