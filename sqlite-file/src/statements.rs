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

/// The statement of `name`, in either case, with its comments and its last line break.
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
            return statement;
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
        assert_eq!(find_statement(FILE, "FIND"), "-- find: one\n-- ?1 key\nSELECT 1\n");
        assert_eq!(find_statement(FILE, "FIND_ALL"), "-- find_all: all\nSELECT 2\n");
    }

    #[test]
    #[should_panic(expected = "no statement of this name")]
    fn a_name_without_a_statement_is_refused() {
        let _ = find_statement(FILE, "FIND_A");
    }

    #[test]
    fn the_statements_of_a_file_are_counted() {
        assert_eq!([count_statements(""), count_statements(FILE)], [0, 2]);
    }
}
