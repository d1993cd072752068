//! Makes text of clients safe to show: what a terminal obeys, and what hides or reorders text, becomes visible.
//!
//! Every text that reaches a terminal or a log passes [`printable`] (or [`json`], for a JSON document) where it is
//! written, not where it arises: the log formatter, the command line's writer and its tables, and the screen of `top`.

use std::{borrow::Cow, fmt::Write as _};

/// Whether a character does something to a terminal or to the text around it in place of being shown.
///
/// Control characters (C0, DEL, C1) move the cursor, change colours, set the clipboard. Bidirectional controls and the
/// separators of lines and paragraphs let text look like another. Spaces without width, invisible operators, tags and the
/// byte order mark are invisible. Joiners are not among them: words of many languages, and emoji, consist of them.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text with each such character but line breaks and tabs written as `\u{1b}`.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unprintable(c) && !matches!(c, '\n' | '\t'), |c, out| write!(out, "{}", c.escape_unicode()))
}

/// The text on one line: line breaks and tabs as `\n` and `\t`, other such characters as `\u{1b}`.
#[must_use]
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unprintable, |c, out| match c {
        '\n' | '\r' | '\t' => write!(out, "{}", c.escape_default()),
        c => write!(out, "{}", c.escape_unicode()),
    })
}

/// A JSON document that means the same, with each such character in its texts written as JSON writes it: `\u001b`. They
/// occur nowhere else but for the white space between values, which stays.
#[must_use]
pub fn json(document: &str) -> Cow<'_, str> {
    escaped(
        document,
        |c| is_unprintable(c) && !matches!(c, '\n' | '\r' | '\t'),
        |c, out| c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}")),
    )
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String) -> std::fmt::Result,
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_escaped) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_escaped(c) {
            // A String takes everything.
            escape(c, &mut out).ok();
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All characters, in the order of their numbers.
    fn all() -> String {
        (0..=u32::from(char::MAX)).filter_map(char::from_u32).collect()
    }

    #[test]
    fn no_control_of_a_terminal_and_none_of_the_direction_of_text_is_left() {
        // The Bidi_Control property of Unicode, and the categories Cc, Zl and Zp.
        let bidi = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        let is_obeyed = |c: char| {
            let n = u32::from(c);
            n < 0x20 || (0x7f..0xa0).contains(&n) || matches!(n, 0x2028 | 0x2029) || bidi.contains(c)
        };
        let (all, shown) = (all(), |text: &str| text.chars().find(|c| is_obeyed(*c)));
        assert_eq!(shown(&on_one_line(&all)), None);
        assert_eq!(shown(&printable(&all).replace(['\n', '\t'], "")), None);
        assert_eq!(shown(&json(&all).replace(['\n', '\r', '\t'], "")), None);
    }

    #[test]
    fn what_is_shown_says_which_character_it_was() {
        let clipboard = "a\u{1b}]52;c;cm0=\u{7}\nb\u{9b}2J \u{202e}txt";
        assert_eq!(on_one_line("pay\u{200b}pal\u{2060}.\u{2063}"), r"pay\u{200b}pal\u{2060}.\u{2063}");
        assert_eq!(on_one_line(clipboard), r"a\u{1b}]52;c;cm0=\u{7}\nb\u{9b}2J \u{202e}txt");
        assert_eq!(printable(clipboard), "a\\u{1b}]52;c;cm0=\\u{7}\nb\\u{9b}2J \\u{202e}txt");
    }

    #[test]
    fn ordinary_text_of_any_language_stays_as_it_is() {
        for text in ["resize", "größer", "東京", "\u{645}\u{6cc}\u{200c}\u{62e}", "👩\u{200d}👩\u{200d}👧", ""]
        {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
            assert!(matches!(on_one_line(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_json_document_means_the_same() {
        let text = serde_json::json!({ "a": all(), "b": [1.50, null], "\u{9b}": "\u{e0041}" });
        for document in [text.to_string(), serde_json::to_string_pretty(&text).unwrap()] {
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json(&document)).unwrap(), text);
        }
    }
}
