//! How tasks of boards are written; `layout.rs` has the table.

use std::collections::BTreeMap;

use bytes::Bytes;
use jobbers_common::engine::{
    Error, Result,
    boards::task::{BoardTask, BoardTime, Content},
};

use crate::redis::kernel::{
    layout::{BOARD_PLACE, BOARD_TASK, CONTENT, LABEL},
    reply::digits,
};

/// The last revision that has 16 digits; counters stay far below it.
pub(super) const LAST_REVISION: u64 = 9_999_999_999_999_999;

fn corrupt(what: &str) -> Error {
    Error::Corrupt(format!("the {what} of a board's task can't be read"))
}

/// A whole number as digits in the order of numbers: plus 2^63.
pub(super) fn biased(number: i64) -> String {
    format!("{:020}", number.cast_unsigned() ^ (1 << 63))
}

/// Reads what [`biased`] wrote.
pub(super) fn unbiased(text: &[u8]) -> Result<i64> {
    Ok((digits(text)? ^ (1 << 63)).cast_signed())
}

/// Reads a time.
pub(super) fn time(text: &[u8]) -> Result<BoardTime> {
    unbiased(text).map(BoardTime)
}

/// A revision as digits.
pub(super) fn revision(revision: u64) -> String {
    format!("{revision:016}")
}

/// A task's place in its group. Revisions past any that is given out are written as the last one, so that digits compare.
pub(super) fn place(at: BoardTime, of: u64) -> String {
    biased(at.0) + &revision(of.min(LAST_REVISION))
}

/// Reads a task's place.
pub(super) fn read_place(place: &[u8]) -> Result<(BoardTime, u64)> {
    let field = |range| place.get(range).ok_or_else(|| corrupt("place"));
    let at = time(field(const { BOARD_PLACE.range("at") })?)?;
    Ok((at, digits(field(const { BOARD_PLACE.range("revision") })?)?))
}

/// Labels, one after the other.
pub(super) fn labels(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{:04}{:04}{key}{value}", key.len(), value.len())).collect()
}

/// A task's content.
pub(super) fn content(content: &Content) -> Vec<u8> {
    let Content { data, data_type, labels: of, error } = content;
    let labels = labels(of);
    let head = format!("{:05}{:07}{:08}{data_type}{labels}{error}", data_type.len(), labels.len(), error.len());
    let mut written = head.into_bytes();
    written.extend_from_slice(data);
    written
}

/// Reads a task.
pub(super) fn read_task(revision: u64, record: Vec<u8>) -> Result<BoardTask> {
    let mut rest = Rest(Bytes::from(record));
    let head = rest.take(BOARD_TASK.len())?;
    let length = length(&head[const { BOARD_TASK.range("group_length") }])?;
    let group = rest.text(length, "group")?;
    let at = time(&head[const { BOARD_TASK.range("at") }])?;
    let owner = unbiased(&head[const { BOARD_TASK.range("owner") }])?;
    Ok(BoardTask { revision, group, at, owner, content: read_content(rest)? })
}

fn read_content(mut rest: Rest) -> Result<Content> {
    let head = rest.take(CONTENT.len())?;
    let data_type = rest.text(length(&head[const { CONTENT.range("type_length") }])?, "type")?;
    let mut of_labels = Rest(rest.take(length(&head[const { CONTENT.range("labels_length") }])?)?);
    let mut labels = BTreeMap::new();
    while !of_labels.0.is_empty() {
        let head = of_labels.take(LABEL.len())?;
        let key = of_labels.text(length(&head[const { LABEL.range("key_length") }])?, "label")?;
        let value = of_labels.text(length(&head[const { LABEL.range("value_length") }])?, "label")?;
        labels.insert(key, value);
    }
    let error = rest.text(length(&head[const { CONTENT.range("error_length") }])?, "error")?;
    Ok(Content { data: rest.0, data_type, labels, error })
}

fn length(text: &[u8]) -> Result<usize> {
    usize::try_from(digits(text)?).map_err(|_| corrupt("length"))
}

/// What is left to read of a record.
struct Rest(Bytes);

impl Rest {
    fn take(&mut self, bytes: usize) -> Result<Bytes> {
        if bytes > self.0.len() {
            return Err(corrupt("record"));
        }
        Ok(self.0.split_to(bytes))
    }

    fn text(&mut self, bytes: usize, what: &str) -> Result<String> {
        String::from_utf8(self.take(bytes)?.to_vec()).map_err(|_| corrupt(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_their_digits_have_one_order() {
        let numbers = [i64::MIN, -1_000, -1, 0, 1, 1_750_000_000_123_456_789, i64::MAX];
        let written: Vec<String> = numbers.iter().map(|number| biased(*number)).collect();
        assert!(written.is_sorted() && written.iter().all(|text| text.len() == 20), "{written:?}");
        for (number, text) in numbers.iter().zip(&written) {
            assert_eq!(unbiased(text.as_bytes()), Ok(*number));
        }
    }

    #[test]
    fn a_task_is_read_as_it_was_written() {
        let of = Content {
            data: Bytes::from_static(b"\x00\xff 12"),
            data_type: "text/plain".to_owned(),
            labels: [("a", "1"), ("", "é"), ("long", "")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
            error: "it failed\n".to_owned(),
        };
        for (group, of) in [("", Content::default()), ("gr|oup ü", of)] {
            let mut record = format!("{}{}{:05}{group}", biased(-7), biased(-1), group.len()).into_bytes();
            record.extend(content(&of));
            let task = BoardTask { revision: 9, group: group.to_owned(), at: BoardTime(-7), owner: -1, content: of };
            assert_eq!(read_task(9, record.clone()).unwrap(), task);
            assert!(record.len() > 64, "no hash of tasks is ever a listpack");
            assert!(read_task(9, record[..BOARD_TASK.len() + 3].to_vec()).is_err(), "a record that was cut");
        }
        assert_eq!(read_place(place(BoardTime(i64::MIN), 12).as_bytes()), Ok((BoardTime(i64::MIN), 12)));
    }
}
