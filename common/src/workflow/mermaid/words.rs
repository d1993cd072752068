//! The names of nodes, and the words that Mermaid keeps for itself.
//!
//! Mermaid has no rule for a whole name: its lexer makes pieces, and a name is a row of them. What may begin a piece matters,
//! as an arrow or a keyword may begin there too: `1x-->b` is the node `1` and an arrow that begins in `x`.

use super::line;

/// Words that begin a statement of their own, or that no node can be called by.
const KEYWORDS: [&str; 14] = [
    "style",
    "linkStyle",
    "interpolate",
    "classDef",
    "class",
    "swimlane-beta",
    "graph",
    "flowchart",
    "subgraph",
    "end",
    "_self",
    "_blank",
    "_parent",
    "_top",
];
/// Words that are kept only before a blank.
const BEFORE_BLANK: [&str; 3] = ["call", "href", "click"];

/// Words that are kept only before one of these marks.
const TITLES: [(&str, &[char]); 2] = [("accTitle", &[':']), ("accDescr", &[':', '{'])];

/// The keyword that a text begins with.
pub(super) fn keyword(text: &str) -> Option<&'static str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let after = |word: &str| text.strip_prefix(word);
    let whole = |word: &&'static str| after(word).is_some_and(|rest| !rest.starts_with(is_word));
    let before_blank = |word: &&'static str| after(word).is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let titled =
        |(word, marks): &(&str, &[char])| after(word).is_some_and(|rest| rest.trim_start().starts_with(*marks));
    let found = KEYWORDS.into_iter().find(whole).or_else(|| BEFORE_BLANK.into_iter().find(before_blank));
    found.or_else(|| TITLES.into_iter().find(titled).map(|(word, _)| word))
}

/// Whether a word can't be the name of a node wherever it comes.
pub(super) fn is_kept(word: &str) -> bool {
    keyword(word).is_some() || BEFORE_BLANK.contains(&word) || TITLES.iter().any(|(title, _)| *title == word)
}

/// How many bytes of a text are a name, as Mermaid reads it; not all such names are ones of nodes here.
///
/// # Errors
/// The keyword that a piece of it is.
pub(super) fn name_len(text: &str) -> Result<usize, &'static str> {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        if rest.starts_with(":::") || line::begins(rest) {
            return Ok(end);
        }
        if let Some(word) = keyword(rest) {
            return Err(word);
        }
        let piece = piece_len(rest);
        if piece == 0 {
            return Ok(end);
        }
        end += piece;
    }
}

/// How many bytes of a text are one piece of a name.
fn piece_len(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    match first {
        '0'..='9' => text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()),
        '#' | ',' | '&' | '*' | ':' => 1,
        letter if !letter.is_ascii() && letter.is_alphabetic() => letter.len_utf8(),
        // A dash that ends a name. One before a > is a mistaken arrow.
        '-' if run_len(text) == 0 => usize::from(!text.starts_with("->")),
        _ => run_len(text),
    }
}

/// How many bytes of a text are letters of names. A dash belongs to a name before most of them, and so needs no space
/// before an arrow.
fn run_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_part = |place: usize| match bytes[place] {
        b'-' => bytes.get(place + 1).is_some_and(|next| !matches!(next, b'>' | b'-' | b'.')),
        letter => letter.is_ascii_alphanumeric() || b"!#$%&'*+.`?\\_/".contains(&letter),
    };
    (0..bytes.len()).find(|place| !is_part(*place)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_where_mermaid_ends_them() {
        for (text, name) in [
            ("a-->b", "a"),
            ("step1x-->b", "step1x"),
            ("1x-->b", "1"),
            ("a:o--ob", "a:"),
            ("box-->b", "box"),
            ("a-b-.->c", "a-b"),
            ("a- --> b", "a-"),
            ("a->b", "a"),
            ("a:::hot", "a"),
            ("a:b[x]", "a:b"),
            ("a&b", "a&b"),
            ("a~~~b", "a"),
            ("x-->b", ""),
            ("ä==>b", "ä"),
            ("endpoint", "endpoint"),
            ("default", "default"),
        ] {
            assert_eq!(name_len(text), Ok(name.len()), "{text}");
        }
        for (text, word) in
            [("end", "end"), ("a:end", "end"), ("1style", "style"), ("graph-x", "graph"), ("call -->", "call")]
        {
            assert_eq!(name_len(text), Err(word), "{text}");
        }
    }
}
