//! What a key does, where the user is.

use super::{
    action::RowAction,
    keys::Key,
    navigation::{ListTab, TopView},
    state::TopState,
    steer::KeyEffect,
};

impl TopState {
    /// Does what a key says.
    pub(crate) fn press(&mut self, key: Key) -> Option<KeyEffect> {
        match key {
            Key::Interrupt => return Some(KeyEffect::Leave),
            Key::Resized => return None,
            _ => {}
        }
        self.steer.answer = None;
        if let Some(asked) = self.steer.asked.take() {
            return (key == Key::Char('y')).then_some(KeyEffect::Make(asked));
        }
        if self.steer.is_typing {
            self.steer.type_into_filter(key);
            return None;
        }
        match key {
            Key::Char('q') => return Some(KeyEffect::Leave),
            Key::Escape | Key::Backspace => return self.steer.back(),
            Key::Enter => return self.open(),
            Key::Up | Key::Char('k') => self.select(-1),
            Key::Down | Key::Char('j') => self.select(1),
            Key::Tab => self.focus_next(),
            Key::Char('/') if self.steer.list().is_some() => self.steer.is_typing = true,
            Key::Char(' ') => self.hold(),
            Key::Char('s') => self.sort(),
            Key::Char(letter) => self.steer.asked = self.change(letter),
            Key::Interrupt | Key::Resized => {}
        }
        None
    }

    fn select(&mut self, by: isize) {
        let Some(list) = self.steer.list() else { return };
        let rows = self.rows(list);
        let Some(row) = self.steer.selection(list, &rows) else { return };
        let next = row.saturating_add_signed(by).min(rows.len() - 1);
        let next = rows[next].to_owned();
        self.steer.selected.insert(list, next);
    }

    fn focus_next(&mut self) {
        self.steer.focus = match self.steer.focus {
            ListTab::Queues => ListTab::Workers,
            ListTab::Workers => ListTab::Failures,
            ListTab::Failures | ListTab::Tasks => ListTab::Queues,
        };
    }

    fn open(&mut self) -> Option<KeyEffect> {
        let (list, row) = self.selected()?;
        self.held = false;
        Some(self.steer.go(match list {
            ListTab::Queues => TopView::Queue(row),
            ListTab::Workers => TopView::Worker(row),
            ListTab::Failures | ListTab::Tasks => TopView::Task(row),
        }))
    }

    /// The change that a letter asks for, where the user is.
    fn change(&self, letter: char) -> Option<RowAction> {
        let target = self.selected().or_else(|| match self.steer.view() {
            TopView::Task(id) => Some((ListTab::Tasks, id.clone())),
            _ => None,
        });
        match (letter, self.steer.view(), target) {
            ('p', TopView::Queue(name), _) => self.pause_or_resume(name),
            ('d', TopView::Worker(id), _) => self.drain_or_resume(id),
            ('p', _, Some((ListTab::Queues, name))) => self.pause_or_resume(&name),
            ('d', _, Some((ListTab::Workers, id))) => self.drain_or_resume(&id),
            ('r', _, Some((ListTab::Failures | ListTab::Tasks, id))) => Some(RowAction::Resubmit(id)),
            ('c', _, Some((ListTab::Tasks, id))) => Some(RowAction::Cancel(id)),
            _ => None,
        }
    }

    fn pause_or_resume(&self, name: &str) -> Option<RowAction> {
        let queue = self.now.as_ref()?.queues.iter().find(|queue| queue.name.as_str() == name)?;
        Some(if queue.paused {
            RowAction::ResumeQueue(name.to_owned())
        } else {
            RowAction::PauseQueue(name.to_owned())
        })
    }

    fn drain_or_resume(&self, id: &str) -> Option<RowAction> {
        let worker = self.now.as_ref()?.workers.iter().find(|worker| worker.id.as_str() == id)?;
        let drains = worker.draining_since.is_some();
        Some(if drains { RowAction::ResumeWorker(id.to_owned()) } else { RowAction::DrainWorker(id.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use jobbers_api::task::view::TaskView;

    use super::*;
    use crate::top::{
        snapshot::Inside,
        state::tests::{look, queue},
        view::tests::{failed, worker},
    };

    fn state() -> TopState {
        let mut state = TopState::new("http://m");
        let mut now = look(Instant::now(), vec![queue("mail", 9, 1, Some(9.0)), queue("bulk", 9, 2, None)]);
        now.workers.push(worker());
        now.failures = vec![failed("no"), TaskView { id: "order/8".parse().unwrap(), ..failed("no") }];
        state.look(now);
        state
    }

    fn press(state: &mut TopState, keys: &str) -> Option<KeyEffect> {
        let key = |char| match char {
            '⇥' => Key::Tab,
            '⏎' => Key::Enter,
            '⎋' => Key::Escape,
            '↑' => Key::Up,
            '↓' => Key::Down,
            char => Key::Char(char),
        };
        keys.chars().map(|char| state.press(key(char))).last().flatten()
    }

    fn asked(state: &mut TopState, keys: &str) -> Option<RowAction> {
        press(state, keys);
        state.steer.asked.clone()
    }

    #[test]
    fn the_selection_moves_within_a_list_and_keeps_to_its_row() {
        let mut state = state();
        assert_eq!(state.selection(ListTab::Queues), Some(0));
        assert_eq!((press(&mut state, "↓↓"), state.selection(ListTab::Queues)), (None, Some(1)));
        assert_eq!(state.selection(ListTab::Workers), None, "the keys move through one list");
        press(&mut state, "s");
        assert_eq!(state.rows(ListTab::Queues), ["bulk", "mail"]);
        assert_eq!(state.selection(ListTab::Queues), Some(0), "bulk is still selected");
        press(&mut state, "⇥⇥↓");
        assert_eq!(state.selection(ListTab::Failures), Some(1));
        state.look(look(Instant::now(), Vec::new()));
        assert_eq!((state.selection(ListTab::Failures), press(&mut state, "↓⏎")), (None, None), "nothing is left");
    }

    #[test]
    fn a_view_is_opened_and_left_by_the_same_way() {
        let mut state = state();
        assert_eq!(press(&mut state, "⏎"), Some(KeyEffect::Look));
        assert_eq!(state.steer.view(), &TopView::Queue("mail".to_owned()));
        if let Some(now) = &mut state.now {
            now.inside = Some(Inside::Tasks(vec![failed("no")], false));
        }
        assert_eq!(press(&mut state, "⏎"), Some(KeyEffect::Look));
        assert_eq!(state.steer.view(), &TopView::Task("order/7".to_owned()));
        assert_eq!(press(&mut state, "⎋"), Some(KeyEffect::Look));
        assert_eq!(press(&mut state, "⎋"), Some(KeyEffect::Look));
        assert_eq!(state.steer.view(), &TopView::Overview);
        assert_eq!(press(&mut state, "⎋"), Some(KeyEffect::Leave));
        assert_eq!(press(&mut state, "⇥⏎"), Some(KeyEffect::Look));
        assert_eq!(state.steer.view(), &TopView::Worker("w-1".to_owned()));
    }

    #[test]
    fn a_filter_is_typed_and_cleared() {
        let mut state = state();
        press(&mut state, "/bq");
        assert_eq!((state.steer.filter.as_str(), state.rows(ListTab::Queues).len()), ("bq", 0), "q is a letter here");
        state.press(Key::Backspace);
        press(&mut state, "⏎");
        assert_eq!((state.rows(ListTab::Queues), state.steer.is_typing), (vec!["bulk"], false));
        assert_eq!(press(&mut state, "⎋"), None, "the filter ends first");
        assert_eq!(state.rows(ListTab::Queues).len(), 2);
        assert_eq!((press(&mut state, "/x⎋"), state.steer.filter.as_str()), (None, ""));
    }

    #[test]
    fn a_change_is_made_only_once_it_is_confirmed() {
        let mut state = state();
        let pause = RowAction::PauseQueue("mail".to_owned());
        assert_eq!(asked(&mut state, "p"), Some(pause.clone()));
        assert_eq!((press(&mut state, "n"), state.steer.asked.clone()), (None, None));
        assert_eq!(press(&mut state, "py"), Some(KeyEffect::Make(pause)));
        assert_eq!(asked(&mut state, "r"), None, "a queue is not sent again");
        assert_eq!(asked(&mut state, "⇥d"), Some(RowAction::DrainWorker("w-1".to_owned())));
        assert_eq!(asked(&mut state, "n⇥r"), Some(RowAction::Resubmit("order/7".to_owned())));
        assert_eq!(press(&mut state, "n⏎"), Some(KeyEffect::Look));
        assert_eq!(asked(&mut state, "c"), Some(RowAction::Cancel("order/7".to_owned())));
        assert_eq!(state.press(Key::Interrupt), Some(KeyEffect::Leave), "whatever is asked");
    }
}
