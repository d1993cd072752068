//! How a log line looks: text for people, or a JSON object. Either is one line, and holds nothing that a terminal obeys
//! but our own colours, and no secret of an access key.

#[cfg(feature = "cli")]
pub(super) mod json;

use std::fmt::{self, Write as _};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields, format,
        format::{Format, Full, Writer},
        time::SystemTime,
    },
    registry::LookupSpan,
};

use jobbers_common::access::redact;

use super::label::{AttemptLabel, current};
use crate::printable;

const RESET: &str = "\u{1b}[0m";
const DIM: &str = "\u{1b}[2m";

/// Formats a line. If an attempt runs, `label` inserts its label before the line's end.
fn labelled<S, N>(
    format: &impl FormatEvent<S, N>,
    context: &FmtContext<'_, S, N>,
    event: &Event<'_>,
    label: impl FnOnce(&mut String, AttemptLabel<'_>) -> fmt::Result,
) -> Result<String, fmt::Error>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    let mut line = String::new();
    format.format_event(context, Writer::new(&mut line), event)?;
    line.truncate(line.trim_end().len());
    if let Some(labels) = current() {
        label(&mut line, labels.label())?;
    }
    Ok(line)
}

/// Lines for people, with the label at the end. Colours are added last, to what is already printable.
#[derive(Debug)]
pub(super) struct Text {
    format: Format<Full, SystemTime>,
    has_colours: bool,
}

impl Text {
    pub(super) fn new(has_colours: bool) -> Self {
        Self { format: format().with_ansi(false), has_colours }
    }
}

impl<S, N> FormatEvent<S, N> for Text
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let line = labelled(&self.format, context, event, |line, label| {
            write!(line, " task.id={} task.name={} task.attempt={}", label.id, label.name, label.attempt)?;
            label.trace_id.map_or(Ok(()), |trace| write!(line, " trace_id={trace}"))
        })?;
        let line = redact(&line);
        let line = printable::on_one_line(&line);
        let level = event.metadata().level();
        // A line begins with its time and its level.
        match line
            .split_once(' ')
            .and_then(|(time, rest)| Some((time, rest.trim_start().strip_prefix(level.as_str())?)))
        {
            Some((time, rest)) if self.has_colours => {
                let colour = colour_of(level);
                writeln!(writer, "{DIM}{time}{RESET} {colour}{level:>5}{RESET}{rest}")
            }
            _ => writeln!(writer, "{line}"),
        }
    }
}

const fn colour_of(level: &Level) -> &'static str {
    match *level {
        Level::ERROR => "\u{1b}[31m",
        Level::WARN => "\u{1b}[33m",
        Level::INFO => "\u{1b}[32m",
        Level::DEBUG => "\u{1b}[34m",
        Level::TRACE => "\u{1b}[35m",
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{Future, ready},
        io,
        pin::Pin,
        sync::{Arc, Mutex, PoisonError},
        task::Context,
    };

    use tracing_subscriber::{fmt as format, layer::SubscriberExt};

    use super::{json::JsonLines, *};
    use crate::{
        logging::label::{Labelled, Labels, enter},
        printable::is_unprintable,
    };

    struct Running;

    impl Labels for Running {
        fn label(&self) -> AttemptLabel<'_> {
            AttemptLabel {
                id: "a/1",
                name: "resize",
                attempt: 2,
                trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736"),
                is_sensitive: false,
            }
        }
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Lines {
        fn read(&self) -> Vec<String> {
            let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8(bytes.clone()).unwrap().lines().map(str::to_owned).collect()
        }
    }

    fn log_inside_and_outside() {
        tracing::info!("before");
        enter(Arc::new(Running), None, || tracing::info!(bytes = 7, "inside"));
        let mut future = Labelled::new(Arc::new(Running), None, Box::pin(async { tracing::warn!("polled") }));
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut future).poll(&mut context).is_ready());
        drop(ready(()));
        tracing::info!("after");
    }

    #[test]
    fn a_line_of_a_task_says_which_attempt_it_comes_from() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = format::layer().with_ansi(false).with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(layer.event_format(Text::new(false)));
        tracing::subscriber::with_default(subscriber, log_inside_and_outside);
        let label = "task.id=a/1 task.name=resize task.attempt=2 trace_id=4bf92f3577b34da6a3ce929d0e0e4736";
        let labelled: Vec<bool> = lines.read().iter().map(|line| line.ends_with(label)).collect();
        assert_eq!(labelled, [false, true, true, false], "{:#?}", lines.read());
    }

    #[test]
    fn what_is_logged_for_people_stays_on_one_line() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = format::layer().with_ansi(false).with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(layer.event_format(Text::new(false)));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(error = %"boom\n2026-01-01 ERROR forged\r\0", "failed");
            enter(Arc::new(Running), None, || tracing::warn!(error = %"a\nb", "inside"));
        });
        let read = lines.read();
        assert_eq!(read.len(), 2, "{read:#?}");
        assert!(read[0].ends_with(r"error=boom\n2026-01-01 ERROR forged\r\u{0}"), "{read:#?}");
        assert!(read[1].contains(r"a\nb task.id=a/1"), "{read:#?}");
    }

    /// All characters that a terminal obeys or that hide text, in every place of a line that code can fill.
    fn log_unprintable_text() {
        let text: String =
            (0..=u32::from(char::MAX)).filter_map(char::from_u32).filter(|c| is_unprintable(*c)).collect();
        let error = io::Error::other(text.clone());
        let span = tracing::error_span!("span", text, shown = %text);
        let _entered = span.enter();
        tracing::error!(text, shown = %text, debugged = ?text, error = &error as &dyn std::error::Error, "{text}");
        enter(Arc::new(Running), None, || tracing::error!("{text}"));
    }

    #[test]
    fn no_line_holds_what_a_terminal_obeys_but_our_own_colours() {
        let logged = |colours: bool| {
            let lines = Lines::default();
            let writer = lines.clone();
            let layer = format::layer().with_ansi(false).with_writer(move || writer.clone());
            let subscriber = tracing_subscriber::registry().with(layer.event_format(Text::new(colours)));
            tracing::subscriber::with_default(subscriber, log_unprintable_text);
            lines.read().join("")
        };
        assert_eq!(logged(false).chars().find(|c| is_unprintable(*c)), None);
        let coloured = logged(true);
        let own = [DIM, RESET, colour_of(&Level::ERROR)];
        let rest = own.iter().fold(coloured.clone(), |text, own| text.replace(own, ""));
        assert!(rest.len() < coloured.len() && !rest.contains(is_unprintable));
    }

    #[test]
    fn a_json_line_means_the_same_and_holds_nothing_that_a_terminal_obeys() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = format::layer().json().with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(layer.event_format(JsonLines::default()));
        tracing::subscriber::with_default(subscriber, log_unprintable_text);
        assert_eq!(lines.read().len(), 2);
        for line in lines.read() {
            assert!(!line.contains(is_unprintable), "{line}");
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert!(line["fields"]["message"].as_str().unwrap().contains("\u{202e}"), "{line}");
        }
    }

    #[test]
    fn a_json_line_carries_the_attempt_as_an_object() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = format::layer().json().with_writer(move || writer.clone());
        let subscriber = tracing_subscriber::registry().with(layer.event_format(JsonLines::default()));
        tracing::subscriber::with_default(subscriber, log_inside_and_outside);
        let lines: Vec<serde_json::Value> =
            lines.read().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids: Vec<Option<&str>> = lines.iter().map(|line| line["task"]["id"].as_str()).collect();
        assert_eq!(ids, [None, Some("a/1"), Some("a/1"), None]);
        assert_eq!((&lines[1]["task"]["attempt"], &lines[1]["fields"]["bytes"]), (&2.into(), &7.into()));
    }
}
