//! The statements that say nothing about nodes and arrows: styles, classes, links, titles.
//!
//! Each is read to its end and not to the end of its line, as another statement may follow. What it contains is checked as
//! far as needed to be sure that Mermaid ends it at the same place.

use super::{
    MermaidError,
    cursor::{Cursor, is_blank},
    shapes, words,
};

/// What a style or a class is for.
pub(super) struct Styled<'a> {
    pub(super) name: &'a str,
    pub(super) place: Cursor<'a>,
}

/// Reads `style`, `linkStyle`, `classDef` or `class` and what follows, and returns what it is for.
///
/// # Errors
/// For letters that are in no style.
pub(super) fn style<'a>(cursor: &mut Cursor<'a>, word: &str) -> Result<Styled<'a>, MermaidError> {
    let statement = *cursor;
    cursor.advance(word.len());
    let is_separated = cursor.skip_blanks();
    let place = *cursor;
    let text = cursor.take_while(|letter| letter != ';' && letter != '\n');
    let is_part =
        |letter: char| letter.is_ascii_alphanumeric() || is_blank(letter) || "_.,:#%&'*+?!/\\$-".contains(letter);
    let arrows = ["--", "-.", "->"].iter().any(|arrow| text.contains(arrow));
    let name = text.split(is_blank).next().unwrap_or_default();
    let is_whole = is_separated && text.trim_end().len() > name.len();
    if !is_whole || arrows || !text.chars().all(is_part) {
        return Err(statement
            .wrong(format!("{word} is written {word} NAME VALUE: without quotes, brackets and arrows, on one line")));
    }
    let mut after = *cursor;
    let is_entity = text.rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_' && letter != '#');
    let is_entity = is_entity.take(1).any(|end| end.contains('#') && !end.ends_with('#'));
    if is_entity && after.take(";") && !after.is_at_line_end() {
        return Err(cursor.wrong("after a color a new line was expected: Mermaid reads #…; as one character"));
    }
    Ok(Styled { name, place })
}

/// Reads `click NODE` and what follows.
///
/// # Errors
/// For what is not a link or a callback.
pub(super) fn click(cursor: &mut Cursor<'_>) -> Result<(), MermaidError> {
    let statement = *cursor;
    let wrong =
        || statement.wrong("click is written click NODE \"link\" \"tooltip\" or click NODE call name(), on one line");
    cursor.advance("click".len());
    cursor.skip_blanks();
    let name = cursor.take_while(|letter| !letter.is_whitespace());
    if name.is_empty() || name.contains([';', '"']) {
        return Err(wrong());
    }
    let mut parts = 0;
    loop {
        let is_separated = cursor.skip_blanks();
        if cursor.is_at_line_end() || cursor.starts_with(";") {
            return if parts > 0 { Ok(()) } else { Err(wrong()) };
        }
        let is_call = words::keyword(cursor.rest()) == Some("call");
        let part = *cursor;
        if cursor.starts_with("\"") {
            shapes::quoted(cursor)?;
        } else if is_call {
            cursor.advance("call".len());
            cursor.skip_blanks();
            cursor.take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '$'));
            let is_open = cursor.take("(");
            let arguments = cursor.take_while(|letter| letter != ')');
            if !is_open || !cursor.take(")") || arguments.contains('\n') {
                return Err(wrong());
            }
        } else {
            let word =
                cursor.take_while(|letter| letter.is_ascii_alphanumeric() || "_.,:%&'*+?!/\\$-".contains(letter));
            if word.is_empty() || word.contains("--") || word.contains("-.") {
                return Err(part.wrong("put the link of a click into double quotes"));
            }
        }
        if !is_separated {
            return Err(wrong());
        }
        parts += 1;
    }
}

/// Reads `accTitle: text`, `accDescr: text` or `accDescr { text }`.
///
/// # Errors
/// Without a text, and for one that does not end.
pub(super) fn title(cursor: &mut Cursor<'_>, word: &str) -> Result<(), MermaidError> {
    let statement = *cursor;
    cursor.advance(word.len());
    cursor.take_while(char::is_whitespace);
    if cursor.take("{") {
        cursor.take_while(|letter| letter != '}');
        return cursor.take("}").then_some(()).ok_or_else(|| statement.wrong(format!("{word} does not end in }}")));
    }
    cursor.take(":");
    if cursor.is_at_line_end() {
        return Err(statement.wrong(format!("the text of {word} is on its line")));
    }
    cursor.take_while(|letter| letter != '\n');
    Ok(())
}

/// Reads `subgraph` and its title, and returns its name: what an arrow to it would say.
///
/// # Errors
/// If it has no name, or one that Mermaid does not read as one.
pub(super) fn subgraph<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, MermaidError> {
    cursor.advance("subgraph".len());
    let is_separated = cursor.skip_blanks();
    let place = *cursor;
    let name = match cursor.starts_with("\"") {
        true => shapes::quoted(cursor)?,
        false => cursor.take_while(|letter| !matches!(letter, '[' | ';' | '\n')).trim(),
    };
    let is_quoted = place.starts_with("\"");
    let is_part = |letter: char| letter.is_alphanumeric() || is_blank(letter) || "_-.:&*!?'+/$%".contains(letter);
    let mut parts = name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_clear = name.chars().all(is_part) && !["--", "-.", "->", ":::"].iter().any(|mark| name.contains(mark));
    if !is_separated || name.is_empty() || !is_quoted && (!is_clear || parts.any(words::is_kept)) {
        return Err(place.wrong("a subgraph is written subgraph name[\"title\"] or subgraph \"title\""));
    }
    if cursor.starts_with("[") {
        let mut title = *cursor;
        title.advance(1);
        shapes::text_up_to(&mut title, "]")?;
        *cursor = title;
    }
    Ok(name)
}
