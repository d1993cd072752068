//! What comes before the statements of a flowchart: front matter, and the head.

use super::{MermaidError, cursor::Cursor};

/// Where the arrows may lead, as the statement `direction` says it.
const SET: [&str; 5] = ["TD", "TB", "BT", "LR", "RL"];
/// And only the first statement.
const OLD: [&str; 5] = ["BR", "<", ">", "^", "v"];

/// Passes front matter, which is between two lines of `---` at the very beginning.
///
/// # Errors
/// If it does not end.
pub(super) fn skip_front_matter(cursor: &mut Cursor<'_>) -> Result<(), MermaidError> {
    let mut lines = cursor.rest().split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim() != "---" {
        return Ok(());
    }
    let indent = &first[..first.len() - first.trim_start().len()];
    let is_end = |line: &str| line.strip_prefix(indent).is_some_and(|line| line.trim_end() == "---");
    let mut bytes = first.len();
    for (place, line) in lines.enumerate() {
        bytes += line.len();
        if place > 0 && is_end(line) {
            cursor.advance(bytes);
            return Ok(());
        }
    }
    Err(cursor.wrong("the front matter does not end in a second line of ---, as far indented as the first"))
}

/// Refuses what Mermaid takes out of a text, or reads as a whole line, before it looks at anything else: a directive within
/// a line, the last `;` of a line with a style, and a line in which a direction is set. Comments are passed over.
///
/// # Errors
/// The first such place.
pub(super) fn check_lines(cursor: &Cursor<'_>) -> Result<(), MermaidError> {
    let mut ahead = *cursor;
    while !ahead.rest().is_empty() {
        let line = ahead.rest().split('\n').next().unwrap_or_default();
        let words = line.trim_start();
        if words.match_indices("%%{").any(|(at, _)| at > 0) {
            return Err(ahead.wrong("a directive, %%{ … }%%, begins a line"));
        }
        if !words.starts_with("%%") && loses_separator(line) {
            return Err(ahead
                .wrong("after a style with a color a new line was expected: Mermaid drops the last ; of this line"));
        }
        if !words.starts_with("%%") && sets_direction(ahead, line) && !is_direction(words) {
            return Err(ahead.wrong("the words direction TB and the like are a statement that has a line of its own"));
        }
        ahead.advance(line.len());
        ahead.take("\n");
    }
    Ok(())
}

/// Whether Mermaid removes a `;` between two statements of a line: the last one of a line with a style that has a color, and
/// again with a class that has one. The end of an entity counts too, which spoils a label as it is drawn and nothing else.
fn loses_separator(line: &str) -> bool {
    let has_color = |word: &&str| {
        let rest = line.find(word).and_then(|at| line[at..].split_once(':'));
        rest.is_some_and(|(_, rest)| rest.split_once('#').is_some_and(|(_, rest)| rest.contains(';')))
    };
    let removed = ["style", "classDef"].iter().filter(|word| has_color(word)).count();
    let mut before = line;
    (0..removed).any(|_| {
        let Some((rest, after)) = before.rsplit_once(';') else { return false };
        before = rest;
        let name = rest.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        let is_entity = name.len() < rest.len() && name.ends_with('#');
        !is_entity && !after.trim().is_empty()
    })
}

/// Whether a line contains `direction TB` or the like; what follows the word may be on the next line.
fn sets_direction(mut ahead: Cursor<'_>, line: &str) -> bool {
    let mut passed = 0;
    line.match_indices("direction").any(|(at, word)| {
        ahead.advance(at + word.len() - passed);
        passed = at + word.len();
        let mut value = ahead;
        value.skip_lines().is_ok()
            && value.rest().len() < ahead.rest().len()
            && SET.iter().any(|set| value.starts_with(set))
    })
}

/// Whether a name at the end of a line would set the direction, if the next line begins with a name such as `LR`.
pub(super) fn may_set_direction(name: &str) -> bool {
    name.ends_with("direction")
}

/// Whether a line is `direction TB` or the like, and no more.
fn is_direction(line: &str) -> bool {
    let mut words = line.trim_end().trim_end_matches(';').split_whitespace();
    words.next() == Some("direction")
        && words.next().is_some_and(|value| SET.contains(&value))
        && words.next().is_none()
}

/// Passes `direction TB` or the like, and returns whether it was there. [`check_lines`] has seen that its line has no more.
pub(super) fn skip_direction(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = *cursor;
    if ahead.take("direction") && ahead.skip_blanks() && SET.iter().any(|set| ahead.take(set)) {
        *cursor = ahead;
        return true;
    }
    false
}

/// Reads the first statement.
///
/// # Errors
/// If it is not the head of a flowchart.
pub(super) fn head(cursor: &mut Cursor<'_>) -> Result<(), MermaidError> {
    if cursor.rest().is_empty() {
        let place = super::Place { line: 1, column: 1 };
        return Err(MermaidError { place, rule: "the flowchart is empty".to_owned() });
    }
    let word =
        cursor.rest().split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').next().unwrap_or_default();
    if !["flowchart", "graph", "flowchart-elk"].contains(&word) {
        return Err(cursor.wrong("a flowchart begins with flowchart or graph, and a direction such as TD"));
    }
    cursor.advance(word.len());
    let is_separated = cursor.skip_blanks();
    if cursor.is_at_line_end() {
        return Ok(());
    }
    let is_directed = is_separated && SET.iter().chain(&OLD).any(|direction| cursor.take(direction));
    let is_whole = !cursor.next().is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !is_directed || !is_whole {
        return Err(cursor.wrong("the direction is TD, TB, BT, LR or RL"));
    }
    cursor.skip_blanks();
    if cursor.is_at_line_end() || cursor.take(";") {
        return Ok(());
    }
    Err(cursor.wrong("after the direction the end of the line or ; was expected"))
}
