//! The pieces of an audit of boards, and their order: first the tasks of a board by their records, then what refers to them.

use jobbers_common::{engine::Result, name::BoardName};

use super::read;
use crate::redis::{read::awaiting::hex, server::store::Store};

/// What is looked over by one call of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoardAuditPiece {
    board: BoardName,
    part: AuditPart,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AuditPart {
    Tasks,
    Group(String),
    Labels,
    Names,
    Changes,
}

impl BoardAuditPiece {
    /// The first piece of the first board.
    pub(crate) async fn first(store: &Store) -> Result<Option<Self>> {
        Self::first_after(store, None).await
    }

    async fn first_after(store: &Store, board: Option<&BoardName>) -> Result<Option<Self>> {
        let next = read::boards(store, board, 1).await?.pop();
        Ok(next.map(|next| Self { board: next.board, part: AuditPart::Tasks }))
    }

    /// What comes after it, as of now.
    pub(crate) async fn next(self, store: &Store) -> Result<Option<Self>> {
        let part = match self.part {
            AuditPart::Tasks => self.group_after(store, None).await?,
            AuditPart::Group(ref group) => self.group_after(store, Some(group)).await?,
            AuditPart::Labels => AuditPart::Names,
            AuditPart::Names => AuditPart::Changes,
            AuditPart::Changes => return Self::first_after(store, Some(&self.board)).await,
        };
        Ok(Some(Self { part, ..self }))
    }

    async fn group_after(&self, store: &Store, group: Option<&str>) -> Result<AuditPart> {
        let next = read::groups(store, &self.board, group, 1).await?.pop();
        Ok(next.map_or(AuditPart::Labels, |next| AuditPart::Group(next.group)))
    }

    /// As the script knows it: what, and of which board or group.
    pub(crate) fn words(&self) -> (&'static str, String) {
        let board = self.board.to_string();
        match &self.part {
            AuditPart::Tasks => ("board_tasks", board),
            AuditPart::Group(group) => ("board_group", format!("{board}/{}", hex(group))),
            AuditPart::Labels => ("board_labels", board),
            AuditPart::Names => ("board_names", board),
            AuditPart::Changes => ("board_changes", board),
        }
    }

    /// Reads what [`BoardAuditPiece::words`] wrote.
    pub(crate) fn read(what: &str, of: &str) -> Option<Self> {
        let (of, part) = match what {
            "board_tasks" => (of, AuditPart::Tasks),
            "board_group" => {
                let (board, digits) = of.rsplit_once('/')?;
                (board, AuditPart::Group(text_of_hex(digits)?))
            }
            "board_labels" => (of, AuditPart::Labels),
            "board_names" => (of, AuditPart::Names),
            "board_changes" => (of, AuditPart::Changes),
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
        let groups = ["", "a|b/c", "\u{e9}\0"].map(|group| AuditPart::Group(group.to_owned()));
        for part in
            [AuditPart::Tasks, AuditPart::Labels, AuditPart::Names, AuditPart::Changes].into_iter().chain(groups)
        {
            let piece = BoardAuditPiece { board: board.clone(), part };
            let (what, of) = piece.words();
            assert!(!of.contains('|'), "a cursor is read up to the next |: {of}");
            assert_eq!(BoardAuditPiece::read(what, &of), Some(piece));
        }
        for (what, of) in [
            ("board_group", "b"),
            ("board_group", "b/4"),
            ("board_group", "b/ff"),
            ("board_tasks", "b|"),
            ("boards", "b"),
        ] {
            assert_eq!(BoardAuditPiece::read(what, of), None, "{what} {of}");
        }
    }
}
