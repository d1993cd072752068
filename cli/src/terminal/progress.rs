//! How far something is, on standard error: a bar on a terminal, else a line now and then, so that a log shows it too.

#[cfg(feature = "bench")]
pub(crate) mod steps;

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::terminal::output;

/// Between two lines, without a terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The bar. It leaves the terminal with this value.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    bar: ProgressBar,
    /// When the last line was written, or this began.
    last_line: Mutex<Instant>,
}

impl ProgressLine {
    /// A bar of so many tasks.
    #[must_use]
    pub(crate) fn new(total: u64) -> Self {
        let template = "{spinner:.cyan} {bar:30.cyan/dim} {pos}/{len} tasks  {wide_msg}";
        Self { bar: styled(ProgressBar::new(total), template), last_line: Mutex::new(Instant::now()) }
    }

    /// More tasks than was thought.
    pub(crate) fn add(&self, more: u64) {
        self.bar.inc_length(more);
    }

    /// How many tasks are over, and the rest in words.
    pub(crate) fn show(&self, over: u64, words: impl Fn() -> String) {
        self.bar.set_position(over);
        self.bar.set_message(words());
        if !self.bar.is_hidden() || !self.is_line_due() {
            return;
        }
        let total = self.bar.length().map(output::thousands).unwrap_or_default();
        output::note(format_args!("{} of {total}: {}", output::thousands(over), words()));
    }

    /// What goes on.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    /// Writes something to standard output while the bar is away.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    fn is_line_due(&self) -> bool {
        let Ok(mut last) = self.last_line.lock() else { return false };
        let is_due = last.elapsed() >= BETWEEN_LINES;
        if is_due {
            *last = Instant::now();
        }
        is_due
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    let bar = bar.with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
