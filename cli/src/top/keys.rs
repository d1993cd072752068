//! The user's keys, read on a thread of their own because reading a terminal blocks.

use std::{thread, time::Duration};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

/// How soon the thread notices that its receiver is gone.
const GLANCE: Duration = Duration::from_millis(200);

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Leave,
    Hold,
    Sort,
    /// The terminal has another size.
    Redraw,
}

/// The keys as they come.
#[derive(Debug)]
pub(crate) struct Keys {
    actions: mpsc::UnboundedReceiver<Action>,
    waiting: Option<Action>,
}

impl Keys {
    /// Follows the terminal until this is dropped.
    pub(crate) fn follow() -> Self {
        let (send, actions) = mpsc::unbounded_channel();
        thread::spawn(move || {
            while !send.is_closed() {
                match event::poll(GLANCE).and_then(|typed| if typed { event::read().map(Some) } else { Ok(None) }) {
                    Ok(typed) => {
                        if typed.as_ref().and_then(action).is_some_and(|action| send.send(action).is_err()) {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
        });
        Self { actions, waiting: None }
    }

    /// The next action; none when the terminal has gone.
    pub(crate) async fn next(&mut self) -> Option<Action> {
        match self.waiting.take() {
            Some(action) => Some(action),
            None => self.actions.recv().await,
        }
    }

    /// Waits until there is one, and leaves it for [`Keys::next`]. Never, when the terminal has gone.
    pub(crate) async fn ready(&mut self) {
        if self.waiting.is_none() {
            self.waiting = self.actions.recv().await;
        }
        if self.waiting.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

fn action(event: &Event) -> Option<Action> {
    match event {
        Event::Resize(..) => Some(Action::Redraw),
        Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) => match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Action::Leave),
            KeyCode::Char('q') | KeyCode::Esc => Some(Action::Leave),
            KeyCode::Char(' ') => Some(Action::Hold),
            KeyCode::Char('s') => Some(Action::Sort),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_help_says() {
        let press = |code, modifiers| action(&Event::Key(KeyEvent::new(code, modifiers)));
        for (code, modifiers, expected) in [
            (KeyCode::Char('q'), KeyModifiers::NONE, Some(Action::Leave)),
            (KeyCode::Esc, KeyModifiers::NONE, Some(Action::Leave)),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Action::Leave)),
            (KeyCode::Char('c'), KeyModifiers::NONE, None),
            (KeyCode::Char(' '), KeyModifiers::NONE, Some(Action::Hold)),
            (KeyCode::Char('s'), KeyModifiers::NONE, Some(Action::Sort)),
        ] {
            assert_eq!(press(code, modifiers), expected, "{code:?}");
        }
        assert_eq!(action(&Event::Resize(80, 24)), Some(Action::Redraw));
    }
}
