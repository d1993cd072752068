//! Signs of life of a benchmark.

use indicatif::ProgressBar;

use super::styled;
use crate::terminal::output;

/// Signs of life of what has steps and no number: the present one, and for how long it goes on. Without a terminal a line
/// for each.
#[derive(Debug)]
pub(crate) struct Steps(ProgressBar);

impl Steps {
    #[must_use]
    pub(crate) fn new() -> Self {
        Self(styled(ProgressBar::new_spinner(), "{spinner:.cyan} {wide_msg} {elapsed}"))
    }

    /// The next step.
    pub(crate) fn say(&self, step: impl Into<String>) {
        let step = step.into();
        if self.0.is_hidden() {
            output::note(&step);
        }
        self.0.reset_elapsed();
        self.0.set_message(step);
    }
}
