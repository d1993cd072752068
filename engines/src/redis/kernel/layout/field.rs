//! Fields of strings: how each is written, how wide it is, and where it is.

use std::ops::Range;

/// How a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One letter of a group of [`super::codes::CODES`], or a digit.
    Letter,
    /// Decimal digits, padded with zeros.
    Digits,
    /// A time in microseconds, 16 digits; zeros: none.
    Time,
    /// A time in microseconds, 7 bytes with the highest first; zeros: none.
    Stamp,
    /// A number, in bytes with the highest first.
    Number,
    /// Bytes as they are.
    Bytes,
}

/// A field of a string.
#[derive(Debug)]
pub(crate) struct LayoutField {
    pub(super) name: &'static str,
    pub(super) width: usize,
    pub(super) kind: Kind,
    #[cfg_attr(not(test), expect(dead_code, reason = "read where the documentation is written"))]
    pub(super) meaning: &'static str,
}

pub(super) const fn letter(name: &'static str, meaning: &'static str) -> LayoutField {
    LayoutField { name, width: 1, kind: Kind::Letter, meaning }
}

pub(super) const fn stamp(name: &'static str, meaning: &'static str) -> LayoutField {
    LayoutField { name, width: STAMP_BYTES, kind: Kind::Stamp, meaning }
}

pub(super) const fn time(name: &'static str, meaning: &'static str) -> LayoutField {
    LayoutField { name, width: 16, kind: Kind::Time, meaning }
}

pub(super) const fn digits(name: &'static str, width: usize, meaning: &'static str) -> LayoutField {
    LayoutField { name, width, kind: Kind::Digits, meaning }
}

pub(super) const fn revision(name: &'static str, meaning: &'static str) -> LayoutField {
    digits(name, REVISION_DIGITS, meaning)
}

pub(super) const fn number(name: &'static str, width: usize, meaning: &'static str) -> LayoutField {
    LayoutField { name, width, kind: Kind::Number, meaning }
}

pub(super) const fn bytes(name: &'static str, width: usize, meaning: &'static str) -> LayoutField {
    LayoutField { name, width, kind: Kind::Bytes, meaning }
}

/// The width of a [`Kind::Stamp`].
pub(crate) const STAMP_BYTES: usize = 7;
/// The width of revisions, fences and positions.
pub(crate) const REVISION_DIGITS: usize = 15;
/// The width of times of boards, and of their owners.
pub(super) const BOARD_TIME_DIGITS: usize = 20;
/// The width of revisions of boards.
pub(super) const BOARD_REVISION_DIGITS: usize = 16;

/// A string: its fields in order, from its first byte, and the rest that follows them.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(super) name: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "read where the documentation is written"))]
    pub(super) what: &'static str,
    pub(super) fields: &'static [LayoutField],
    /// Whether `core` follows.
    pub(super) has_core: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "read where the documentation is written"))]
    pub(super) rest: &'static str,
}

impl Layout {
    /// The range of a field; for constants.
    ///
    /// # Panics
    /// If the field does not exist: then the program does not build.
    pub(crate) const fn range(&self, name: &str) -> Range<usize> {
        let (mut place, mut start) = (0, 0);
        while place < self.fields.len() {
            let field = &self.fields[place];
            if is_same(field.name, name) {
                return start..start + field.width;
            }
            start += field.width;
            place += 1;
        }
        panic!("no such field")
    }

    /// The position of a field of one byte.
    pub(crate) const fn place(&self, name: &str) -> usize {
        self.range(name).start
    }

    /// The total length of the fields.
    pub(crate) const fn len(&self) -> usize {
        let (mut place, mut length) = (0, 0);
        while place < self.fields.len() {
            length += self.fields[place].width;
            place += 1;
        }
        length
    }
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut place = 0;
    while place < a.len() {
        if a[place] != b[place] {
            return false;
        }
        place += 1;
    }
    true
}
