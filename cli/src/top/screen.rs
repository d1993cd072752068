//! The terminal while it belongs to us; it is given back however this ends.

use ratatui::DefaultTerminal;

use super::{state::TopState, view};
use crate::failure::Failure;

/// The terminal in raw mode, on its second page.
#[derive(Debug)]
pub(crate) struct RawTerminal(DefaultTerminal);

impl RawTerminal {
    /// Takes the terminal. A panic gives it back before it is reported.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn open() -> Result<Self, Failure> {
        ratatui::try_init()
            .map(Self)
            .map_err(|error| Failure::Unavailable(format!("can't draw on the terminal: {error}")))
    }

    /// Draws a picture.
    ///
    /// # Errors
    /// When the terminal has gone.
    pub(crate) fn draw(&mut self, state: &TopState) -> Result<(), Failure> {
        let drawn = self.0.draw(|frame| view::draw(state, frame));
        drawn.map(|_| ()).map_err(|error| Failure::output(&error))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
