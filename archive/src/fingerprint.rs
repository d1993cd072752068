//! What errors with one cause have in common: their words, without the numbers, ids and names that differ each time.

use jobbers_common::{policy::error_kind::ErrorKind, task::AttemptError};

/// The longest fingerprint, in characters.
const MAX_CHARS: usize = 160;

/// An error's message with its variable parts folded: quoted parts become `"…"`, words with a digit in them `#`, runs of
/// blanks one blank. Cut after 160 characters.
///
/// `no user 17 in "eu-west" (0x7fae)` and `no user 230 in "us" (0x11)` are both `no user # in "…" (#)`.
#[must_use]
pub fn of(message: &str) -> String {
    let mut folded = String::with_capacity(message.len().min(MAX_CHARS));
    let mut rest = message.trim();
    while let Some(first) = rest.chars().next() {
        let taken = if let Some(quoted) = quoted(rest, &folded) {
            folded.push_str("\"…\"");
            quoted
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            folded.push_str(if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word });
            end
        } else if first.is_whitespace() {
            folded.push(' ');
            rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())
        } else {
            folded.push(first);
            first.len_utf8()
        };
        rest = &rest[taken..];
        if folded.len() > MAX_CHARS * 4 {
            break;
        }
    }
    folded.chars().take(MAX_CHARS).collect()
}

/// What errors of sensitive tasks have in common: their kind, for their words are hidden.
#[must_use]
pub fn of_sensitive(error: &AttemptError) -> String {
    let kind = error.error_kind.as_ref().map_or(error.kind.as_str(), ErrorKind::as_str);
    format!("(sensitive) {kind}").chars().take(MAX_CHARS).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// The length of the quoted part that begins here, if one does. An apostrophe within a word quotes nothing.
fn quoted(rest: &str, before: &str) -> Option<usize> {
    let open = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`' | '«' | '“'))?;
    if open == '\'' && before.ends_with(char::is_alphanumeric) {
        return None;
    }
    let close = match open {
        '«' => '»',
        '“' => '”',
        same => same,
    };
    let inside = &rest[open.len_utf8()..];
    let end = inside.find(close)?;
    Some(open.len_utf8() + end + close.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn what_differs_each_time_is_folded() {
        for (message, expected) in [
            ("no user 17 in \"eu-west\" (0x7fae)", "no user # in \"…\" (#)"),
            ("no user 230 in \"us\" (0x11)", "no user # in \"…\" (#)"),
            ("01J9Z8K3T2ABCDEF is gone", "# is gone"),
            ("7c9e6679-7425-40de-944b-e07fc1f90ae7: timed out after 2.5s", "#: timed out after #.#"),
            ("can't open `a` or 'b'", "can't open \"…\" or \"…\""),
            ("  two \n\t lines  ", "two lines"),
            ("an open \" quote", "an open \" quote"),
            ("«ü» fehlt", "\"…\" fehlt"),
            ("", ""),
        ] {
            assert_eq!(of(message), expected);
        }
    }

    #[test]
    fn a_fingerprint_is_bounded() {
        assert_eq!(of(&"ä ".repeat(4_000)).chars().count(), 160);
    }
}
