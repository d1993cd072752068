//! Tables with one line a row, however narrow the terminal: some columns give way as a whole, others are cut.
//!
//! In a pipe nothing gives way and nothing is cut.

use jobbers_process::printable;

use crate::terminal::output::{Cell, Table, width_of};

/// Between two columns.
const SPACING: usize = 2;
/// At the end of what was cut.
const ELLIPSIS: char = '…';

/// One column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    /// It may be cut to this width; `None`: it is shown whole.
    least: Option<usize>,
    is_number: bool,
    /// The highest leaves first; 0: it stays.
    gives_way: u8,
}

impl Column {
    /// One that is shown whole.
    pub(crate) const fn whole(heading: &'static str) -> Self {
        Self { heading, least: None, is_number: false, gives_way: 0 }
    }

    /// One that may be cut to this width.
    pub(crate) const fn cut_to(heading: &'static str, least: usize) -> Self {
        Self { least: Some(least), ..Self::whole(heading) }
    }

    /// One of numbers, which are aligned to the right.
    pub(crate) const fn number(heading: &'static str) -> Self {
        Self { is_number: true, ..Self::whole(heading) }
    }

    /// Is hidden if not all columns fit; the highest `turn` first.
    pub(crate) const fn giving_way(self, turn: u8) -> Self {
        Self { gives_way: turn, ..self }
    }
}

/// A table of rows with a cell for each column, for the terminal that standard output is.
pub(crate) fn table(columns: &[Column], rows: Vec<Vec<Cell>>) -> Table {
    let on_one_line = |cell: Cell| match cell.content() {
        content if content.contains(['\n', '\t']) => cell.with_content(one_line(&content)),
        _ => cell,
    };
    let rows = rows.into_iter().map(|row| row.into_iter().map(on_one_line).collect()).collect();
    within(columns, rows, Table::width())
}

fn within(columns: &[Column], rows: Vec<Vec<Cell>>, width: Option<usize>) -> Table {
    let natural: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| width_of(&cell.content()));
            cells.max().unwrap_or(0).max(column.heading.len())
        })
        .collect();
    let widths = match width {
        Some(width) => shares(columns, &natural, width),
        None => natural.iter().copied().map(Some).collect(),
    };
    let kept = |cells: Vec<Cell>| {
        let cells = cells.into_iter().zip(columns).zip(&widths);
        cells.filter_map(|((cell, column), width)| width.map(|width| fitted(cell, *column, width))).collect::<Vec<_>>()
    };
    let headings: Vec<&str> =
        columns.iter().zip(&widths).filter(|(_, width)| width.is_some()).map(|(column, _)| column.heading).collect();
    let mut table = Table::new(&headings).never_bending();
    rows.into_iter().map(kept).for_each(|row| table.add_row(row));
    table
}

/// How wide each column is; `None`: it gives way.
fn shares(columns: &[Column], natural: &[usize], width: usize) -> Vec<Option<usize>> {
    let least = |at: usize| columns[at].least.map_or(natural[at], |least| least.min(natural[at]));
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let needed =
        |kept: &[usize]| kept.iter().map(|&at| least(at)).sum::<usize>() + SPACING * kept.len().saturating_sub(1);
    while needed(&kept) > width {
        let next = kept.iter().copied().max_by_key(|&at| columns[at].gives_way);
        match next.filter(|&at| columns[at].gives_way > 0) {
            Some(next) => kept.retain(|&at| at != next),
            None => break,
        }
    }
    let mut widths = vec![None; columns.len()];
    kept.iter().for_each(|&at| widths[at] = Some(least(at)));
    let mut left = width.saturating_sub(needed(&kept));
    // What is cut takes turns to grow.
    while left > 0 {
        let mut has_grown = false;
        for &at in &kept {
            if let Some(width) = widths[at].as_mut().filter(|width| **width < natural[at] && left > 0) {
                *width += 1;
                left -= 1;
                has_grown = true;
            }
        }
        if !has_grown {
            break;
        }
    }
    widths
}

fn fitted(cell: Cell, column: Column, width: usize) -> Cell {
    let content = cell.content();
    let cell = if width_of(&content) > width { cell.with_content(cut(&content, width)) } else { cell };
    if column.is_number { cell.right_aligned() } else { cell }
}

/// As much of a text as has room.
fn cut(text: &str, width: usize) -> String {
    let mut kept: String = text.chars().take(width.saturating_sub(1)).collect();
    while width_of(&kept) >= width.max(1) {
        kept.pop();
    }
    kept.push(ELLIPSIS);
    kept
}

/// A text on one line: line breaks and tabs become spaces.
pub(crate) fn one_line(text: &str) -> String {
    printable::printable(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column::whole("ID"),
        Column::cut_to("TASK", 6),
        Column::whole("QUEUE").giving_way(1),
        Column::cut_to("ERROR", 10),
    ];

    fn shown(width: Option<usize>) -> String {
        let error = "error: no such host ä東京 and a long story after it";
        let row = ["01KAMK2VQ9", "text.wordcount", "default", error];
        within(&COLUMNS, vec![row.iter().map(Cell::new).collect()], width).text()
    }

    #[test]
    fn each_row_is_a_line_that_fits() {
        for width in [30, 40, 60, 80, 200] {
            let text = shown(Some(width));
            assert_eq!(text.lines().count(), 2, "{text}");
            // The heading is styled.
            assert!(text.lines().skip(1).all(|line| width_of(line) <= width), "{width}: {text}");
            assert!(text.contains("01KAMK2VQ9"), "an id stays whole: {text}");
        }
        assert!(!shown(Some(30)).contains("QUEUE") && shown(Some(60)).contains("QUEUE"));
        assert!(shown(Some(60)).contains('…') && !shown(Some(200)).contains('…'));
    }

    #[test]
    fn in_a_pipe_nothing_is_cut() {
        assert!(shown(None).contains("a long story after it"), "{}", shown(None));
    }

    #[test]
    fn a_text_is_on_one_line() {
        assert_eq!(one_line("a\nb\tc\x1b[2J"), r"a b c\u{1b}[2J");
    }
}
