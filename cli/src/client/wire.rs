//! The types of the manager's answers. Unknown fields are ignored, so an older client works with a newer manager.

mod board;
mod change;
mod dead_letter;
mod queue;
mod routing;
mod schedule;
mod task;
mod worker;
mod workflow;

use serde::{Deserialize, de::DeserializeOwned};

pub use board::*;
pub use change::*;
pub use dead_letter::*;
pub use queue::*;
pub use routing::*;
pub use schedule::*;
pub use task::*;
pub use worker::*;
pub use workflow::*;

/// A page of a list that may be longer than one answer.
pub trait Page: DeserializeOwned {
    /// What is listed.
    type Item;

    /// Its items, and where the next page begins.
    fn turned(self) -> (Vec<Self::Item>, Option<String>);
}

/// A refusal (`application/problem+json`).
#[derive(Debug, Deserialize)]
pub struct Problem {
    /// A stable word.
    pub code: String,
    /// What kind of problem it is.
    pub title: Option<String>,
    /// What happened this time.
    pub detail: Option<String>,
}
