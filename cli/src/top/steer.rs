//! Where the user is in the picture: the way there, the selection, and the filter.

use std::collections::HashMap;

use super::{
    action::RowAction,
    keys::Key,
    navigation::{ListTab, TopView},
};

/// What the program does after a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyEffect {
    Leave,
    /// Ask the manager at once, because the view is another.
    Look,
    Make(RowAction),
}

/// Where the user is.
#[derive(Debug)]
pub(crate) struct Steer {
    /// The way here: the overview first, the present view last.
    views: Vec<TopView>,
    /// The list of the overview whose rows the keys move through.
    pub(super) focus: ListTab,
    /// What is selected in each list, by its name or id, so that a row stays selected when the order changes.
    pub(super) selected: HashMap<ListTab, String>,
    /// Rows are shown that contain this.
    pub(crate) filter: String,
    /// Whether keys go into the filter.
    pub(crate) is_typing: bool,
    /// The change that the user is asked to confirm.
    pub(crate) asked: Option<RowAction>,
    /// What the last change did.
    pub(crate) answer: Option<String>,
}

impl Default for Steer {
    fn default() -> Self {
        Self {
            views: vec![TopView::Overview],
            focus: ListTab::Queues,
            selected: HashMap::new(),
            filter: String::new(),
            is_typing: false,
            asked: None,
            answer: None,
        }
    }
}

impl Steer {
    /// What is shown.
    pub(crate) fn view(&self) -> &TopView {
        self.views.last().unwrap_or(&TopView::Overview)
    }

    /// The list whose rows the keys move through; none in a task.
    pub(crate) fn list(&self) -> Option<ListTab> {
        match self.view() {
            TopView::Overview => Some(self.focus),
            TopView::Queue(_) | TopView::Worker(_) => Some(ListTab::Tasks),
            TopView::Task(_) => None,
        }
    }

    /// Whether the filter lets a row with these words be shown.
    pub(super) fn shows(&self, words: &[&str]) -> bool {
        self.filter.is_empty() || words.iter().any(|word| word.contains(&self.filter))
    }

    /// Which of these rows is selected; the first if the selected one has gone.
    pub(super) fn selection(&self, list: ListTab, rows: &[&str]) -> Option<usize> {
        let found = self.selected.get(&list).and_then(|selected| rows.iter().position(|row| row == selected));
        found.or(if rows.is_empty() { None } else { Some(0) })
    }

    pub(super) fn go(&mut self, view: TopView) -> KeyEffect {
        self.views.push(view);
        self.filter.clear();
        self.selected.remove(&ListTab::Tasks);
        KeyEffect::Look
    }

    /// Back by one step: out of the filter, out of the place, out of the program.
    pub(super) fn back(&mut self) -> Option<KeyEffect> {
        if !self.filter.is_empty() {
            self.filter.clear();
            return None;
        }
        if self.views.len() == 1 {
            return Some(KeyEffect::Leave);
        }
        self.views.pop();
        Some(KeyEffect::Look)
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
