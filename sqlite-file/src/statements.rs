//! Files of named statements: each begins with its comment `-- name: purpose`, and an empty line divides two.

/// Declares a constant for each statement of some files, and `$all`, the names and texts of all of them, for tests.
///
/// A name without a statement, or a statement without a name here, does not compile.
#[macro_export]
macro_rules! statements {
    ($visibility:vis in $folder:literal, listed in $all:ident: $($file:ident { $($name:ident),+ $(,)? })*) => {
        $(
            mod $file {
                pub(super) const TEXT: &str = include_str!(concat!($folder, "/", stringify!($file), ".sql"));
            }
            const _: () = assert!(
                $crate::count_statements($file::TEXT) == [$(stringify!($name)),+].len(),
                concat!(stringify!($file), ".sql has a statement that nothing names, or one twice"),
            );
            $($visibility const $name: &str = $crate::find_statement($file::TEXT, stringify!($name));)+
        )*

        #[cfg(test)]
        const $all: &[(&str, &str)] = &[$($((stringify!($name), $name)),+),*];
    };
}

/// The statement of `name`, in either case, without the comments before it: the cache of prepared statements reads the whole
/// text at each use.
///
/// # Panics
///
/// If `file` has no such statement; in a constant, that is an error of the compiler.
#[must_use]
pub const fn find_statement(file: &'static str, name: &str) -> &'static str {
    let mut rest = file;
    while !rest.is_empty() {
        let (statement, others) = split_first(rest);
        if has_name(statement, name) {
            return skip_comments(statement);
        }
        rest = others;
    }
    panic!("the file has no statement of this name")
}

/// How many statements a file has.
#[must_use]
pub const fn count_statements(file: &str) -> usize {
    let (mut rest, mut count) = (file, 0);
    while !rest.is_empty() {
        (_, rest) = split_first(rest);
        count += 1;
    }
    count
}

/// The places of columns among those that a statement returns, by their names.
///
/// # Panics
///
/// If one is missing; in a constant, that is an error of the compiler.
#[must_use]
pub const fn columns<const N: usize>(statement: &str, names: [&str; N]) -> [usize; N] {
    let (mut places, mut at) = ([0; N], 0);
    while at < N {
        places[at] = column(statement, names[at]);
        at += 1;
    }
    places
}

/// The place of a column among those that a statement returns, by its name: the last word of its expression, as behind `AS`
/// or the table's name.
///
/// # Panics
///
/// If there is none; in a constant, that is an error of the compiler.
#[must_use]
pub const fn column(statement: &str, name: &str) -> usize {
    let text = statement.as_bytes();
    // A word counts outside parentheses, comments and texts.
    let (mut at, mut depth, mut place, mut is_listed) = (0, 0_usize, 0, false);
    let mut last = (0, 0);
    while at < text.len() {
        let end = match text[at] {
            b'-' if at + 1 < text.len() && text[at + 1] == b'-' => end_of(text, at, b'\n'),
            b'\'' => end_of(text, at + 1, b'\''),
            letter if is_in_word(letter) => end_of_word(text, at),
            _ => at + 1,
        };
        match text[at] {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 && is_listed => {
                if is_word(text, last, name) {
                    return place;
                }
                place += 1;
            }
            letter if depth == 0 && is_in_word(letter) => {
                if is_listed && is_word(text, (at, end), "FROM") {
                    break;
                }
                is_listed |= is_word(text, (at, end), "SELECT") || is_word(text, (at, end), "RETURNING");
                last = (at, end);
            }
            _ => {}
        }
        at = end;
    }
    assert!(is_word(text, last, name), "the statement returns no column of this name");
    place
}

const fn is_in_word(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_'
}

const fn end_of_word(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && is_in_word(text[at]) {
        at += 1;
    }
    at
}

/// The place after the next `last`.
const fn end_of(text: &[u8], mut at: usize, last: u8) -> usize {
    while at < text.len() && text[at] != last {
        at += 1;
    }
    at + 1
}

const fn is_word(text: &[u8], (start, end): (usize, usize), word: &str) -> bool {
    let word = word.as_bytes();
    if end - start != word.len() {
        return false;
    }
    let mut at = 0;
    while at < word.len() {
        if text[start + at] != word[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The first statement, and what follows its empty line.
const fn split_first(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at - 1] == b'\n' && bytes[at] == b'\n' {
            return (text.split_at(at).0, text.split_at(at + 1).1);
        }
        at += 1;
    }
    (text, "")
}

const fn skip_comments(statement: &str) -> &str {
    let text = statement.as_bytes();
    let mut at = 0;
    while at + 1 < text.len() && text[at] == b'-' && text[at + 1] == b'-' {
        at = end_of(text, at, b'\n');
    }
    statement.split_at(at).1
}

const fn has_name(statement: &str, name: &str) -> bool {
    let (statement, name) = (statement.as_bytes(), name.as_bytes());
    let end = 3 + name.len();
    if statement.len() <= end || statement[0] != b'-' || statement[1] != b'-' || statement[end] != b':' {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        if !statement[3 + at].eq_ignore_ascii_case(&name[at]) {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- find: one\n-- ?1 key\nSELECT 1\n\n-- find_all: all\nSELECT 2\n";

    #[test]
    fn a_statement_is_found_by_its_whole_name() {
        assert_eq!(find_statement(FILE, "FIND"), "SELECT 1\n");
        assert_eq!(find_statement(FILE, "FIND_ALL"), "SELECT 2\n");
    }

    #[test]
    #[should_panic(expected = "no statement of this name")]
    fn a_name_without_a_statement_is_refused() {
        let _ = find_statement(FILE, "FIND_A");
    }

    #[test]
    fn a_column_is_found_by_its_name() {
        let select = "-- find: SELECT one, two FROM it\nSELECT t.one, coalesce(t.two, u.other) AS two, (SELECT 1, 2 FROM v) + 1 AS\n three, \
                      ', FROM' AS four, t.five\nFROM t JOIN u ON six = seven";
        assert_eq!(columns(select, ["five", "one", "two", "three", "four"]), [4, 0, 1, 2, 3]);
        assert_eq!(column("UPDATE t SET one = 2, two = 3 RETURNING key, two", "two"), 1);
    }

    #[test]
    #[should_panic(expected = "no column of this name")]
    fn a_column_that_a_statement_does_not_return_is_refused() {
        let _ = column("SELECT one, two FROM t WHERE three = 1", "three");
    }

    #[test]
    fn the_statements_of_a_file_are_counted() {
        assert_eq!([count_statements(""), count_statements(FILE)], [0, 2]);
    }
}
