//! What is drawn around a label, and the label in it.

use super::{
    MermaidError,
    cursor::{Cursor, is_blank},
    entities,
};

/// The shapes by how they open, longer openings before their beginnings, and how each may close.
const SHAPES: [(&str, &[&str]); 13] = [
    ("(((", &[")))"]),
    ("((", &["))"]),
    ("([", &["])"]),
    ("(-", &["-)"]),
    ("(", &[")"]),
    ("[[", &["]]"]),
    ("[(", &[")]"]),
    ("[/", &["/]", "\\]"]),
    ("[\\", &["/]", "\\]"]),
    ("[", &["]"]),
    ("{{", &["}}"]),
    ("{", &["}"]),
    (">", &["]"]),
];

/// A label, and where it begins.
#[derive(Debug)]
pub(super) struct LabelText<'a> {
    pub(super) text: String,
    pub(super) place: Cursor<'a>,
}

impl<'a> LabelText<'a> {
    fn new(text: &str, mut place: Cursor<'a>) -> Result<Self, MermaidError> {
        place.take("\"");
        let text = entities::decode(text.trim()).map_err(|rule| place.wrong(rule))?;
        Ok(Self { text, place })
    }
}

/// Reads the label of a node in its shape; `None` if no shape follows.
///
/// # Errors
/// For a shape that does not close, and for a label that Mermaid would read otherwise.
pub(super) fn label<'a>(cursor: &mut Cursor<'a>) -> Result<Option<LabelText<'a>>, MermaidError> {
    if cursor.starts_with("[|") {
        return Err(cursor.wrong("this shape is not known: write node[\"task_name\"]"));
    }
    let Some((open, closes)) = SHAPES.into_iter().find(|(open, _)| cursor.starts_with(open)) else { return Ok(None) };
    let opening = *cursor;
    cursor.advance(open.len());
    let inside = *cursor;
    let text = inner(cursor, &opening, closes)?;
    LabelText::new(text, inside).map(Some)
}

/// Reads a text after its opening, and what closes it.
///
/// # Errors
/// As [`label`].
pub(super) fn text_up_to(cursor: &mut Cursor<'_>, close: &str) -> Result<(), MermaidError> {
    let opening = *cursor;
    inner(cursor, &opening, &[close]).map(|_| ())
}

fn inner<'a>(cursor: &mut Cursor<'a>, opening: &Cursor<'_>, closes: &[&str]) -> Result<&'a str, MermaidError> {
    let is_quoted = cursor.starts_with("\"");
    let text = if is_quoted { quoted(cursor)? } else { unquoted(cursor, closes)? };
    if closes.iter().any(|close| cursor.take(close)) {
        return Ok(text);
    }
    let closes = closes.join(" or ");
    if is_quoted {
        return Err(cursor.wrong(format!("the label ends in \"{closes}")));
    }
    match cursor.next() {
        None => Err(opening.wrong(format!("the label does not end in {closes}"))),
        Some(letter) => {
            Err(cursor.wrong(format!("{letter:?} is not for a label without quotes: put the label into double quotes")))
        }
    }
}

/// A text in double quotes, without them; with backquotes inside them it is Markdown.
///
/// # Errors
/// If it does not end, or if a line of it would be removed as a comment.
pub(super) fn quoted<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, MermaidError> {
    let opening = *cursor;
    let is_markdown = cursor.take("\"`");
    let (close, ends): (_, &[char]) = if is_markdown { ("`\"", &['`', '"']) } else { ("\"", &['"']) };
    if !is_markdown {
        cursor.take("\"");
    }
    let Some(end) = cursor.rest().find(ends) else { return Err(opening.wrong("the text does not end in a quote")) };
    let text = cursor.advance(end);
    if !cursor.take(close) {
        return Err(opening.wrong("a text that begins with \"` ends in `\", and has neither ` nor \" inside"));
    }
    check(&opening, text)?;
    Ok(text)
}

/// What comes before the end of a text without quotes, or before a letter that can't be in one.
fn unquoted<'a>(cursor: &mut Cursor<'a>, closes: &[&str]) -> Result<&'a str, MermaidError> {
    let place = *cursor;
    let rest = cursor.rest();
    let is_end = |at: &usize| {
        let rest = &rest[*at..];
        rest.starts_with(['[', ']', '(', ')', '{', '}', '|', '"']) || closes.iter().any(|close| rest.starts_with(close))
    };
    let end = rest.char_indices().map(|(at, _)| at).find(is_end).unwrap_or(rest.len());
    let text = cursor.advance(end);
    check(&place, text)?;
    Ok(text)
}

/// Refuses a text of which Mermaid would remove a part: it removes comments and directives before it looks for quotes.
fn check(place: &Cursor<'_>, text: &str) -> Result<(), MermaidError> {
    let is_comment = |line: &str| line.trim_start().starts_with("%%");
    if text.contains("%%{") || text.split('\n').skip(1).any(is_comment) {
        return Err(place.wrong("%% begins a comment also within a text: write #37;#37;"));
    }
    Ok(())
}

/// Reads what a node or an arrow says in `@{ … }`, and returns its label if it has one.
///
/// # Errors
/// For anything but `key: value` with values in double quotes or of one word.
pub(super) fn data<'a>(cursor: &mut Cursor<'a>) -> Result<Option<LabelText<'a>>, MermaidError> {
    let opening = *cursor;
    cursor.advance("@{".len());
    let (mut label, mut is_first) = (None, true);
    // On one line commas separate the pairs; on several lines, line breaks do.
    let is_block = opening.rest().split('}').next().is_some_and(|data| data.contains('\n'));
    loop {
        let has_break = cursor.take_while(char::is_whitespace).contains('\n');
        if cursor.take("}") {
            return Ok(label);
        }
        let is_separated = if is_block { has_break } else { cursor.take(",") };
        if !is_first && !is_separated {
            return Err(cursor.wrong("commas separate what is in @{ } on one line, and line breaks what is on several"));
        }
        is_first = false;
        cursor.take_while(is_blank);
        let key = cursor.take_while(|letter| letter.is_ascii_alphanumeric());
        cursor.take_while(is_blank);
        if key.is_empty() || !cursor.take(":") || !cursor.take_while(is_blank).is_ascii() {
            return Err(cursor
                .wrong("what is in @{ } is written key: \"value\", such as @{ shape: rect, label: \"task_name\" }"));
        }
        let place = *cursor;
        let value = match cursor.starts_with("\"") {
            true => quoted(cursor)?,
            false => cursor.take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')),
        };
        let is_plain = !value.is_empty() && !value.contains(['\\', '\n', '}', '^']);
        if !is_plain || key == "label" && !place.starts_with("\"") || key == "label" && label.is_some() {
            return Err(place.wrong("put the value into double quotes once, without \\ and line breaks in it"));
        }
        if key == "label" {
            label = Some(LabelText::new(value, place)?);
        }
    }
}
