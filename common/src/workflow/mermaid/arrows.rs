//! Arrows: what comes between two nodes.
//!
//! The line of an arrow says what it means; its length, its text and its head do not matter. An arrow has one head at most, on
//! its right: two would make two tasks wait for each other.

use super::{
    MermaidError,
    cursor::Cursor,
    line::{ArrowPart, LineStyle, begins, part},
    shapes, words,
};

/// An arrow, and what it is called if it is.
#[derive(Debug)]
pub(super) struct Arrow<'a> {
    pub(super) line: LineStyle,
    pub(super) name: Option<&'a str>,
}

/// Reads the arrow after a node, and all that comes before the next node. The cursor stays where no arrow follows.
///
/// # Errors
/// For an arrow that has no meaning here, and for a text that may have been meant otherwise than Mermaid reads it.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Arrow<'a>>, MermaidError> {
    let mut ahead = *cursor;
    let name = name(&mut ahead);
    ahead.skip_lines()?;
    if !begins(ahead.rest()) {
        ahead = *cursor;
        ahead.skip_blanks();
        return match ahead.starts_with("-") || ahead.starts_with("=") || ahead.starts_with("<") {
            true => Err(ahead.wrong("the arrows are -->, -.-> and ==>")),
            false => Ok(None),
        };
    }
    if ahead.rest().starts_with(['x', 'o', '<']) {
        let rule = "an arrow has no head on its left: write first --> second, and a blank between a node and its arrow";
        return Err(ahead.wrong(rule));
    }
    let line = match part(ahead.rest()) {
        Some(ArrowPart::Whole(line, bytes)) => {
            ahead.advance(bytes);
            ahead.skip_lines()?;
            if ahead.take("|") {
                shapes::text_up_to(&mut ahead, "|")?;
            }
            line
        }
        Some(ArrowPart::Opening(line, bytes)) => {
            let opening = ahead;
            ahead.advance(bytes);
            text_within(&mut ahead, &opening, line)?;
            line
        }
        None => return Ok(None),
    };
    ahead.skip_lines()?;
    *cursor = ahead;
    Ok(Some(Arrow { line, name }))
}

/// The name of an arrow, as in `name@-->`.
fn name<'a>(cursor: &mut Cursor<'a>) -> Option<&'a str> {
    let mut ahead = *cursor;
    ahead.skip_blanks();
    let len = words::name_len(ahead.rest()).ok().filter(|len| *len > 0)?;
    let name = ahead.advance(len);
    if !ahead.take("@") || ahead.starts_with("{") || ahead.starts_with("\"") {
        return None;
    }
    *cursor = ahead;
    Some(name)
}

/// Reads the text after the opening of an arrow, and the end of the arrow.
fn text_within(cursor: &mut Cursor<'_>, opening: &Cursor<'_>, line: LineStyle) -> Result<(), MermaidError> {
    let (marks, end): (&[&str], _) = match line {
        LineStyle::Thick => (&["="], "==>"),
        LineStyle::Dotted => (&["-.", "."], ".->"),
        LineStyle::Solid | LineStyle::Invisible => (&["--"], "-->"),
    };
    let wrong = || {
        opening.wrong(format!(
            "put the text of this arrow into double quotes, and end the arrow in {end} on the same line"
        ))
    };
    cursor.skip_blanks();
    if cursor.starts_with("\"") {
        shapes::quoted(cursor)?;
        cursor.skip_lines()?;
    } else {
        let rest = cursor.rest();
        let stops =
            |at: &usize| rest[*at..].starts_with('\n') || marks.iter().any(|mark| rest[*at..].starts_with(mark));
        let at = rest.char_indices().map(|(at, _)| at).find(stops).ok_or_else(wrong)?;
        let text = cursor.advance(at);
        // A letter that could be a head belongs to the end of the arrow, and the rest looks like something else.
        let others = ["->", "=>", "-.", "%%{", "\"", ";"];
        let is_clear = !text.ends_with(['x', 'o', '<']) && !others.iter().any(|other| text.contains(other));
        if text.trim().is_empty() || !is_clear {
            return Err(wrong());
        }
    }
    match part(cursor.rest()) {
        Some(ArrowPart::Whole(found, bytes)) if found == line => {
            cursor.advance(bytes);
            Ok(())
        }
        _ => Err(wrong()),
    }
}
