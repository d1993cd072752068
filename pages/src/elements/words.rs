//! Numbers, times and texts of clients as a page shows them.

use std::{borrow::Cow, fmt::Display, time::Duration};

use jobbers_api::{value::Rfc3339, worker::WorkerView};
use jobbers_common::{lifecycle::Status, time::Timestamp};
use jobbers_process::printable;
use maud::{Markup, html};
use serde::Serialize;

/// Most characters of a text in a row of a list, and most bytes that it takes in a page.
const ROW_CHARS: usize = 200;
const ROW_BYTES: usize = 400;

/// How many queues of one worker or role are named.
const NAMED: usize = 50;

/// A longer name is shortened where a list shows it.
const SHORT_BYTES: usize = 60;

/// A text of a client, whole: what hides or reorders text is written as an escape.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    printable::printable(text)
}

/// The same on one line, and no longer than a row of a list has room for.
pub(crate) fn line(text: &str) -> String {
    let shown = printable::on_one_line(text);
    let first = shown.char_indices().nth(ROW_CHARS).map_or(&*shown, |(end, _)| &shown[..end]);
    let first = cut(first, ROW_BYTES).unwrap_or(first);
    if first.len() == shown.len() { shown.into_owned() } else { format!("{first}…") }
}

/// A name in a list: of a very long one the beginning and the end, by which names of a kind differ.
pub(crate) fn abridged(name: &str) -> Cow<'_, str> {
    if name.len() <= SHORT_BYTES {
        return Cow::Borrowed(name);
    }
    let (begin, end) = (name.floor_char_boundary(SHORT_BYTES * 2 / 3), name.len() - SHORT_BYTES / 3);
    Cow::Owned(format!("{}…{}", &name[..begin], &name[name.ceil_char_boundary(end)..]))
}

/// The longest beginning of a text that takes at most so many bytes in a page; `None` if all of it does.
pub(crate) fn cut(text: &str, most: usize) -> Option<&str> {
    let escaped_bytes = |c: char| match c {
        '&' => "&amp;".len(),
        '<' | '>' => "&lt;".len(),
        '"' => "&quot;".len(),
        c => c.len_utf8(),
    };
    let mut left = most;
    for (at, c) in text.char_indices() {
        match left.checked_sub(escaped_bytes(c)) {
            Some(rest) => left = rest,
            None => return Some(&text[..at]),
        }
    }
    None
}

/// The message of a progress or an error, or that it is hidden.
pub(crate) const fn said(message: &str, is_sensitive: bool) -> &str {
    if is_sensitive && message.is_empty() { "hidden" } else { message }
}

/// `1,234,567`.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 task`, `3 tasks`: a number with its noun.
pub(crate) fn many(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number(n))
}

/// A cell of a table with a number; a zero is pale.
pub(crate) fn cell(n: u64) -> Markup {
    html! { td.n.zero[n == 0] { (number(n)) } }
}

/// One of the figures at the head of a page: its name and its value.
pub(crate) fn figure(name: &str, value: &Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// The same for a number and a few words on it.
pub(crate) fn figure_of(name: &str, n: u64, more: &str) -> Markup {
    figure(name, &html! { (number(n)) @if !more.is_empty() { small { " " (more) } } })
}

/// A span in its largest unit: `45 s`, `3 min`, `5 h`, `2 d`.
pub(crate) fn span(span: Duration) -> String {
    match span.as_secs() {
        0 => "0 s".to_owned(),
        seconds @ 1..90 => format!("{seconds} s"),
        seconds @ 90..5_400 => format!("{} min", seconds / 60),
        seconds @ 5_400..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// The same for a number of seconds, as the API has ages.
pub(crate) fn seconds(age: f64) -> String {
    span(Duration::try_from_secs_f64(age).unwrap_or_default())
}

/// A span as that of a run, exact to the millisecond while it is short: `12 ms`, `1.2 s`, `45 s`.
pub(crate) fn short(time: Duration) -> String {
    match time.as_millis() {
        0 => "< 1 ms".to_owned(),
        ms @ 1..1_000 => format!("{ms} ms"),
        ms @ 1_000..10_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => span(time),
    }
}

/// A point in time as its distance from the store's present; the exact time is in the tooltip.
pub(crate) fn when(at: Rfc3339, now: Timestamp) -> Markup {
    let ahead = at.0.since(now);
    let distance = match ahead.as_secs() {
        0 => format!("{} ago", span(now.since(at.0))),
        _ => format!("in {}", span(ahead)),
    };
    html! { time datetime=(at) title=(at) { (distance) } }
}

/// The same, or a dash.
pub(crate) fn when_if(at: Option<Rfc3339>, now: Timestamp) -> Markup {
    at.map_or_else(|| html! { "–" }, |at| when(at, now))
}

/// How a page colours a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Warn,
    Bad,
    Idle,
}

/// A state as a word in its colour.
pub(crate) fn state(tone: Tone, word: impl Display) -> Markup {
    let class = match tone {
        Tone::Good => "state",
        Tone::Warn => "state warn",
        Tone::Bad => "state bad",
        Tone::Idle => "state idle",
    };
    html! { span class=(class) { (word.to_string()) } }
}

/// The status of a task in its colour.
pub(crate) fn status(status: Status) -> Markup {
    let tone = match status {
        Status::Completed | Status::Started => Tone::Good,
        Status::Failed | Status::Stalled | Status::Dropped => Tone::Bad,
        Status::Aborted | Status::Cancelled => Tone::Warn,
        Status::Waiting | Status::Scheduled | Status::Submitted => Tone::Idle,
    };
    state(tone, status)
}

/// The address of a page with names in its query: relative, as all of them are.
pub(crate) fn to(page: &str, query: &impl Serialize) -> String {
    match serde_html_form::to_string(query) {
        Ok(query) if !query.is_empty() => format!("{page}?{query}"),
        _ => page.to_owned(),
    }
}

/// A link to a queue.
pub(crate) fn queue(name: &impl Display) -> Markup {
    let name = name.to_string();
    html! { a href=(to("queue", &[("name", &name)])) { (abridged(&name)) } }
}

/// Links to the first of some queues, and how many more there are.
pub(crate) fn some_queues(names: &[impl Display]) -> Markup {
    html! {
        @for name in names.iter().take(NAMED) { (queue(name)) " " }
        @if names.len() > NAMED { span.soft { "and " (number((names.len() - NAMED) as u64)) " more" } }
    }
}

/// A link to a task.
pub(crate) fn task(id: &impl Display) -> Markup {
    let id = id.to_string();
    html! { a.id href=(to("task", &[("id", &id)])) { (abridged(&id)) } }
}

/// A link to a worker.
pub(crate) fn worker(worker: &WorkerView) -> Markup {
    html! { a href=(to("worker", &[("id", worker.id.as_str())])) { (line(&worker.host)) ":" (worker.pid) } }
}

/// A text with its parts between backticks set as code.
pub(crate) fn prose(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// What an author's description begins with, for a row of a list.
pub(crate) fn summary(description: &str) -> Markup {
    let first = description.split("\n\n").next().unwrap_or_default();
    prose(&line(&first.replace('\n', " ")))
}

/// A title or a detail of the API as a sentence of a page.
pub(crate) fn sentence(detail: &str) -> String {
    let mut letters = detail.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(letters).chain(['.']).collect()
}

/// A name as an argument of a shell.
pub(crate) fn shell(text: &str) -> Cow<'_, str> {
    let is_plain =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=@,".contains(&byte));
    if is_plain { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_cut_after_its_first_paragraph() {
        let shown = summary("Counts the words\nof a `file`.\n\nReturns a number.").into_string();
        assert_eq!(shown, "Counts the words of a <code>file</code>.");
        assert_eq!(summary("").into_string(), "");
    }

    #[test]
    fn of_a_very_long_name_beginning_and_end_are_shown() {
        assert_eq!(abridged("order-7"), "order-7");
        let long = format!("orders-{}-0017", "x".repeat(110));
        let shown = abridged(&long);
        assert!(shown.starts_with("orders-x") && shown.contains('…') && shown.ends_with("x-0017"), "{shown}");
        assert!(abridged(&"ß".repeat(64)).contains("ß…ß"));
    }

    #[test]
    fn a_short_time_is_exact() {
        for (micros, shown) in [(900, "< 1 ms"), (12_345, "12 ms"), (1_250_000, "1.2 s"), (45_000_000, "45 s")] {
            assert_eq!(short(Duration::from_micros(micros)), shown);
        }
    }

    #[test]
    fn numbers_are_grouped_and_counted() {
        for (n, shown) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(n), shown);
        }
        assert_eq!((many(1, "task"), many(2_000, "task")), ("1 task".to_owned(), "2,000 tasks".to_owned()));
    }

    #[test]
    fn a_span_is_in_its_largest_unit() {
        for (seconds, shown) in [(0, "0 s"), (89, "89 s"), (90, "1 min"), (5_400, "1 h"), (172_800, "2 d")] {
            assert_eq!(span(Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn what_hides_text_is_shown_and_a_row_is_bounded() {
        assert_eq!(line("a\u{202e}b\u{200b}c\nd"), r"a\u{202e}b\u{200b}c\nd");
        assert_eq!(line(&"x".repeat(500)).chars().count(), ROW_CHARS + 1);
        let quotes = line(&"\"".repeat(500));
        assert_eq!(html! { (quotes) }.into_string().len(), ROW_BYTES / 6 * 6 + "…".len());
        assert_eq!(line(&"x".repeat(ROW_CHARS)), "x".repeat(ROW_CHARS));
    }

    #[test]
    fn an_argument_of_a_shell_is_one_word() {
        assert_eq!((shell("a/b:c"), shell("it's"), shell("")), ("a/b:c".into(), r"'it'\''s'".into(), "''".into()));
    }
}
