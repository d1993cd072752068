//! Columns of a picture that may be too narrow for all of them: some give way as a whole, so that the others can be read.

use ratatui::{
    layout::Constraint,
    style::Style,
    text::Line,
    widgets::{Cell, Row, Table},
};

/// Between two columns.
const SPACING: u16 = 2;

/// One column.
pub(super) struct Column {
    heading: &'static str,
    /// Narrower than this it is no use.
    least: u16,
    /// Its share of the room that is left; 0: it is never wider.
    share: u16,
    is_number: bool,
    /// The highest leaves first; 0: it stays.
    gives_way: u8,
}

impl Column {
    /// One that stays, whatever the width.
    pub(super) const fn new(heading: &'static str, least: u16) -> Self {
        Self { heading, least, share: 0, is_number: false, gives_way: 0 }
    }

    /// One of numbers, which stand to the right.
    pub(super) const fn number(heading: &'static str, least: u16) -> Self {
        Self { is_number: true, ..Self::new(heading, least) }
    }

    /// Takes this share of the room that is left.
    pub(super) const fn growing(mut self, share: u16) -> Self {
        self.share = share;
        self
    }

    /// Is hidden if not all columns fit; the highest `turn` first.
    pub(super) const fn giving_way(mut self, turn: u8) -> Self {
        self.gives_way = turn;
        self
    }

    fn heading(&self) -> Cell<'static> {
        if self.is_number { right(self.heading) } else { Cell::from(self.heading) }
    }
}

/// A right-aligned cell.
pub(super) fn right(text: impl Into<String>) -> Cell<'static> {
    Cell::from(Line::from(text.into()).right_aligned())
}

/// A table of the columns for which there is room in `width`. Each row has a cell for every column; one with fewer is a
/// remark.
pub(super) fn table(columns: &[Column], rows: Vec<Vec<Cell<'static>>>, width: u16) -> Table<'static> {
    let kept = kept(columns, width);
    let constraint = |&index: &usize| match &columns[index] {
        Column { share: 0, least, .. } => Constraint::Length(*least),
        Column { share, .. } => Constraint::Fill(*share),
    };
    let pick = |cells: Vec<Cell<'static>>| {
        let cells = cells.into_iter().enumerate().filter(|(index, _)| kept.contains(index));
        Row::new(cells.map(|(_, cell)| cell))
    };
    let headings = Row::new(kept.iter().map(|&index| columns[index].heading())).style(Style::new().bold());
    let widths: Vec<Constraint> = kept.iter().map(constraint).collect();
    Table::new(rows.into_iter().map(pick), widths).header(headings).column_spacing(SPACING)
}

/// The columns for which there is room.
fn kept(columns: &[Column], width: u16) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let needed = |kept: &[usize]| {
        let least: u16 = kept.iter().map(|&index| columns[index].least).sum();
        least + SPACING * u16::try_from(kept.len().saturating_sub(1)).unwrap_or(0)
    };
    while needed(&kept) > width {
        let next = kept.iter().copied().max_by_key(|&index| columns[index].gives_way);
        match next.filter(|&index| columns[index].gives_way > 0) {
            Some(next) => kept.retain(|&index| index != next),
            None => break,
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_leave_in_their_turn_and_some_never() {
        let columns = [
            Column::new("NAME", 10).growing(1),
            Column::number("A", 5).giving_way(1),
            Column::number("B", 5).giving_way(2),
            Column::new("STATE", 5),
        ];
        assert_eq!(kept(&columns, 31), [0, 1, 2, 3]);
        assert_eq!(kept(&columns, 30), [0, 1, 3]);
        assert_eq!(kept(&columns, 23), [0, 3]);
        assert_eq!(kept(&columns, 1), [0, 3]);
    }
}
