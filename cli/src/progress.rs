//! A progress bar on standard error, if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// The bar; without a terminal it is nothing. It leaves the terminal with this value.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar of so many tasks.
    #[must_use]
    pub fn new(total: u64) -> Self {
        let bar = ProgressBar::new(total).with_finish(ProgressFinish::AndClear);
        let template = "{spinner:.cyan} {bar:30.cyan/dim} {pos}/{len} tasks  {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// More tasks than was thought.
    pub fn add(&self, more: u64) {
        self.0.inc_length(more);
    }

    /// How far the tasks are.
    pub fn show(&self, over: u64, running: u64, scheduled: u64, failed: u64) {
        self.0.set_position(over);
        self.0.set_message(format!("{running} running, {scheduled} to be retried, {failed} failed"));
    }

    /// What goes on when the tasks are over.
    pub fn say(&self, what: &'static str) {
        self.0.set_message(what);
    }
}
