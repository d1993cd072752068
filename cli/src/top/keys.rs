//! The user's keys, read on a thread of their own because reading a terminal blocks.

use std::{thread, time::Duration};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

/// How soon the thread notices that its receiver is gone.
const GLANCE: Duration = Duration::from_millis(200);

/// A key, or another event of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// Ctrl-C, which leaves whatever is on the screen.
    Interrupt,
    Char(char),
    Up,
    Down,
    Tab,
    Enter,
    Escape,
    Backspace,
    /// The terminal has another size.
    Resized,
}

/// The keys as they come.
#[derive(Debug)]
pub(crate) struct Keys {
    keys: mpsc::UnboundedReceiver<Key>,
    waiting: Option<Key>,
}

impl Keys {
    /// Follows the terminal until this is dropped.
    pub(crate) fn follow() -> Self {
        let (send, keys) = mpsc::unbounded_channel();
        thread::spawn(move || {
            while !send.is_closed() {
                match event::poll(GLANCE).and_then(|typed| if typed { event::read().map(Some) } else { Ok(None) }) {
                    Ok(typed) => {
                        if typed.as_ref().and_then(key).is_some_and(|key| send.send(key).is_err()) {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
        });
        Self { keys, waiting: None }
    }

    /// The next key; none when the terminal has gone.
    pub(crate) async fn next(&mut self) -> Option<Key> {
        match self.waiting.take() {
            Some(key) => Some(key),
            None => self.keys.recv().await,
        }
    }

    /// Waits until there is one, and leaves it for [`Keys::next`]. Never, when the terminal has gone.
    pub(crate) async fn ready(&mut self) {
        if self.waiting.is_none() {
            self.waiting = self.keys.recv().await;
        }
        if self.waiting.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

fn key(event: &Event) -> Option<Key> {
    match event {
        Event::Resize(..) => Some(Key::Resized),
        Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) => match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
            KeyCode::Char(_) if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => None,
            KeyCode::Char(char) => Some(Key::Char(*char)),
            KeyCode::Up => Some(Key::Up),
            KeyCode::Down => Some(Key::Down),
            KeyCode::Tab => Some(Key::Tab),
            KeyCode::Enter => Some(Key::Enter),
            KeyCode::Esc => Some(Key::Escape),
            KeyCode::Backspace => Some(Key::Backspace),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_was_pressed() {
        let press = |code, modifiers| key(&Event::Key(KeyEvent::new(code, modifiers)));
        for (code, modifiers, expected) in [
            (KeyCode::Char('q'), KeyModifiers::NONE, Some(Key::Char('q'))),
            (KeyCode::Char('Q'), KeyModifiers::SHIFT, Some(Key::Char('Q'))),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Key::Interrupt)),
            (KeyCode::Char('c'), KeyModifiers::NONE, Some(Key::Char('c'))),
            (KeyCode::Char('x'), KeyModifiers::ALT, None),
            (KeyCode::Esc, KeyModifiers::NONE, Some(Key::Escape)),
            (KeyCode::F(1), KeyModifiers::NONE, None),
        ] {
            assert_eq!(press(code, modifiers), expected, "{code:?}");
        }
        assert_eq!(key(&Event::Resize(80, 24)), Some(Key::Resized));
    }
}
