//! What a key does, where the user is.

use super::{
    change::Change,
    keys::Key,
    place::{List, Place},
    state::State,
    steer::Command,
};

impl State {
    /// Does what a key says.
    pub(crate) fn press(&mut self, key: Key) -> Option<Command> {
        match key {
            Key::Interrupt => return Some(Command::Leave),
            Key::Resized => return None,
            _ => {}
        }
        self.steer.answer = None;
        if let Some(asked) = self.steer.asked.take() {
            return (key == Key::Char('y')).then_some(Command::Make(asked));
        }
        if self.steer.is_typing {
            self.steer.type_into_filter(key);
            return None;
        }
        match key {
            Key::Char('q') => return Some(Command::Leave),
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
            List::Queues => List::Workers,
            List::Workers => List::Failures,
            List::Failures | List::Tasks => List::Queues,
        };
    }

    fn open(&mut self) -> Option<Command> {
        let (list, row) = self.selected()?;
        self.held = false;
        Some(self.steer.go(match list {
            List::Queues => Place::Queue(row),
            List::Workers => Place::Worker(row),
            List::Failures | List::Tasks => Place::Task(row),
        }))
    }

    /// The change that a letter asks for, where the user is.
    fn change(&self, letter: char) -> Option<Change> {
        let target = self.selected().or_else(|| match self.steer.place() {
            Place::Task(id) => Some((List::Tasks, id.clone())),
            _ => None,
        });
        match (letter, self.steer.place(), target) {
            ('p', Place::Queue(name), _) => self.pause_or_resume(name),
            ('d', Place::Worker(id), _) => self.drain_or_resume(id),
            ('p', _, Some((List::Queues, name))) => self.pause_or_resume(&name),
            ('d', _, Some((List::Workers, id))) => self.drain_or_resume(&id),
            ('r', _, Some((List::Failures | List::Tasks, id))) => Some(Change::Resubmit(id)),
            ('c', _, Some((List::Tasks, id))) => Some(Change::Cancel(id)),
            _ => None,
        }
    }

    fn pause_or_resume(&self, name: &str) -> Option<Change> {
        let queue = self.now.as_ref()?.queues.iter().find(|queue| queue.name.as_str() == name)?;
        Some(if queue.paused { Change::ResumeQueue(name.to_owned()) } else { Change::PauseQueue(name.to_owned()) })
    }

    fn drain_or_resume(&self, id: &str) -> Option<Change> {
        let worker = self.now.as_ref()?.workers.iter().find(|worker| worker.id.as_str() == id)?;
        let drains = worker.draining_since.is_some();
        Some(if drains { Change::ResumeWorker(id.to_owned()) } else { Change::DrainWorker(id.to_owned()) })
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

    fn state() -> State {
        let mut state = State::new("http://m");
        let mut now = look(Instant::now(), vec![queue("mail", 9, 1, Some(9.0)), queue("bulk", 9, 2, None)]);
        now.workers.push(worker());
        now.failures = vec![failed("no"), TaskView { id: "order/8".parse().unwrap(), ..failed("no") }];
        state.look(now);
        state
    }

    fn press(state: &mut State, keys: &str) -> Option<Command> {
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

    fn asked(state: &mut State, keys: &str) -> Option<Change> {
        press(state, keys);
        state.steer.asked.clone()
    }

    #[test]
    fn the_selection_moves_within_a_list_and_keeps_to_its_row() {
        let mut state = state();
        assert_eq!(state.selection(List::Queues), Some(0));
        assert_eq!((press(&mut state, "↓↓"), state.selection(List::Queues)), (None, Some(1)));
        assert_eq!(state.selection(List::Workers), None, "the keys move through one list");
        press(&mut state, "s");
        assert_eq!(state.rows(List::Queues), ["bulk", "mail"]);
        assert_eq!(state.selection(List::Queues), Some(0), "bulk is still selected");
        press(&mut state, "⇥⇥↓");
        assert_eq!(state.selection(List::Failures), Some(1));
        state.look(look(Instant::now(), Vec::new()));
        assert_eq!((state.selection(List::Failures), press(&mut state, "↓⏎")), (None, None), "nothing is left");
    }

    #[test]
    fn a_place_is_opened_and_left_by_the_same_way() {
        let mut state = state();
        assert_eq!(press(&mut state, "⏎"), Some(Command::Look));
        assert_eq!(state.steer.place(), &Place::Queue("mail".to_owned()));
        if let Some(now) = &mut state.now {
            now.inside = Some(Inside::Tasks(vec![failed("no")], false));
        }
        assert_eq!(press(&mut state, "⏎"), Some(Command::Look));
        assert_eq!(state.steer.place(), &Place::Task("order/7".to_owned()));
        assert_eq!(press(&mut state, "⎋"), Some(Command::Look));
        assert_eq!(press(&mut state, "⎋"), Some(Command::Look));
        assert_eq!(state.steer.place(), &Place::Overview);
        assert_eq!(press(&mut state, "⎋"), Some(Command::Leave));
        assert_eq!(press(&mut state, "⇥⏎"), Some(Command::Look));
        assert_eq!(state.steer.place(), &Place::Worker("w-1".to_owned()));
    }

    #[test]
    fn a_filter_is_typed_and_cleared() {
        let mut state = state();
        press(&mut state, "/bq");
        assert_eq!((state.steer.filter.as_str(), state.rows(List::Queues).len()), ("bq", 0), "q is a letter here");
        state.press(Key::Backspace);
        press(&mut state, "⏎");
        assert_eq!((state.rows(List::Queues), state.steer.is_typing), (vec!["bulk"], false));
        assert_eq!(press(&mut state, "⎋"), None, "the filter ends first");
        assert_eq!(state.rows(List::Queues).len(), 2);
        assert_eq!((press(&mut state, "/x⎋"), state.steer.filter.as_str()), (None, ""));
    }

    #[test]
    fn a_change_is_made_only_once_it_is_confirmed() {
        let mut state = state();
        let pause = Change::PauseQueue("mail".to_owned());
        assert_eq!(asked(&mut state, "p"), Some(pause.clone()));
        assert_eq!((press(&mut state, "n"), state.steer.asked.clone()), (None, None));
        assert_eq!(press(&mut state, "py"), Some(Command::Make(pause)));
        assert_eq!(asked(&mut state, "r"), None, "a queue is not sent again");
        assert_eq!(asked(&mut state, "⇥d"), Some(Change::DrainWorker("w-1".to_owned())));
        assert_eq!(asked(&mut state, "n⇥r"), Some(Change::Resubmit("order/7".to_owned())));
        assert_eq!(press(&mut state, "n⏎"), Some(Command::Look));
        assert_eq!(asked(&mut state, "c"), Some(Change::Cancel("order/7".to_owned())));
        assert_eq!(state.press(Key::Interrupt), Some(Command::Leave), "whatever is asked");
    }
}
