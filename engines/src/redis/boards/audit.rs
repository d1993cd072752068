//! The pieces of an audit of boards, and their order: first the tasks of a board by their records, then what refers to them.

use jobbers_common::{engine::Result, name::BoardName};

use super::read;
use crate::redis::{read::awaiting::hex, server::store::Store};

/// What is looked over by one call of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoardPiece {
    board: BoardName,
    part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Tasks,
    Group(String),
    Labels,
    Names,
    Changes,
}

impl BoardPiece {
    /// The first piece of the first board.
    pub(crate) async fn first(store: &Store) -> Result<Option<Self>> {
        Self::first_after(store, None).await
    }

    async fn first_after(store: &Store, board: Option<&BoardName>) -> Result<Option<Self>> {
        let next = read::boards(store, board, 1).await?.pop();
        Ok(next.map(|next| Self { board: next.board, part: Part::Tasks }))
    }

    /// What comes after it, as of now.
    pub(crate) async fn next(self, store: &Store) -> Result<Option<Self>> {
        let part = match self.part {
            Part::Tasks => self.group_after(store, None).await?,
            Part::Group(ref group) => self.group_after(store, Some(group)).await?,
            Part::Labels => Part::Names,
            Part::Names => Part::Changes,
            Part::Changes => return Self::first_after(store, Some(&self.board)).await,
        };
        Ok(Some(Self { part, ..self }))
    }

    async fn group_after(&self, store: &Store, group: Option<&str>) -> Result<Part> {
        let next = read::groups(store, &self.board, group, 1).await?.pop();
        Ok(next.map_or(Part::Labels, |next| Part::Group(next.group)))
    }

    /// As the script knows it: what, and of which board or group.
    pub(crate) fn words(&self) -> (&'static str, String) {
        let board = self.board.to_string();
        match &self.part {
            Part::Tasks => ("board_tasks", board),
            Part::Group(group) => ("board_group", format!("{board}/{}", hex(group))),
            Part::Labels => ("board_labels", board),
            Part::Names => ("board_names", board),
            Part::Changes => ("board_changes", board),
        }
    }

    /// Reads what [`BoardPiece::words`] wrote.
    pub(crate) fn read(what: &str, of: &str) -> Option<Self> {
        let (of, part) = match what {
            "board_tasks" => (of, Part::Tasks),
            "board_group" => {
                let (board, digits) = of.rsplit_once('/')?;
                (board, Part::Group(text_of_hex(digits)?))
            }
            "board_labels" => (of, Part::Labels),
            "board_names" => (of, Part::Names),
            "board_changes" => (of, Part::Changes),
            _ => return None,
        };
        Some(Self { board: BoardName::new(of).ok()?, part })
    }
}

/// Reads hexadecimal digits of a text.
fn text_of_hex(digits: &str) -> Option<String> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let bytes = pairs.collect::<Option<Vec<u8>>>().filter(|_| digits.len().is_multiple_of(2))?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_read_as_it_was_written() {
        let board = BoardName::new("b/1").unwrap();
        let groups = ["", "a|b/c", "\u{e9}\0"].map(|group| Part::Group(group.to_owned()));
        for part in [Part::Tasks, Part::Labels, Part::Names, Part::Changes].into_iter().chain(groups) {
            let piece = BoardPiece { board: board.clone(), part };
            let (what, of) = piece.words();
            assert!(!of.contains('|'), "a cursor is read up to the next |: {of}");
            assert_eq!(BoardPiece::read(what, &of), Some(piece));
        }
        for (what, of) in [
            ("board_group", "b"),
            ("board_group", "b/4"),
            ("board_group", "b/ff"),
            ("board_tasks", "b|"),
            ("boards", "b"),
        ] {
            assert_eq!(BoardPiece::read(what, of), None, "{what} {of}");
        }
    }
}
