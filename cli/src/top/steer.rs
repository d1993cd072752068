//! Where the user is in the picture: the way there, the selection, and the filter.

use std::collections::HashMap;

use super::{
    change::Change,
    keys::Key,
    place::{List, Place},
};

/// What the program does after a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Leave,
    /// Ask the manager at once, because the place is another.
    Look,
    Make(Change),
}

/// Where the user is.
#[derive(Debug)]
pub(crate) struct Steer {
    /// The way here: the overview first, the present place last.
    places: Vec<Place>,
    /// The list of the overview whose rows the keys move through.
    pub(super) focus: List,
    /// What is selected in each list, by its name or id, so that a row stays selected when the order changes.
    pub(super) selected: HashMap<List, String>,
    /// Rows are shown that contain this.
    pub(crate) filter: String,
    /// Whether keys go into the filter.
    pub(crate) is_typing: bool,
    /// The change that the user is asked to confirm.
    pub(crate) asked: Option<Change>,
    /// What the last change did.
    pub(crate) answer: Option<String>,
}

impl Default for Steer {
    fn default() -> Self {
        Self {
            places: vec![Place::Overview],
            focus: List::Queues,
            selected: HashMap::new(),
            filter: String::new(),
            is_typing: false,
            asked: None,
            answer: None,
        }
    }
}

impl Steer {
    /// What the picture is of.
    pub(crate) fn place(&self) -> &Place {
        self.places.last().unwrap_or(&Place::Overview)
    }

    /// The list whose rows the keys move through; none in a task.
    pub(crate) fn list(&self) -> Option<List> {
        match self.place() {
            Place::Overview => Some(self.focus),
            Place::Queue(_) | Place::Worker(_) => Some(List::Tasks),
            Place::Task(_) => None,
        }
    }

    /// Whether the filter lets a row with these words be shown.
    pub(super) fn shows(&self, words: &[&str]) -> bool {
        self.filter.is_empty() || words.iter().any(|word| word.contains(&self.filter))
    }

    /// Which of these rows is selected; the first if the selected one has gone.
    pub(super) fn selection(&self, list: List, rows: &[&str]) -> Option<usize> {
        let found = self.selected.get(&list).and_then(|selected| rows.iter().position(|row| row == selected));
        found.or(if rows.is_empty() { None } else { Some(0) })
    }

    pub(super) fn go(&mut self, place: Place) -> Command {
        self.places.push(place);
        self.filter.clear();
        self.selected.remove(&List::Tasks);
        Command::Look
    }

    /// Back by one step: out of the filter, out of the place, out of the program.
    pub(super) fn back(&mut self) -> Option<Command> {
        if !self.filter.is_empty() {
            self.filter.clear();
            return None;
        }
        if self.places.len() == 1 {
            return Some(Command::Leave);
        }
        self.places.pop();
        Some(Command::Look)
    }

    pub(super) fn type_into_filter(&mut self, key: Key) {
        match key {
            Key::Char(char) => self.filter.push(char),
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Enter => self.is_typing = false,
            Key::Escape => {
                self.is_typing = false;
                self.filter.clear();
            }
            _ => {}
        }
    }
}
